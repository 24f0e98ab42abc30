/**
 * The ownership loop: check in, renew, claim what is free and ours, bring its actors to life, let go of what was lost.
 * Takes no input; every round compares what should be with what is.
 */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Directory } from '../runtime/directory.ts';
import { assign } from './assignment.ts';
import type { AdminLoad, ClusterSize } from './assignment.ts';
import { createBorrowed, type Borrowed } from './borrowed.ts';
import type { HeldLeases } from './held.ts';
import type { LeasePort, Owned } from './lease-port.ts';
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
  #isStopped = false;
  #isDegraded = false;
  #hasPeers = false;
  #orphans: readonly ClusterId[] = [];
  #succeededAtMs: number;
  #watchedSinceMs: number;
  #cancel: () => void = () => undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(ports: OwnershipPorts) {
    this.#ports = ports;
    this.#borrowed = createBorrowed(ports, () => !this.#isStopped);
    this.#succeededAtMs = ports.leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
  }

  /** Takes what is ours and starts its actors. Resolves when this admin is ready to serve; then goes on by itself. */
  async start(): Promise<void> {
    const { adminId, leases } = this.#ports;
    const sentAtMs = this.#ports.leaseClockMs();
    this.#gained(await leases.retake(adminId), sentAtMs);
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

  /** A cluster that this admin just created. */
  created(cluster: ClusterId, epoch: number): void {
    this.#ports.held.hold(cluster, epoch, this.#ports.leaseClockMs());
  }

  /** More nodes than the live admins together have room for, as of the last round. */
  isDegraded(): boolean {
    return this.#isDegraded;
  }

  /** Whether other admins were alive, as of the last round. */
  hasPeers(): boolean {
    return this.#hasPeers;
  }

  /** Clusters that the last round left without an owner because no admin has room for them. */
  orphans(): readonly ClusterId[] {
    return this.#orphans;
  }

  /**
   * Takes an orphan under an epoch of its own for as long as somebody deletes or moves its nodes, which is what ends
   * the want of room.
   * False: it is no orphan, or another admin was faster. Rejects with DatabaseUnavailable.
   */
  borrow(cluster: ClusterId): Promise<boolean> {
    return this.#borrowed.borrow(cluster, this.#orphans);
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
    const { admins, free } = await leases.survey();
    this.#hasPeers = admins.some(({ id }) => id !== adminId);
    const roomy = admins.map((admin) => ({ ...admin, capacity: edgeCapacity(admin.capacity, admins.length) }));
    this.#measure(roomy, free);
    const assigned = assign(free, roomy);
    this.#orphans = free.filter((cluster) => !assigned.has(cluster.cluster)).map((cluster) => cluster.cluster);
    const mine = free.filter((cluster) => assigned.get(cluster.cluster) === adminId).map((cluster) => cluster.cluster);
    const claimedAtMs = this.#ports.leaseClockMs();
    this.#gained(await leases.claim(adminId, mine), claimedAtMs);
    await this.#settle();
    const nowMs = this.#ports.leaseClockMs();
    if (nowMs - this.#succeededAtMs > ROUNDS_APART_MS_MAX) this.#watchedSinceMs = nowMs;
    this.#succeededAtMs = nowMs;
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

  #measure(admins: readonly AdminLoad[], free: readonly ClusterSize[]): void {
    const nodes = sum(admins.map((admin) => admin.nodes)) + sum(free.map((cluster) => cluster.nodes));
    const now = admins.length > 0 && nodes > sum(admins.map((admin) => admin.capacity));
    if (now !== this.#isDegraded)
      this.#ports.log.warn(
        { nodes, degraded: now },
        now ? 'there are more nodes than the admins have room for' : 'the admins have room for all nodes again',
      );
    this.#isDegraded = now;
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
    else log.error({ error }, 'the ownership loop failed: trying again');
  }
}

/** Peers that an admin can have, less those that are other admins. Source: docs/api.md, Resources. */
function edgeCapacity(peersMax: number, admins: number): number {
  return Math.max(0, peersMax - (admins - 1));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
