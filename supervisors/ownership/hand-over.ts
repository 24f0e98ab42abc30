/**
 * How clusters are given to another admin while both live: nothing new is begun for them, what was decided is stored,
 * one transaction changes their owner, and only then their actors end here and their agents are told where to go.
 */
import type { HandOverReason, StaysBecause } from '../../actors/hand-over.ts';
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { ObservedHistogram, type Histogram } from '../../transport/net/histogram.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Committer, SessionLink } from '../ports.ts';
import { replyToOf } from '../runtime/asks.ts';
import type { Directory } from '../runtime/directory.ts';
import type { HeldLeases } from './held.ts';
import type { HandOverPort, LeasePort, Owned, SizedCluster } from './lease-port.ts';

/** Clusters of one transaction: one message tells the new owner of all of them. */
export const HANDED_OVER_AT_ONCE_MAX = 64;

/** Whoever waits for an answer about a cluster has so long to get it before the cluster is handed over, in ms. */
export const HAND_OVER_DRAIN_MS_MAX = 500;

/** How often it is looked whether anybody still waits, in ms. */
const DRAIN_LOOK_MS = 5;

/** Wait before the rows are asked again what became of a hand-over, in ms. */
const DOUBT_AGAIN_MS = 250;

/** Upper bounds of how long hand-overs take, in s. */
const DURATIONS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Hand-overs of one admin since it started, in clusters. */
export interface HandOverReadings {
  /** Given to other admins, by the reason. */
  readonly given: Readonly<Record<HandOverReason, number>>;
  /** That came from other admins. */
  readonly received: number;
  /** That were to be given and stayed. */
  readonly stayed: number;
  /** From when nothing new was begun for them until the new owner had them, in s. One for each transaction. */
  readonly durations: Histogram;
}

/**
 * Where nothing hurries, so many agents wait at a time until they are told where to go: 7 s at most, in which nobody
 * hears them; after 30 their nodes would be unreachable. A cluster with more of them goes when nobody waits.
 */
export const DEPARTING_MAX = 1_000;

/**
 * How many agents more may come to wait until they are told where to go; below 1: no further cluster is given. Asked
 * before each transaction.
 */
export type Pace = () => number;

/** As fast as it goes. */
const UNPACED: Pace = () => Infinity;

/** What became of clusters that were to be given. */
export interface Given {
  /** Not this admin's any more. */
  readonly given: readonly ClusterId[];
  /** It was tried, and they stay. */
  readonly stayed: number;
  /** False: the rest was not tried. */
  readonly isThrough: boolean;
  /** False: the rows did not say what became of some, as the database is away. */
  readonly isKnown: boolean;
}

/** A cluster that is to be given. */
export type GivenCluster = Pick<SizedCluster, 'cluster' | 'nodes'>;

/** Who takes clusters. */
export interface Receiver {
  readonly id: string;
  readonly name: string;
}

/** What a hand-over needs. */
export interface HandOversPorts {
  readonly adminId: string;
  readonly handOvers: HandOverPort;
  readonly leases: Pick<LeasePort, 'renew'>;
  /** What the database grants, in ms. */
  readonly leaseMs: number;
  readonly held: HeldLeases;
  readonly directory: Pick<Directory, 'cells'>;
  readonly committer: Pick<Committer, 'caughtUp'>;
  readonly sessions: Pick<SessionLink, 'depart'>;
  /** It is another admin's: its actors end, and its agents stay connected until they are told. */
  readonly left: (cluster: ClusterId) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseClockMs: () => number;
}

/** Nothing was handed over at first. */
export class HandOvers {
  readonly #ports: HandOversPorts;
  readonly #given: Record<HandOverReason, number> = { balance: 0, room: 0, drain: 0, stop: 0 };
  readonly #durations = new ObservedHistogram(DURATIONS_S);
  #received = 0;
  #stayed = 0;
  #underWay = 0;

  constructor(ports: HandOversPorts) {
    this.#ports = ports;
  }

  readings(): HandOverReadings {
    return {
      given: { ...this.#given },
      received: this.#received,
      stayed: this.#stayed,
      durations: this.#durations,
    };
  }

  /** Whether one goes on now. */
  get isUnderWay(): boolean {
    return this.#underWay > 0;
  }

  /** So many came from other admins. */
  receivedMore(clusters: number): void {
    this.#received += clusters;
  }

  /**
   * Gives those of the clusters that are held here at this pace, HANDED_OVER_AT_ONCE_MAX at a time, until it is not
   * known what became of some. Those that are not given stay as if nothing had been. Never rejects.
   */
  async give(
    clusters: readonly GivenCluster[],
    to: Receiver,
    reason: HandOverReason,
    pace: Pace = UNPACED,
  ): Promise<Given> {
    const given: ClusterId[] = [];
    let stayed = 0;
    let left = clusters;
    let isKnown = true;
    this.#underWay += 1;
    while (left.length > 0) {
      const agentsMax = pace();
      const together = agentsMax < 1 ? [] : firstOf(left, agentsMax);
      if (together.length === 0) break;
      const outcome = await this.#giveTogether(together, to, reason);
      given.push(...outcome.given);
      isKnown = outcome.isKnown;
      if (!isKnown) break;
      stayed += outcome.stayed;
      left = left.slice(together.length);
    }
    this.#underWay -= 1;
    return { given, stayed, isThrough: left.length === 0, isKnown };
  }

  async #giveTogether(
    clusters: readonly GivenCluster[],
    to: Receiver,
    reason: HandOverReason,
  ): Promise<Omit<Given, 'isThrough'>> {
    const { adminId, held, handOvers, log, leaseClockMs } = this.#ports;
    const wanted = new Set(clusters.map(({ cluster }) => cluster));
    const owned = held.all().filter(({ cluster }) => wanted.has(cluster) && !held.isLeaving(cluster));
    if (owned.length === 0) return { given: [], stayed: 0, isKnown: true };
    const beganMs = leaseClockMs();
    for (const { cluster } of owned) held.leave(cluster);
    await this.#drained(new Set(owned.map(({ cluster }) => cluster)));
    const outcome = await handOvers
      .give(adminId, owned, to.id)
      .then(({ given, ...more }) => ({ ...more, given: new Set(given.map(({ cluster }) => cluster)), isKnown: true }))
      .catch((error: unknown) => this.#inDoubt(owned, to, error));
    const given = this.#settled(owned, outcome);
    const tookMs = leaseClockMs() - beganMs;
    this.#durations.observe(tookMs / 1_000);
    const stayed = owned.length - given.length;
    this.#given[reason] += given.length;
    this.#stayed += stayed;
    if (given.length > 0)
      log.info(
        { clusters: given.length, admin: to.name, reason, duration_ms: Math.round(tookMs) },
        'clusters were handed over to another admin',
      );
    if (stayed > 0)
      log.warn(
        { clusters: stayed, admin: to.name, reason, problem: outcome.staysBecause },
        'clusters could not be handed over: they stay',
      );
    return { given, stayed, isKnown: outcome.isKnown };
  }

  /** Ends here what is not ours any more, and lets the rest go on. */
  #settled(owned: readonly Owned[], { given, url }: Outcome): readonly ClusterId[] {
    const { held, left, sessions } = this.#ports;
    const gone = owned.filter(({ cluster }) => given.has(cluster)).map(({ cluster }) => cluster);
    if (gone.length > 0) sessions.depart(new Set(gone), url);
    for (const cluster of gone) left(cluster);
    for (const { cluster } of owned) if (!given.has(cluster)) held.stay(cluster);
    return gone;
  }

  /**
   * Whoever asked before has an answer, and what was decided is stored, or the time is up: then it is refused as stale,
   * and asked or said again at the new owner.
   */
  async #drained(clusters: ReadonlySet<ClusterId>): Promise<void> {
    const { committer, leaseClockMs } = this.#ports;
    const untilMs = leaseClockMs() + HAND_OVER_DRAIN_MS_MAX;
    while (this.#isAsked(clusters) && leaseClockMs() < untilMs) await this.#pause(DRAIN_LOOK_MS);
    const caughtUp = committer.caughtUp().catch(() => undefined); // the database is away: the hand-over says so
    await Promise.race([caughtUp, this.#pause(Math.max(0, untilMs - leaseClockMs()))]);
  }

  #isAsked(clusters: ReadonlySet<ClusterId>): boolean {
    for (const kind of ['node', 'cluster'] as const)
      for (const { cluster, mailbox } of this.#ports.directory.cells(kind))
        if (cluster !== null && clusters.has(cluster) && mailbox.some((message) => isAsk(message))) return true;
    return false;
  }

  /**
   * The rows are asked for as long as a lease lasts. Nothing is delivered meanwhile; and then neither, as a lease that
   * was not renewed is not fresh.
   */
  async #inDoubt(owned: readonly Owned[], to: Receiver, error: unknown): Promise<Outcome> {
    const { adminId, leases, leaseMs, log, leaseClockMs } = this.#ports;
    if (error instanceof DatabaseUnavailable)
      log.warn({ admin: to.name, error: error.message }, 'it is not known whether clusters were handed over');
    else log.error({ admin: to.name, error }, 'handing over clusters failed');
    const untilMs = leaseClockMs() + leaseMs;
    const over = this.#pause(leaseMs);
    while (leaseClockMs() < untilMs) {
      try {
        const renewed = await Promise.race([leases.renew(adminId, owned), over]);
        if (renewed === undefined) break;
        const still = new Set(renewed.map(({ cluster }) => cluster));
        const given = owned.map(({ cluster }) => cluster).filter((cluster) => !still.has(cluster));
        return { given: new Set(given), url: '', staysBecause: null, isKnown: true };
      } catch {
        await this.#pause(DOUBT_AGAIN_MS);
      }
    }
    return { given: new Set(), url: '', staysBecause: null, isKnown: false };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ports.clock.after(ms, resolve);
    });
  }
}

/** Those of one transaction, in this order. None: who waits already is to be told first. */
function firstOf(clusters: readonly GivenCluster[], agentsMax: number): readonly GivenCluster[] {
  let agents = 0;
  const end = clusters.findIndex(({ nodes }) => {
    agents += Math.min(nodes, DEPARTING_MAX);
    return agents > agentsMax;
  });
  return clusters.slice(0, Math.min(end < 0 ? clusters.length : end, HANDED_OVER_AT_ONCE_MAX));
}

interface Outcome {
  readonly given: ReadonlySet<ClusterId>;
  /** Where their agents go; empty: it is not known. */
  readonly url: string;
  readonly staysBecause: StaysBecause | null;
  /** False: the rows did not say. */
  readonly isKnown: boolean;
}

function isAsk(message: object): boolean {
  return replyToOf(message) !== null;
}
