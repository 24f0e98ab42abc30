/**
 * Orphans that this admin holds for the moment, while somebody deletes or moves their nodes: that is what ends the want
 * of room, so the want of room must not refuse it.
 */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Log } from '../../transport/net/log.ts';
import type { HeldLeases } from './held.ts';
import type { LeasePort } from './lease-port.ts';
import type { WatchTimes } from './watch-times.ts';

/** Where leases are taken, and who ends what they held. */
export interface TemporaryLeasePorts {
  readonly adminId: string;
  readonly leases: Pick<LeasePort, 'claim' | 'release'>;
  readonly held: HeldLeases;
  /** It is held no longer, and nobody of it lives here any more. Returns at once. */
  readonly ended: (cluster: ClusterId) => void;
  /** Who the orphans are was seen before: after a gap, which an owner may have had too, it says nothing. */
  readonly times: Pick<WatchTimes, 'unseenMs'>;
  readonly log: Log;
  readonly leaseClockMs: () => number;
}

/**
 * So long after the last request such a lease is given back, in ms: the next round gives it to an admin that
 * has room for it by then, if there is one.
 */
export const TEMPORARY_LEASE_IDLE_MS = 2_000;

/** Those that are held now. */
export interface TemporaryLeases {
  /**
   * Takes one of the orphans, or keeps it for longer. False: it is none, another admin was faster, somebody holds its
   * row, or nothing is taken now. Rejects with DatabaseUnavailable.
   */
  take(cluster: ClusterId, orphans: readonly ClusterId[]): Promise<boolean>;
  has(cluster: ClusterId): boolean;
  /** Lets go of those that nobody asked for lately. */
  giveBack(): Promise<void>;
  forget(cluster: ClusterId): void;
}

/**
 * None is held at first. Claimed as any other (O1): free by the database's clock, under the next epoch, which
 * every write carries.
 */
export function createTemporaryLeases(ports: TemporaryLeasePorts, isOpen: () => boolean): TemporaryLeases {
  const { adminId, leases, held, log } = ports;
  /** When each was last asked for, on the lease clock. */
  const askedMs = new Map<ClusterId, number>();
  const claims = new Map<ClusterId, Promise<boolean>>();

  async function claim(cluster: ClusterId): Promise<boolean> {
    const sentAtMs = ports.leaseClockMs();
    for (const owned of await leases.claim(adminId, [cluster])) {
      askedMs.set(cluster, sentAtMs);
      held.hold(cluster, owned.epoch, sentAtMs);
      log.info({ cluster }, 'a cluster without an owner is held while its nodes are deleted or moved');
    }
    return held.holds(cluster);
  }

  return {
    async take(cluster, orphans) {
      if (held.holds(cluster)) {
        if (askedMs.has(cluster)) askedMs.set(cluster, ports.leaseClockMs());
        return true;
      }
      const running = claims.get(cluster);
      if (running !== undefined) return await running;
      if (!isOpen() || ports.times.unseenMs() > 0 || !orphans.includes(cluster)) return false;
      const claimed = claim(cluster).finally(() => claims.delete(cluster));
      claims.set(cluster, claimed);
      return await claimed;
    },
    has: (cluster) => askedMs.has(cluster),
    async giveBack() {
      const idle = held
        .all()
        .filter(({ cluster }) => ports.leaseClockMs() - (askedMs.get(cluster) ?? Infinity) > TEMPORARY_LEASE_IDLE_MS);
      if (idle.length === 0) return;
      for (const { cluster } of idle) {
        askedMs.delete(cluster);
        ports.ended(cluster);
      }
      await leases.release(adminId, idle);
    },
    forget: (cluster) => void askedMs.delete(cluster),
  };
}
