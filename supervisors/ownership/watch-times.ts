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

/** Of looks that follow each other sooner than this, in ms, half a round, only the last one is one of those four. */
export const LOOKS_APART_MS_MIN = 500;

/**
 * By so much more than the lease clock the database's clock may go on between two looks, in ms. Far more than clocks
 * are slewed in a round (NTP: 0.5 ms a second), and a sixth of a lease.
 */
export const CLOCK_AHEAD_MS_MAX = 500;

/**
 * A round is no sooner behind the one before, in ms; and so long behind the end of a lease that was not renewed, as
 * timers are a little early.
 */
const [ROUND_MS_MIN, LEASE_OVER_MS] = [100, 10];

/** What an admin that starts did not see of the others, in ms: no outage lasts as long. */
const UNSEEN_MS_MAX = 30 * 86_400_000;

/** The leases were looked at. */
interface Look {
  readonly atMs: number;
  /**
   * Longest time without an answer of the database since the look before, in ms; and by how much its clock jumped
   * ahead, which is no less time that leases ran out in.
   */
  readonly silentMs: number;
}

/** A look by both clocks, and when the first lease runs out unless it is renewed; in ms, null: none runs. */
interface TimedLook {
  readonly sentAtMs: number;
  readonly databaseMs: number;
  readonly nextFreeMs: number | null;
}

/**
 * Begins now, and has seen nothing of the others: an outage may have ended in this moment, so that they could not show
 * to be there.
 */
export class WatchTimes {
  readonly #leaseClockMs: () => number;
  #succeededAtMs: number;
  #watchedSinceMs: number;
  /** The last LOOKS_MISSED_MIN, by the lease clock and with what the database's jumped. */
  #looks: readonly Look[];
  /** The last one. */
  #timed: TimedLook | null = null;
  /** By how much the database's clock jumped ahead, in all, in ms. */
  #jumpedMs = 0;
  #answeredAtMs: number;
  /** When the first lease runs out unless it is renewed, by the lease clock, in ms. */
  #nextFreeAtMs = Infinity;
  /** As that of a look, since the last one. */
  #silentMs = UNSEEN_MS_MAX;

  constructor(leaseClockMs: () => number) {
    this.#leaseClockMs = leaseClockMs;
    this.#succeededAtMs = leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
    this.#answeredAtMs = this.#succeededAtMs;
    const before = { atMs: this.#succeededAtMs - UNSEEN_MS_MAX, silentMs: 0 };
    this.#looks = Array.from({ length: LOOKS_MISSED_MIN }, () => before);
  }

  /** The database answered: until now this admin was there, and others could show to be. */
  answered(): void {
    const nowMs = this.#leaseClockMs();
    this.#silentMs = Math.max(this.#silentMs, nowMs - this.#answeredAtMs);
    this.#answeredAtMs = nowMs;
  }

  /**
   * The leases were looked at, by a question that was sent at this time and has its answer now, with the time of the
   * database. False: there was a gap meanwhile, of which the question said nothing.
   */
  looked(look: TimedLook): boolean {
    const jumpMs = this.#jumpOf(look);
    this.#add({ atMs: look.sentAtMs + this.#jumpedMs, silentMs: this.#silentMs + jumpMs });
    this.#timed = look;
    this.#nextFreeAtMs = look.nextFreeMs === null ? Infinity : look.sentAtMs + look.nextFreeMs;
    this.#jumpedMs += jumpMs;
    this.#silentMs = 0;
    this.answered();
    return jumpMs === 0 && this.#silentMs <= ANSWERS_APART_MS_MAX;
  }

  /**
   * How much longer than otherwise the others may have been silent, in ms, as this admin was not there to see it: it
   * starts, stood still itself, or had no database, just as they perhaps; or their leases ran out by a clock that
   * jumped. 0: it has been there.
   */
  unseenMs(): number {
    const nowMs = this.#leaseClockMs();
    const [first, ...later] = this.#looks;
    const silentMs = Math.max(...later.map((look) => look.silentMs), this.#silentMs, nowMs - this.#answeredAtMs);
    if (silentMs <= ANSWERS_APART_MS_MAX) return 0;
    const renewedAtMs = (first?.atMs ?? 0) - ANSWERS_APART_MS_MAX; // at the latest, by an owner that was there
    return Math.max(0, nowMs + this.#jumpedMs - renewedAtMs - ROUNDS_APART_MS_MAX);
  }

  /** A round succeeded. */
  succeeded(): void {
    const nowMs = this.#leaseClockMs();
    if (nowMs - this.#succeededAtMs > ROUNDS_APART_MS_MAX) this.#watchedSinceMs = nowMs;
    this.#succeededAtMs = nowMs;
  }

  /**
   * When the next round is to begin, in ms from now: after `roundMs`, or as a lease of an admin that is gone runs out,
   * which is up to a round sooner (O2). Whoever is there renews long before.
   */
  nextRoundMs(roundMs: number): number {
    const overMs = this.#nextFreeAtMs + LEASE_OVER_MS - this.#leaseClockMs();
    this.#nextFreeAtMs = Infinity; // as of this round alone
    return Math.min(roundMs, Math.max(ROUND_MS_MIN, overMs));
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

  /** In the place of the last one where it follows too soon. */
  #add(look: Look): void {
    const last = this.#looks.at(-1);
    const isSoon = last !== undefined && look.atMs - last.atMs < LOOKS_APART_MS_MIN;
    this.#looks = isSoon
      ? [...this.#looks.slice(0, -1), { ...look, silentMs: Math.max(last.silentMs, look.silentMs) }]
      : [...this.#looks.slice(1), look];
  }

  /** By how much the database's clock surely went further since the last look than time did, in ms; 0: no jump. */
  #jumpOf({ databaseMs }: TimedLook): number {
    if (this.#timed === null) return 0;
    const passedMsMax = this.#leaseClockMs() - this.#timed.sentAtMs;
    const aheadMs = databaseMs - this.#timed.databaseMs - passedMsMax;
    return aheadMs > CLOCK_AHEAD_MS_MAX ? aheadMs : 0;
  }
}
