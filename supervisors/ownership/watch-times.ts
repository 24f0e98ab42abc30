/** Since when this admin has looked after the leases, by its lease clock. */

/**
 * An admin whose rounds are further apart than this was away itself, in ms: as long as a lease lasts, so that its own
 * may have run out meanwhile.
 */
export const ROUNDS_APART_MS_MAX = 3_000;

/** Begins now. */
export class WatchTimes {
  readonly #leaseClockMs: () => number;
  #succeededAtMs: number;
  #watchedSinceMs: number;

  constructor(leaseClockMs: () => number) {
    this.#leaseClockMs = leaseClockMs;
    this.#succeededAtMs = leaseClockMs();
    this.#watchedSinceMs = this.#succeededAtMs;
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
