/**
 * Since when a session is known to be up to date: what comes after the answer to a question was sent after the
 * question.
 */
import { SESSION_SILENCE_MS_MAX } from '../../transport/protocol/limits.ts';

/** Questions whose answers may still come, at most. */
const ASKS_MAX = 64;

/** Times of one connection, in ms of a clock that runs while the machine is suspended. */
export class Proofs {
  #pings: number[] = [];
  readonly #asks = new Map<number, number>();
  #provenMs: number;
  #lastAsk = 0;

  /** `helloMs`: the hello of this connection left then, and was welcomed. */
  constructor(helloMs: number) {
    this.#provenMs = helloMs;
  }

  /** Whatever arrives now was sent at this time or later. */
  get provenMs(): number {
    return this.#provenMs;
  }

  pinged(nowMs: number): void {
    this.#pings.push(nowMs);
    if (this.#pings.length > ASKS_MAX) this.#pings.shift();
  }

  /** Pongs come in the order of pings. */
  ponged(): void {
    this.#proven(this.#pings.shift() ?? this.#provenMs);
  }

  /** The number of a new question. */
  asked(nowMs: number): number {
    this.#lastAsk += 1;
    this.#asks.set(this.#lastAsk, nowMs);
    if (this.#asks.size > ASKS_MAX) this.#asks.delete(this.#lastAsk - ASKS_MAX);
    return this.#lastAsk;
  }

  /**
   * When that question was asked; null: nobody asked it, or too long ago. Several answers to one question are possible.
   */
  answered(ask: number): number | null {
    const askedMs = this.#asks.get(ask) ?? null;
    if (askedMs !== null) this.#proven(askedMs);
    return askedMs;
  }

  /**
   * The clock went back to `nowMs`. No time of before says anything by it: what is on its way is taken to be older than
   * what starts unasked, pongs to come of pings of before prove nothing, nor do answers to questions of before.
   */
  wentBack(nowMs: number): void {
    this.#provenMs = nowMs - SESSION_SILENCE_MS_MAX - 1;

    this.#pings = this.#pings.map(() => -Infinity);
    this.#asks.clear();
  }

  #proven(atMs: number): void {
    this.#provenMs = Math.max(this.#provenMs, atMs);
  }
}
