/** Leases that this admin holds, by its own monotonic clock, which goes on while the process is paused. */
import type { Lease } from '../../actors/kit/behaviour.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';

export interface HeldLeases {
  /** The lease to write under; an impossible epoch when the cluster is not held, so that the write is refused. */
  leaseOf(cluster: ClusterId): Lease;
  holds(cluster: ClusterId): boolean;
  /** Held, and not run out by this machine's own clock. */
  isFresh(cluster: ClusterId): boolean;
  /** Granted or renewed by a request that was sent at `sentAtMs` (monotonic). */
  hold(cluster: ClusterId, epoch: number, sentAtMs: number): void;
  lose(cluster: ClusterId): void;
  all(): readonly ClusterId[];
}

/** No epoch of the database is below 0. */
const NO_EPOCH = -1;

/** Nothing is held at first. `leaseMs` must be what the database grants. */
export function createHeldLeases(leaseMs: number, monotonicMs: () => number): HeldLeases {
  const held = new Map<ClusterId, { readonly lease: Lease; readonly untilMs: number }>();
  return {
    leaseOf: (cluster) => held.get(cluster)?.lease ?? { cluster, epoch: NO_EPOCH },
    holds: (cluster) => held.has(cluster),
    isFresh: (cluster) => (held.get(cluster)?.untilMs ?? 0) > monotonicMs(),
    hold(cluster, epoch, sentAtMs) {
      const known = held.get(cluster)?.lease;
      // The same lease object for the same epoch: the committer compares by reference first.
      const lease = known?.epoch === epoch ? known : { cluster, epoch };
      held.set(cluster, { lease, untilMs: sentAtMs + leaseMs });
    },
    lose: (cluster) => void held.delete(cluster),
    all: () => [...held.keys()],
  };
}
