/** Since when this admin has looked after the leases, and how much of the others' silence it saw, by its lease clock. */

/**
 * An admin whose rounds are further apart than this was away itself, in ms: as long as a lease lasts, so that its own
 * may have run out meanwhile.
 */
export const ROUNDS_APART_MS_MAX = 3_000;

/**
 * Looks at the leases that are further apart than this have a gap between them, in ms: a round failed, or came late. Less
 * than two rounds; and with one more, by which the renewals of others may be older, less than a lease.
 */
export const LOOKS_APART_MS_MAX = 1_900;

/**
 * After a gap another admin counts as gone once it was not there in so many looks in a row: it has 3 s after the first
 * one to renew what it owns, in which the service is back (L3).
 */
export const LOOKS_MISSED_MIN = 4;

/** Time between two looks that there would have been before the first one, in ms. */
const LOOK_MS = 1_000;

/** What an admin whose start waited for the database did not see of the others, in ms: no outage lasts as long. */
const UNSEEN_MS_MAX = 86_400_000;

/** Begins now. */
export class WatchTimes {
  readonly #leaseClockMs: () => number;
  #succeededAtMs: number;
  #watchedSinceMs: number;
  /** When the leases were looked at, the last LOOKS_MISSED_MIN times. */
  #looks: readonly number[];

  constructor(leaseClockMs: () => number) {
    this.#leaseClockMs = leaseClockMs;
    this.#succeededAtMs = leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
    this.#looks = looksUntil(this.#succeededAtMs, LOOK_MS);
  }

  /**
   * This admin starts: as if it had always looked, so that it takes what is free at once. `wasAway`: the database was
   * away until now, so that nobody could show to be there.
   */
  started(wasAway: boolean): void {
    const nowMs = this.#leaseClockMs();
    this.#looks = wasAway ? looksUntil(nowMs - UNSEEN_MS_MAX, 0) : looksUntil(nowMs, LOOK_MS);
  }

  /** The leases were looked at, by a question that was sent at this time. */
  looked(atMs: number): void {
    this.#looks = [...this.#looks.slice(1), atMs];
  }

  /**
   * How much longer than otherwise the others may have been silent, in ms, as this admin was not there to see it: it
   * stood still itself, or had no database, just as they perhaps. 0: it has been there.
   */
  unseenMs(): number {
    const nowMs = this.#leaseClockMs();
    const [firstMs, ...laterMs] = [...this.#looks, nowMs];
    const apartMs = laterMs.map((ms, at) => ms - (this.#looks[at] ?? ms));
    return Math.max(...apartMs) > LOOKS_APART_MS_MAX ? Math.max(0, nowMs - firstMs - ROUNDS_APART_MS_MAX) : 0;
  }

  /** A round succeeded. */
  succeeded(): void {
    const nowMs = this.#leaseClockMs();
    if (nowMs - this.#succeededAtMs > ROUNDS_APART_MS_MAX) this.#watchedSinceMs = nowMs;
    this.#succeededAtMs = nowMs;
  }

  /** How long ago the last round succeeded, in ms. */
  quietMs(): number {
    return this.#leaseClockMs() - this.#succeededAtMs;
  }

  /**
   * For how long there was no gap between rounds, in ms; 0: there is one now. A lease that ran out says something of its
   * owner only to whoever was there to see it: not to an admin that stood still itself, or had no database, just as the
   * owner perhaps.
   */
  watchedMs(): number {
    return this.quietMs() > ROUNDS_APART_MS_MAX ? 0 : this.#leaseClockMs() - this.#watchedSinceMs;
  }
}

/** As many as are kept, the last one then. */
function looksUntil(lastMs: number, everyMs: number): readonly number[] {
  return Array.from({ length: LOOKS_MISSED_MIN }, (_, at) => lastMs - (LOOKS_MISSED_MIN - 1 - at) * everyMs);
}
