/**
 * Orphans that this admin holds for the moment, while somebody deletes or moves their nodes: that is what ends the want
 * of room, so the want of room must not refuse it.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Log } from '../../transport/net/log.ts';
import type { HeldLeases } from './held.ts';
import type { LeasePort, Owned } from './lease-port.ts';
import type { WatchTimes } from './watch-times.ts';

/** Where leases are taken, and who ends what they held. */
export interface TemporaryLeasePorts {
  readonly adminId: string;
  readonly leases: Pick<LeasePort, 'claim' | 'release'>;
  /** What the database grants, in ms. */
  readonly leaseMs: number;
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

/**
 * For so many leases from the first round on that goes through after it was claimed or let go, such a cluster is this
 * admin's by its row at most because an answer was lost: a server that stood still carries out then what it was asked.
 */
const PASSING_LEASES = 2;

/** Those that are held now. */
export interface TemporaryLeases {
  /**
   * Takes one of the orphans, or keeps it for longer. False: it is none, another admin was faster, somebody holds its
   * row, or nothing is taken now. Rejects with DatabaseUnavailable.
   */
  take(cluster: ClusterId, orphans: readonly ClusterId[]): Promise<boolean>;
  has(cluster: ClusterId): boolean;
  /**
   * Whether it was claimed or let go lately, if only perhaps: that its row names this admin makes it nobody's gain, as
   * the want of room was not asked.
   */
  isPassing(cluster: ClusterId): boolean;
  /** Ends those that nobody asked for lately: in each round, before the leases are renewed, so that they are not. */
  endIdle(): void;
  /**
   * Lets those go in the database, and again those with which that failed. Returns at once, and runs once at a time: a
   * row that somebody locks costs a release LOCK_MS_MAX, and no round may wait for that, or fail by it (L4).
   */
  release(): void;
  /** Resolves when no release is under way. Never rejects. */
  settled(): Promise<void>;
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
  const passing = new Passing(ports.leaseMs);
  const releases = new Releases(ports, passing);

  async function claim(cluster: ClusterId): Promise<boolean> {
    const sentAtMs = ports.leaseClockMs();
    passing.claimed(cluster);
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
    isPassing: (cluster) => passing.has(cluster),
    endIdle() {
      passing.round(ports.leaseClockMs(), (cluster) => claims.has(cluster));
      const idle = held
        .all()
        .filter(({ cluster }) => ports.leaseClockMs() - (askedMs.get(cluster) ?? Infinity) > TEMPORARY_LEASE_IDLE_MS);
      for (const { cluster, epoch } of idle) {
        passing.letGo({ cluster, epoch });
        askedMs.delete(cluster);
        ports.ended(cluster);
      }
    },
    release: () => releases.begin(),
    settled: () => releases.settled(),
    forget: (cluster) => void askedMs.delete(cluster),
  };
}

/** Lets those go in the database that are held no longer, once at a time. */
class Releases {
  readonly #ports: Pick<TemporaryLeasePorts, 'adminId' | 'leases' | 'log'>;
  readonly #passing: Passing;
  /** Null: none is. */
  #underWay: Promise<void> | null = null;

  constructor(ports: Pick<TemporaryLeasePorts, 'adminId' | 'leases' | 'log'>, passing: Passing) {
    this.#ports = ports;
    this.#passing = passing;
  }

  begin(): void {
    const { unreleased } = this.#passing;
    if (this.#underWay !== null || unreleased.length === 0) return;
    this.#underWay = this.#release(unreleased).finally(() => {
      this.#underWay = null;
    });
  }

  async settled(): Promise<void> {
    await this.#underWay;
  }

  async #release(unreleased: readonly Owned[]): Promise<void> {
    const { adminId, leases, log } = this.#ports;
    try {
      await leases.release(adminId, unreleased);
      this.#passing.released(unreleased);
    } catch (error) {
      const fields = { clusters: unreleased.length };
      const told = 'clusters that were held for the moment could not be let go: trying again';
      if (error instanceof DatabaseUnavailable) log.warn({ ...fields, error: error.message }, told);
      else log.error({ ...fields, error }, told);
    }
  }
}

/** Those that were claimed or let go lately: none at first. */
class Passing {
  readonly #keptMs: number;
  /** When a round went through after that, on the lease clock; null: none did. */
  readonly #sinceMs = new Map<ClusterId, number | null>();
  readonly #unreleased = new Map<ClusterId, Owned>();

  constructor(leaseMs: number) {
    this.#keptMs = PASSING_LEASES * leaseMs;
  }

  has(cluster: ClusterId): boolean {
    return this.#sinceMs.has(cluster);
  }

  /** Held no longer, and not known to be free. */
  get unreleased(): readonly Owned[] {
    return [...this.#unreleased.values()];
  }

  claimed(cluster: ClusterId): void {
    this.#sinceMs.set(cluster, null);
  }

  letGo(owned: Owned): void {
    this.#sinceMs.set(owned.cluster, null);
    this.#unreleased.set(owned.cluster, owned);
  }

  /** But for those that were taken and let go again meanwhile, under another epoch. */
  released(owned: readonly Owned[]): void {
    for (const { cluster, epoch } of owned)
      if (this.#unreleased.get(cluster)?.epoch === epoch) this.#unreleased.delete(cluster);
  }

  /** A round goes through. What is old is over, also where no release ever came through: nobody renews it. */
  round(nowMs: number, isBeingClaimed: (cluster: ClusterId) => boolean): void {
    for (const [cluster, sinceMs] of this.#sinceMs) {
      if (isBeingClaimed(cluster)) continue;
      if (sinceMs === null) this.#sinceMs.set(cluster, nowMs);
      else if (nowMs - sinceMs > this.#keptMs) {
        this.#sinceMs.delete(cluster);
        this.#unreleased.delete(cluster);
      }
    }
  }
}
