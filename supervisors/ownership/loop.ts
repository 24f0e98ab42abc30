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
import { createBorrowed } from './borrowed.ts';
import type { HeldLeases } from './held.ts';
import type { Loader } from '../ports.ts';

/** Time between two rounds, in ms. A third of the lease, so that one lost round costs nothing. */
export const ROUND_MS = 1_000;

/**
 * An admin whose rounds are further apart than this was away itself, in ms: as long as a lease lasts, so that its own
 * may have run out meanwhile.
 */
export const ROUNDS_APART_MS_MAX = 3_000;

/** A cluster under the epoch that its owner holds. */
interface Owned {
  readonly cluster: ClusterId;
  readonly epoch: number;
}

/** What the loop needs of the database. Implemented by persistence. */
export interface LeasePort {
  /** Says that this admin is there. */
  checkIn(): Promise<unknown>;
  renew(adminId: string, owned: readonly Owned[]): Promise<readonly Owned[]>;
  retake(adminId: string): Promise<readonly Owned[]>;
  claim(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
  release(adminId: string, owned: readonly Owned[]): Promise<void>;
  survey(): Promise<{
    readonly admins: readonly AdminLoad[];
    readonly free: readonly (ClusterSize & { readonly cluster: ClusterId })[];
  }>;
}

/** What the loop compares, and what it acts on. */
export interface OwnershipPorts {
  readonly adminId: string;
  readonly leases: LeasePort;
  readonly held: HeldLeases;
  readonly directory: Directory;
  readonly loader: Loader;
  readonly clock: Clock;
  readonly log: Log;
  /** By which leases run out: runs on while this machine is suspended. */
  leaseClockMs(): number;
}

/** The running loop. */
export interface Ownership {
  /** Takes what is ours and starts its actors. Resolves when this admin is ready to serve; then goes on by itself. */
  start(): Promise<void>;
  /** A cluster that this admin just created. */
  created(cluster: ClusterId, epoch: number): void;
  /** More nodes than the live admins together have room for, as of the last round. */
  isDegraded(): boolean;
  /** Clusters that the last round left without an owner because no admin has room for them. */
  orphans(): readonly ClusterId[];
  /**
   * Takes an orphan under an epoch of its own for as long as somebody deletes or moves its nodes, which is what ends
   * the want of room.
   * False: it is no orphan, or another admin was faster. Rejects with DatabaseUnavailable.
   */
  borrow(cluster: ClusterId): Promise<boolean>;
  /** Held for the moment only: its agents belong nowhere still. */
  isBorrowed(cluster: ClusterId): boolean;
  /** How long ago the last round succeeded, in ms. */
  quietMs(): number;
  /**
   * For how long this admin has looked after the leases without a gap, in ms; 0 while it does not. A lease that ran out
   * says something of its owner only to whoever was there to see it: not to an admin that stood still itself, or had no
   * database, just as the owner perhaps.
   */
  watchedMs(): number;
  /**
   * Clusters that this admin has held for at least so long, in ms, and looked after without a gap: an agent of theirs
   * that lives had that time to come.
   */
  heldFor(ms: number): readonly ClusterId[];
  /** Stops the loop and gives every lease back. */
  stop(): Promise<void>;
}

/** An ownership loop, not started. */
export function createOwnership(ports: OwnershipPorts): Ownership {
  const { adminId, leases, held, directory, loader, clock, log } = ports;
  let stopped = false;
  let degraded = false;
  let orphans: readonly ClusterId[] = [];
  let succeededAtMs = ports.leaseClockMs();
  let watchedSinceMs = succeededAtMs;
  let cancel: () => void = () => undefined;
  let round: Promise<void> = Promise.resolve();
  /** Held, and their actors are not all here: reading their rows failed. */
  const unsettled = new Set<ClusterId>();
  const borrowed = createBorrowed(ports, () => !stopped);

  async function compare(): Promise<void> {
    const sentAtMs = ports.leaseClockMs();
    await leases.checkIn();
    await borrowed.giveBack();
    const before = held.all(); // not those that are created while the renewal is under way
    const renewed = await leases.renew(adminId, before);
    const still = new Set(renewed.map((owned) => owned.cluster));
    for (const { cluster } of before)
      if (!still.has(cluster))
        lost(cluster, !unsettled.has(cluster) && !directory.isLocal({ kind: 'cluster', id: cluster }));
    for (const { cluster, epoch } of renewed) held.hold(cluster, epoch, sentAtMs);
    const { admins, free } = await leases.survey();
    const roomy = admins.map((admin) => ({ ...admin, capacity: edgeCapacity(admin.capacity, admins.length) }));
    measure(roomy, free);
    const assigned = assign(free, roomy);
    orphans = free.filter((cluster) => !assigned.has(cluster.cluster)).map((cluster) => cluster.cluster);
    const mine = free.filter((cluster) => assigned.get(cluster.cluster) === adminId).map((cluster) => cluster.cluster);
    const claimedAtMs = ports.leaseClockMs();
    gained(await leases.claim(adminId, mine), claimedAtMs);
    await settle();
    const nowMs = ports.leaseClockMs();
    if (nowMs - succeededAtMs > ROUNDS_APART_MS_MAX) watchedSinceMs = nowMs;
    succeededAtMs = nowMs;
  }

  function measure(admins: readonly AdminLoad[], free: readonly ClusterSize[]): void {
    const nodes = sum(admins.map((admin) => admin.nodes)) + sum(free.map((cluster) => cluster.nodes));
    const now = admins.length > 0 && nodes > sum(admins.map((admin) => admin.capacity));
    if (now !== degraded)
      log.warn(
        { nodes, degraded: now },
        now ? 'there are more nodes than the admins have room for' : 'the admins have room for all nodes again',
      );
    degraded = now;
  }

  function gained(owned: readonly Owned[], sentAtMs: number): void {
    for (const { cluster, epoch } of owned) {
      held.hold(cluster, epoch, sentAtMs);
      unsettled.add(cluster);
    }
    if (owned.length > 0) log.info({ clusters: owned.length }, 'clusters are owned by this admin now');
  }

  /** Brings the actors of new clusters to life. What fails is tried again in the next round. */
  async function settle(): Promise<void> {
    const ids = [...unsettled];
    if (ids.length === 0) return;
    for (const state of await loader.clusters(ids))
      if (held.holds(state.id)) directory.settle({ kind: 'cluster', id: state.id }, state);
    for (const state of await loader.nodes(ids))
      if (held.holds(state.record.cluster)) directory.settle({ kind: 'node', id: state.record.id }, state);
    for (const id of ids) unsettled.delete(id);
  }

  /** Of one that was deleted here nobody lives any more, and its rows are gone: that is no news. */
  function lost(cluster: ClusterId, isDeleted: boolean): void {
    held.lose(cluster);
    borrowed.forget(cluster);
    unsettled.delete(cluster);
    directory.evict(cluster);
    if (!isDeleted) log.warn({ cluster }, 'a cluster is not owned by this admin any more');
  }

  function schedule(): void {
    if (stopped) return;
    cancel = clock.after(ROUND_MS, () => {
      round = compare().catch(failed).then(schedule);
    });
  }

  function failed(error: unknown): void {
    if (error instanceof DatabaseUnavailable)
      log.warn({ error: error.message }, 'leases could not be renewed: trying again');
    else log.error({ error }, 'the ownership loop failed: trying again');
  }

  function watchedMs(): number {
    const nowMs = ports.leaseClockMs();
    return nowMs - succeededAtMs > ROUNDS_APART_MS_MAX ? 0 : nowMs - watchedSinceMs;
  }

  return {
    isDegraded: () => degraded,
    orphans: () => orphans,
    borrow: (cluster) => borrowed.borrow(cluster, orphans),
    isBorrowed: (cluster) => borrowed.has(cluster),
    quietMs: () => ports.leaseClockMs() - succeededAtMs,
    watchedMs,
    heldFor: (ms) =>
      watchedMs() < ms
        ? []
        : held
            .all()
            .filter(({ cluster, sinceMs }) => !borrowed.has(cluster) && ports.leaseClockMs() - sinceMs >= ms)
            .map(({ cluster }) => cluster),
    async start() {
      const sentAtMs = ports.leaseClockMs();
      gained(await leases.retake(adminId), sentAtMs);
      await compare();
      schedule();
    },
    created(cluster, epoch) {
      held.hold(cluster, epoch, ports.leaseClockMs());
    },
    async stop() {
      stopped = true;
      cancel();
      await round;
      await leases.release(adminId, held.all());
    },
  };
}

/** Peers that an admin can have, less those that are other admins. Source: docs/api.md, Resources. */
function edgeCapacity(peersMax: number, admins: number): number {
  return Math.max(0, peersMax - (admins - 1));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
