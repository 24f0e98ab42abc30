/**
 * Since when this admin has looked after the leases, and how much of the others' silence it saw, by its lease clock.
 */

/**
 * An admin whose rounds are further apart than this was away itself, in ms: as long as a lease lasts, so that its own
 * may have run out meanwhile.
 */
export const ROUNDS_APART_MS_MAX = 3_000;

/**
 * Answers of the database that are further apart than this have a gap between them, in ms: a round failed, or came
 * late. Less than two rounds; and with one more, by which the renewals of others may be older, less than a lease.
 */
export const ANSWERS_APART_MS_MAX = 1_900;

/**
 * After a gap another admin counts as gone by the look after so many in a row in which it was not there: from the first
 * one on it has 4 s to renew what it owns, a round more than the service takes to be back (L3).
 */
export const LOOKS_MISSED_MIN = 4;

/** Time between two looks that there would have been before the first one, in ms. */
const LOOK_MS = 1_000;

/** What an admin whose start waited for the database did not see of the others, in ms: no outage lasts as long. */
const UNSEEN_MS_MAX = 86_400_000;

/** The leases were looked at. */
interface Look {
  readonly atMs: number;
  /** Longest time without an answer of the database since the look before, in ms. */
  readonly silentMs: number;
}

/** Begins now. */
export class WatchTimes {
  readonly #leaseClockMs: () => number;
  #succeededAtMs: number;
  #watchedSinceMs: number;
  /** The last LOOKS_MISSED_MIN. */
  #looks: readonly Look[];
  #answeredAtMs: number;
  /** As that of a look, since the last one. */
  #silentMs = 0;

  constructor(leaseClockMs: () => number) {
    this.#leaseClockMs = leaseClockMs;
    this.#succeededAtMs = leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
    this.#answeredAtMs = this.#succeededAtMs;
    this.#looks = looksUntil(this.#succeededAtMs, LOOK_MS);
  }

  /**
   * This admin starts: as if it had always looked, so that it takes what is free at once. `wasAway`: the database was
   * away until now, so that nobody could show to be there.
   */
  started(wasAway: boolean): void {
    const nowMs = this.#leaseClockMs();
    this.#answeredAtMs = nowMs;
    this.#silentMs = wasAway ? UNSEEN_MS_MAX : 0;
    this.#looks = wasAway ? looksUntil(nowMs - UNSEEN_MS_MAX, 0) : looksUntil(nowMs, LOOK_MS);
  }

  /** The database answered: until now this admin was there, and others could show to be. */
  answered(): void {
    const nowMs = this.#leaseClockMs();
    this.#silentMs = Math.max(this.#silentMs, nowMs - this.#answeredAtMs);
    this.#answeredAtMs = nowMs;
  }

  /**
   * The leases were looked at, by a question that was sent at this time and has its answer now. False: there was a gap
   * meanwhile, of which the question said nothing.
   */
  looked(atMs: number): boolean {
    this.#looks = [...this.#looks.slice(1), { atMs, silentMs: this.#silentMs }];
    this.#silentMs = 0;
    this.answered();
    return this.#silentMs <= ANSWERS_APART_MS_MAX;
  }

  /**
   * How much longer than otherwise the others may have been silent, in ms, as this admin was not there to see it: it
   * stood still itself, or had no database, just as they perhaps. 0: it has been there.
   */
  unseenMs(): number {
    const nowMs = this.#leaseClockMs();
    const [first, ...later] = this.#looks;
    const silentMs = Math.max(...later.map((look) => look.silentMs), this.#silentMs, nowMs - this.#answeredAtMs);
    if (silentMs <= ANSWERS_APART_MS_MAX) return 0;
    const renewedAtMs = (first?.atMs ?? 0) - ANSWERS_APART_MS_MAX; // at the latest, by an owner that was there
    return Math.max(0, nowMs - renewedAtMs - ROUNDS_APART_MS_MAX);
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
   * For how long there was no gap between rounds, in ms; 0: there is one now. A lease that ran out says something of
   * its owner only to whoever was there to see it: not to an admin that stood still itself, or had no database, just as
   * the owner perhaps.
   */
  watchedMs(): number {
    return this.quietMs() > ROUNDS_APART_MS_MAX ? 0 : this.#leaseClockMs() - this.#watchedSinceMs;
  }
}

/** As many as are kept, the last one then. */
function looksUntil(lastMs: number, everyMs: number): readonly Look[] {
  const before = Array.from({ length: LOOKS_MISSED_MIN }, (_, at) => LOOKS_MISSED_MIN - 1 - at);
  return before.map((looks) => ({ atMs: lastMs - looks * everyMs, silentMs: everyMs }));
}
