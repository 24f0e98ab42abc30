/** Pings of one connection, and whether its other end is to be taken for dead. Sends nothing. */

/** All times are of a clock that never goes back, in ms. */
export class Pings {
  #askedMs: number;
  #answeredMs: number;

  /** The connection has just been opened: its other end was there. */
  constructor(nowMs: number) {
    this.#askedMs = nowMs;
    this.#answeredMs = nowMs;
  }

  /** False: the answer to the last one is not there yet. */
  get isAnswered(): boolean {
    return this.#answeredMs >= this.#askedMs;
  }

  /**
   * To be asked when the next ping is due: whether the other end was silent for longer than it may be. Where it
   * answered the last one it was not asked since: then it is this process that stood still, and asks first.
   */
  isOver(nowMs: number, silenceMsMax: number): boolean {
    return !this.isAnswered && nowMs - this.#answeredMs > silenceMsMax;
  }

  /** Since when nothing was asked and nothing was heard. */
  get quietSinceMs(): number {
    return Math.max(this.#askedMs, this.#answeredMs);
  }

  asked(nowMs: number): void {
    this.#askedMs = nowMs;
  }

  /** An answer came, or anything else from there: it is as good a sign of life. */
  answered(nowMs: number): void {
    this.#answeredMs = nowMs;
  }
}
