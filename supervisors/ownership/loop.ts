/**
 * The ownership loop: check in, renew, claim what is free and ours, bring its actors to life, let go of what was lost.
 * Takes no input; every round compares what should be with what is.
 */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import { DatabaseUnavailable, NameTakenOver } from '../../actors/ports.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { degradation, isDegraded, orphaned, WHOLE, type Standing } from '../../actors/standing.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Directory } from '../runtime/directory.ts';
import { createBorrowed, type Borrowed } from './borrowed.ts';
import type { HeldLeases } from './held.ts';
import type { LeasePort, Owned, SizedCluster } from './lease-port.ts';
import { Leftovers } from './leftovers.ts';
import { assign, type AdminLoad } from './placement.ts';
import { standingOf } from './standing.ts';
import type { Loader } from '../ports.ts';

/** Time between two rounds, in ms. A third of the lease, so that one lost round costs nothing. */
export const ROUND_MS = 1_000;

/**
 * An admin whose rounds are further apart than this was away itself, in ms: as long as a lease lasts, so that its own
 * may have run out meanwhile.
 */
export const ROUNDS_APART_MS_MAX = 3_000;

/** What the loop compares, and what it acts on. */
export interface OwnershipPorts {
  readonly adminId: string;
  readonly leases: LeasePort;
  /** Says that this admin is there. */
  readonly checkIn: () => Promise<unknown>;
  readonly held: HeldLeases;
  readonly directory: Directory;
  readonly loader: Loader;
  readonly clock: Clock;
  readonly log: Log;
  /** By which leases run out: runs on while this machine is suspended. */
  leaseClockMs(): number;
}

/** An ownership loop, not started. */
export class Ownership {
  readonly #ports: OwnershipPorts;
  readonly #borrowed: Borrowed;
  /** Held, and their actors are not all here: reading their rows failed. */
  readonly #unsettled = new Set<ClusterId>();
  /** Created here and left free: their actors end in the next round. */
  #strangers: ClusterId[] = [];
  readonly #leftovers: Leftovers;
  #isStopped = false;
  #hasPeers = false;
  #standing: Standing = WHOLE;
  #succeededAtMs: number;
  #watchedSinceMs: number;
  #cancel: () => void = () => undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(ports: OwnershipPorts) {
    this.#ports = ports;
    this.#borrowed = createBorrowed(ports, () => !this.#isStopped);
    this.#leftovers = new Leftovers(ports.adminId);
    this.#succeededAtMs = ports.leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
  }

  /** Takes what is ours and starts its actors. Resolves when this admin is ready to serve; then goes on by itself. */
  async start(): Promise<void> {
    await this.#retake();
    await this.#compare();
    this.#schedule();
  }

  /** Stops the loop and gives every lease back. */
  async stop(): Promise<void> {
    const { adminId, leases, held } = this.#ports;
    this.#isStopped = true;
    this.#cancel();
    await this.#round;
    await leases.release(adminId, held.all());
  }

  /** A cluster that this admin just created, and owns under this epoch; null: another is to own it. */
  created(cluster: ClusterId, epoch: number | null): void {
    if (epoch === null) this.#strangers.push(cluster);
    else this.#ports.held.hold(cluster, epoch, this.#ports.leaseClockMs());
  }

  /** Whether the live admins have room for all clusters, as of the last round. */
  standing(): Standing {
    return this.#standing;
  }

  /** Whether other admins were alive, as of the last round. */
  hasPeers(): boolean {
    return this.#hasPeers;
  }

  /** Why nothing is written for a cluster that no admin has room for; null: it is none. */
  orphaned(cluster: ClusterId): Refusal | null {
    const { orphans, roomMax } = this.#standing;
    const orphan = orphans.find((one) => one.cluster === cluster);
    return orphan === undefined ? null : orphaned(orphan, roomMax);
  }

  /**
   * Takes an orphan under an epoch of its own for as long as somebody deletes or moves its nodes, which is what ends
   * the want of room.
   * False: it is no orphan, or another admin was faster. Rejects with DatabaseUnavailable.
   */
  borrow(cluster: ClusterId): Promise<boolean> {
    return this.#borrowed.borrow(
      cluster,
      this.#standing.orphans.map((orphan) => orphan.cluster),
    );
  }

  /** Whether all actors of the clusters that are held are here. */
  isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Held for the moment only: its agents belong nowhere still. */
  isBorrowed(cluster: ClusterId): boolean {
    return this.#borrowed.has(cluster);
  }

  /** How long ago the last round succeeded, in ms. */
  quietMs(): number {
    return this.#ports.leaseClockMs() - this.#succeededAtMs;
  }

  /**
   * For how long this admin has looked after the leases without a gap, in ms; 0 while it does not. A lease that ran out
   * says something of its owner only to whoever was there to see it: not to an admin that stood still itself, or had no
   * database, just as the owner perhaps.
   */
  watchedMs(): number {
    const nowMs = this.#ports.leaseClockMs();
    return nowMs - this.#succeededAtMs > ROUNDS_APART_MS_MAX ? 0 : nowMs - this.#watchedSinceMs;
  }

  /**
   * Clusters that this admin has held for at least so long, in ms, and looked after without a gap: an agent of theirs
   * that lives had that time to come.
   */
  heldFor(ms: number): readonly ClusterId[] {
    if (this.watchedMs() < ms) return [];
    const { held } = this.#ports;
    const isOld = (sinceMs: number): boolean => this.#ports.leaseClockMs() - sinceMs >= ms;
    return held.all().flatMap((one) => (!this.isBorrowed(one.cluster) && isOld(one.sinceMs) ? one.cluster : []));
  }

  async #compare(): Promise<void> {
    const { adminId, leases, checkIn } = this.#ports;
    const sentAtMs = this.#ports.leaseClockMs();
    await checkIn();
    await this.#borrowed.giveBack();
    await this.#renew(sentAtMs);
    for (const cluster of this.#strangers.splice(0)) this.#ports.directory.evict(cluster);
    const { admins, free } = await this.#survey();
    const assigned = assign(free, admins);
    this.#hasPeers = admins.some(({ id }) => id !== adminId);
    this.#stands(standingOf(admins, free, assigned));
    const claimedAtMs = this.#ports.leaseClockMs();
    this.#gained(await leases.claim(adminId, this.#leftovers.claimed(free, admins, assigned)), claimedAtMs);
    await this.#settle();
    const nowMs = this.#ports.leaseClockMs();
    if (nowMs - this.#succeededAtMs > ROUNDS_APART_MS_MAX) this.#watchedSinceMs = nowMs;
    this.#succeededAtMs = nowMs;
  }

  /** Admins with the room that they have as so many. */
  async #survey(): Promise<{ readonly admins: readonly AdminLoad[]; readonly free: readonly SizedCluster[] }> {
    const { admins, free } = await this.#ports.leases.survey();
    return { admins: admins.map((one) => ({ ...one, capacity: edgeCapacity(one.capacity, admins.length) })), free };
  }

  /** What was its own before, as far as it has room: it may have less than then. The rest is free for others. */
  async #retake(): Promise<void> {
    const { adminId, leases, checkIn, log } = this.#ports;
    await checkIn();
    const { admins } = await this.#survey();
    const me = admins.find(({ id }) => id === adminId);
    if (me === undefined) return;
    const before = await leases.mine(adminId);
    const fitting = assign(before, [{ ...me, clusters: 0, nodes: 0 }]);
    const staying = before.filter(({ cluster }) => fitting.has(cluster));
    const left = before.length - staying.length;
    if (left > 0) log.warn({ clusters: left }, 'this admin has no room any more for clusters that were its own');
    const ids = staying.map(({ cluster }) => cluster);
    const sentAtMs = this.#ports.leaseClockMs();
    this.#gained(await leases.retake(adminId, ids), sentAtMs);
  }

  async #renew(sentAtMs: number): Promise<void> {
    const { adminId, leases, held, directory } = this.#ports;
    const before = held.all(); // not those that are created while the renewal is under way
    const renewed = await leases.renew(adminId, before);
    const still = new Set(renewed.map((owned) => owned.cluster));
    for (const { cluster } of before)
      if (!still.has(cluster))
        this.#lost(cluster, !this.#unsettled.has(cluster) && !directory.isLocal({ kind: 'cluster', id: cluster }));
    for (const { cluster, epoch } of renewed) held.hold(cluster, epoch, sentAtMs);
  }

  /** Told of when it changes, or other clusters are left out than before. */
  #stands(standing: Standing): void {
    const { kind, orphans } = standing;
    const before = this.#standing;
    this.#standing = standing;
    if (kind === before.kind && namesOf(standing) === namesOf(before)) return;
    this.#ports.log.warn(
      {
        degraded: isDegraded(standing),
        clusters: orphans.length,
        nodes: orphans.reduce((sum, orphan) => sum + orphan.nodes, 0),
        problem: degradation(standing),
      },
      isDegraded(standing) ? 'the admins do not have room for everything' : 'the admins have room for everything again',
    );
  }

  #gained(owned: readonly Owned[], sentAtMs: number): void {
    for (const { cluster, epoch } of owned) {
      this.#ports.held.hold(cluster, epoch, sentAtMs);
      this.#unsettled.add(cluster);
    }
    if (owned.length > 0) this.#ports.log.info({ clusters: owned.length }, 'clusters are owned by this admin now');
  }

  /** Brings the actors of new clusters to life. What fails is tried again in the next round. */
  async #settle(): Promise<void> {
    const { loader, held, directory } = this.#ports;
    const ids = [...this.#unsettled];
    if (ids.length === 0) return;
    for (const state of await loader.clusters(ids))
      if (held.holds(state.id)) directory.settle({ kind: 'cluster', id: state.id }, state);
    for (const state of await loader.nodes(ids))
      if (held.holds(state.record.cluster)) directory.settle({ kind: 'node', id: state.record.id }, state);
    for (const id of ids) this.#unsettled.delete(id);
  }

  /** Of one that was deleted here nobody lives any more, and its rows are gone: that is no news. */
  #lost(cluster: ClusterId, isDeleted: boolean): void {
    this.#ports.held.lose(cluster);
    this.#borrowed.forget(cluster);
    this.#unsettled.delete(cluster);
    this.#ports.directory.evict(cluster);
    if (!isDeleted) this.#ports.log.warn({ cluster }, 'a cluster is not owned by this admin any more');
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(ROUND_MS, () => {
      this.#round = this.#compare()
        .catch((error: unknown) => this.#failed(error))
        .then(() => this.#schedule());
    });
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable)
      log.warn({ error: error.message }, 'leases could not be renewed: trying again');
    else if (error instanceof NameTakenOver) this.#end(error);
    else log.error({ error }, 'the ownership loop failed: trying again');
  }

  /** Nothing is renewed, delivered or given back: all of it is the other process's now. */
  #end(error: NameTakenOver): void {
    const { held, log } = this.#ports;
    this.#isStopped = true;
    for (const { cluster } of held.all()) this.#lost(cluster, true);
    log.error({ error: error.message }, 'this admin owns nothing any more');
  }
}

function namesOf({ orphans }: Standing): string {
  return orphans.map(({ cluster }) => cluster).join(' ');
}
