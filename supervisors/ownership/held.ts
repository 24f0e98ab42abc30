/**
 * Leases that this admin holds, by a clock of its own that goes on while the process is paused, and while its machine
 * is suspended.
 */
import type { Lease } from '../../actors/behaviour.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';

/** What this admin may write for, and whether it may still deliver (O1). */
export interface HeldLeases {
  /** The lease to write under; an impossible epoch when the cluster is not held, so that the write is refused. */
  leaseOf(cluster: ClusterId): Lease;
  holds(cluster: ClusterId): boolean;
  /**
   * As which of the leases that were gained so far (`counters`) that of this cluster was; 0: it is not held. Rows that
   * were read before may be older than what its last owner wrote.
   */
  gainOf(cluster: ClusterId): number;
  /**
   * Null: not held, on its way to another admin, or only under a lease that is not fresh, where a fresh one is asked
   * for.
   */
  epochOf(cluster: ClusterId, isFresh: boolean): number | null;
  /** Held, not on its way to another admin, and not run out by this machine's own clock. */
  isFresh(cluster: ClusterId): boolean;
  /** Runs at once while the lease is fresh, else when it is renewed, or stays after all; never when it is lost. */
  whenFresh(cluster: ClusterId, run: () => void): void;
  /** Granted or renewed by a request that was sent at `sentAtMs` of the lease clock. */
  hold(cluster: ClusterId, epoch: number, sentAtMs: number): void;
  /** As `hold`, only for what is held under this epoch still: it may have been given away meanwhile. */
  renewed(cluster: ClusterId, epoch: number, sentAtMs: number): void;
  /**
   * On its way to another admin: nothing is delivered for it and nothing new is begun, as if nobody owned it. What was
   * decided is still stored under its lease.
   */
  leave(cluster: ClusterId): void;
  /** It is not given away after all. */
  stay(cluster: ClusterId): void;
  isLeaving(cluster: ClusterId): boolean;
  lose(cluster: ClusterId): void;
  /** Clusters that came to this admin under a new epoch, and those that left it, since its start. */
  readonly counters: { readonly gained: number; readonly lost: number };
  /** `sinceMs`: when the request was sent that brought this epoch, by the lease clock. */
  all(): readonly { readonly cluster: ClusterId; readonly epoch: number; readonly sinceMs: number }[];
}

/** No epoch of the database is below 0. */
const NO_EPOCH = -1;

interface HeldLease {
  readonly lease: Lease;
  readonly gain: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * Nothing is held at first. `leaseMs` must be what the database grants. What is not held costs no look at the clock,
 * which reads a file.
 */
export function createHeldLeases(leaseMs: number, leaseClockMs: () => number): HeldLeases {
  const held = new Map<ClusterId, HeldLease>();
  const leaving = new Set<ClusterId>();
  const waiting = new Map<ClusterId, (() => void)[]>();
  const counters = { gained: 0, lost: 0 };
  const isFresh = (cluster: ClusterId): boolean =>
    held.has(cluster) && !leaving.has(cluster) && (held.get(cluster)?.untilMs ?? 0) > leaseClockMs();
  const epochOf = (cluster: ClusterId): number | null => held.get(cluster)?.lease.epoch ?? null;

  function runWaiting(cluster: ClusterId): void {
    const runs = isFresh(cluster) ? waiting.get(cluster) : undefined;
    if (runs === undefined) return;
    waiting.delete(cluster);
    for (const run of runs) run();
  }

  function hold(cluster: ClusterId, epoch: number, sentAtMs: number): void {
    const known = held.get(cluster);
    // The same lease object for the same epoch: the committer compares by reference first.
    const isKnown = known?.lease.epoch === epoch;
    if (!isKnown) counters.gained += 1;
    const kept = isKnown ? known : { lease: { cluster, epoch }, gain: counters.gained, sinceMs: sentAtMs };
    held.set(cluster, { ...kept, untilMs: sentAtMs + leaseMs });
    runWaiting(cluster);
  }

  return {
    counters,
    leaseOf: (cluster) => held.get(cluster)?.lease ?? { cluster, epoch: NO_EPOCH },
    holds: (cluster) => held.has(cluster),
    gainOf: (cluster) => held.get(cluster)?.gain ?? 0,
    epochOf: (cluster, fresh) => (leaving.has(cluster) || (fresh && !isFresh(cluster)) ? null : epochOf(cluster)),
    isFresh,
    whenFresh(cluster, run) {
      if (isFresh(cluster)) return run();
      if (!held.has(cluster)) return;
      const runs = waiting.get(cluster);
      if (runs === undefined) waiting.set(cluster, [run]);
      else runs.push(run);
    },
    hold,
    renewed(cluster, epoch, sentAtMs) {
      if (epochOf(cluster) === epoch) hold(cluster, epoch, sentAtMs);
    },
    leave(cluster) {
      if (held.has(cluster)) leaving.add(cluster);
    },
    stay(cluster) {
      leaving.delete(cluster);
      runWaiting(cluster);
    },
    isLeaving: (cluster) => leaving.has(cluster),
    lose(cluster) {
      if (held.delete(cluster)) counters.lost += 1;
      leaving.delete(cluster);
      waiting.delete(cluster);
    },
    all: () => [...held].map(([cluster, { lease, sinceMs }]) => ({ cluster, epoch: lease.epoch, sinceMs })),
  };
}
