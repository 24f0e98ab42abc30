/** Admins that run the real loop over leases in memory, by one clock that goes only when a test says so. */
import { setImmediate } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { LOCK_MS_MAX } from '../../../../persistence/connections/database.ts';
import { createHeldLeases } from '../../../../supervisors/ownership/held.ts';
import type { LeasePort, Owned, SizedCluster } from '../../../../supervisors/ownership/lease-port.ts';
import { Ownership } from '../../../../supervisors/ownership/loop.ts';
import type { OwnershipPorts } from '../../../../supervisors/ownership/ownership-ports.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';

const LEASE_MS = 3_000;

/** Less than the time between two rounds, in ms: what follows from a round is there before the next one. */
export const STEP_MS = 100;

/** Time of one round of reads, in ms. */
const READ_MS = 500;

interface Row {
  admin: string | null;
  epoch: number;
  untilMs: number;
  readonly nodes: number;
}

interface AdminRow {
  capacity: number;
  checkedInMs: number;
}

/** Leases in memory, as persistence/ownership/leases.ts has them. */
export class ModelledLeases {
  readonly clock = createFakeClock(0);
  readonly rows = new Map<ClusterId, Row>();
  /** Of which somebody holds the row: a renewal that wants one of them fails as a whole, a claim leaves them out. */
  readonly locked = new Set<ClusterId>();
  /** Admins whose database takes no writes, and tells nothing of leases. */
  readonly away = new Set<string>();
  /** Those that fail next: a release whose row somebody locks, or a claim that is done and whose answer is lost. */
  readonly failing: ('release' | 'claim')[] = [];
  /** How long the nodes of what is taken over are read, in ms: something comes each half second. */
  readingMs = 0;
  readonly #admins = new Map<string, AdminRow>();

  /** A cluster of this admin. */
  add(name: string, nodes: number, admin: string | null): ClusterId {
    const id = name as ClusterId;
    this.rows.set(id, { admin, epoch: 1, untilMs: admin === null ? 0 : LEASE_MS, nodes });
    return id;
  }

  /** Starts an admin with room for so many nodes. Its loop goes on until the test ends. */
  async start(id: string, capacity: number): Promise<Ownership> {
    this.#admins.set(id, { capacity, checkedInMs: this.clock.nowMs() });
    const ownership = new Ownership(this.#ports(id));
    const starting = ownership.start();
    await this.pass(STEP_MS);
    await starting;
    return ownership;
  }

  /** Lets so much time go by, in ms, with all that the admins do meanwhile. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.clock.pass(STEP_MS);
      await setImmediate();
    }
  }

  /** How many clusters an admin owns by leases that run; null: that nobody owns. */
  countOf(admin: string | null): number {
    return [...this.rows.values()].filter((row) => this.#ownerOf(row) === admin).length;
  }

  #ownerOf({ admin, untilMs }: Row, unseenMs = 0): string | null {
    return untilMs > this.clock.nowMs() - unseenMs ? admin : null;
  }

  #sized(isOne: (row: Row) => boolean): readonly SizedCluster[] {
    return [...this.rows]
      .filter(([, row]) => isOne(row))
      .map(([cluster, { nodes }]) => ({ cluster, name: cluster, nodes }));
  }

  #isOwned({ cluster, epoch }: Owned, admin: string): boolean {
    const row = this.rows.get(cluster);
    return row?.admin === admin && row.epoch === epoch;
  }

  #taken(clusters: readonly ClusterId[], admin: string, isFree: (row: Row, cluster: ClusterId) => boolean): Owned[] {
    return clusters.flatMap((cluster) => {
      const row = this.rows.get(cluster);
      if (row === undefined || !isFree(row, cluster)) return [];
      Object.assign(row, { admin, epoch: row.epoch + 1, untilMs: this.clock.nowMs() + LEASE_MS });
      return [{ cluster, epoch: row.epoch }];
    });
  }

  #leasesOf(me: string): LeasePort {
    return {
      renew: async (_me, owned) => {
        if (owned.some(({ cluster }) => this.locked.has(cluster))) throw new DatabaseUnavailable('locked');
        const still = owned.filter((one) => this.#isOwned(one, me));
        for (const { cluster } of still)
          Object.assign(this.rows.get(cluster) ?? {}, { untilMs: this.clock.nowMs() + LEASE_MS });
        return still;
      },
      mine: async () => this.#sized(({ admin }) => admin === me),
      retake: async (_me, clusters) => this.#taken(clusters, me, ({ admin }) => admin === me),
      claim: async (_me, clusters) => {
        const isFree = (row: Row, cluster: ClusterId) => this.#ownerOf(row) === null && !this.locked.has(cluster);
        const taken = this.#taken(clusters, me, isFree);
        this.#failIf('claim', taken);
        return taken;
      },
      release: async (_me, owned) => {
        if (this.failing[0] === 'release' && owned.length > 0)
          await new Promise<void>((resolve) => void this.clock.after(LOCK_MS_MAX, resolve));
        this.#failIf('release', owned);
        for (const one of owned) if (this.#isOwned(one, me)) Object.assign(this.rows.get(one.cluster) ?? {}, FREE);
      },
      stopping: async () => undefined,
      survey: async (unseenMs) => this.#survey(unseenMs),
      placement: async () => ({ admins: [], clusters: [] }),
    };
  }

  #failIf(what: 'release' | 'claim', owned: readonly Owned[]): void {
    if (this.failing[0] !== what || owned.length === 0) return;
    this.failing.shift();
    throw new DatabaseUnavailable('no answer');
  }

  /** As the database tells what this admin has without knowing of it. */
  #unheld(me: string, held: readonly ClusterId[]): readonly Owned[] {
    const found = [...this.rows].filter(([cluster, row]) => this.#ownerOf(row) === me && !held.includes(cluster));
    return found.map(([cluster, { epoch }]) => ({ cluster, epoch }));
  }

  #survey(unseenMs: number) {
    const nowMs = this.clock.nowMs();
    const live = [...this.#admins].filter(([, { checkedInMs }]) => checkedInMs > nowMs - LEASE_MS - unseenMs);
    const admins = live.map(([id, { capacity, checkedInMs }]) => {
      const owned = this.#sized((row) => this.#ownerOf(row, unseenMs) === id);
      const nodes = owned.reduce((sum, one) => sum + one.nodes, 0);
      const of = { id, name: id, capacity, clusters: owned.length, nodes, isHeard: checkedInMs > nowMs - LEASE_MS };
      return { ...of, peerUrl: null, linkVersion: null, drainingSinceMs: null };
    });
    const leased = unseenMs > 0 ? [] : [...this.rows.values()].filter((row) => this.#ownerOf(row) !== null);
    const nextFreeMs = Math.min(...leased.map(({ untilMs }) => untilMs - nowMs));
    const free = this.#sized((row) => this.#ownerOf(row, unseenMs) === null);
    return { admins, free, databaseMs: nowMs, nextFreeMs: leased.length === 0 ? null : nextFreeMs };
  }

  /** No actor has anything in its rows. Whoever is away can read them. */
  #loader(): Partial<OwnershipPorts['loader']> {
    const { clock } = this;
    const readingMs = (): number => this.readingMs;
    return {
      clusters: async () => [],
      async *nodes() {
        const untilMs = clock.nowMs() + readingMs();
        while (clock.nowMs() < untilMs) {
          await new Promise<void>((resolve) => void clock.after(READ_MS, resolve));
          yield [];
        }
      },
    };
  }

  #ports(id: string): OwnershipPorts {
    const leaseClockMs = (): number => this.clock.nowMs();
    const leases = unlessAway(this.#leasesOf(id), () => this.away.has(id));
    const nothing = { evict() {}, activate() {}, isLocal: () => true, cells: () => [] };
    const ports: Partial<OwnershipPorts> = {
      adminId: id,
      leases,
      takeovers: { take: async (me, clusters) => leases.claim(me, clusters) },
      leaseMs: LEASE_MS,
      handOvers: {
        give: () => Promise.reject(new DatabaseUnavailable('no hand-overs')),
        unheld: async (me, held) => this.#unheld(me, held),
      },
      settledMs: Infinity,
      committer: { caughtUp: async () => undefined },
      sessions: { depart() {}, departing: () => 0, departed: async () => undefined },
      checkIn: async () => {
        if (this.away.has(id)) throw new DatabaseUnavailable('away');
        Object.assign(this.#admins.get(id) ?? {}, { checkedInMs: this.clock.nowMs() });
      },
      isSetBack: () => false,
      held: createHeldLeases(LEASE_MS, leaseClockMs),
      directory: nothing as Partial<OwnershipPorts['directory']> as OwnershipPorts['directory'],
      loader: this.#loader() as OwnershipPorts['loader'],
      clock: this.clock,
      log: silentLog,
      leaseClockMs,
      missed: () => undefined,
    };
    return ports as OwnershipPorts;
  }
}

const FREE = { admin: null, untilMs: 0 };

/** The same, for an admin whose database may be away. */
function unlessAway(leases: LeasePort, isAway: () => boolean): LeasePort {
  const guarded = Object.entries(leases).map(([name, ask]) => [
    name,
    (...asked: unknown[]): unknown =>
      isAway() ? Promise.reject(new DatabaseUnavailable('away')) : Reflect.apply(ask as () => unknown, null, asked),
  ]);
  return Object.fromEntries(guarded) as LeasePort;
}
