/**
 * How fast releases go out: all downloads together under one limit of bytes a second, source by source in turn, so that
 * sessions have their share of the line, and one who downloads much does not hold up the others.
 */
import type { Clock } from '../../actors/ports.ts';
import { Places } from '../net/places.ts';
import { debtMs, fullBucket, spend, type BucketLimits, type TokenBucket } from '../net/token-bucket.ts';

/** Downloads at a time: each holds up to two chunks. More are told to come again (L2). */
export const DOWNLOADS_MAX = 128;

/** Of one source: a fleet behind one address leaves half of the places to others. */
export const SOURCE_DOWNLOADS_MAX = 64;

/** What a burst may be, in seconds of the rate: a short metadata file never waits for long. */
const BURST_SECONDS = 0.25;

/** The least burst, in bytes: one write of a download. */
const BURST_BYTES_MIN = 65_536;

/** Somebody who waits for leave to write. */
interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

/** Places and turns. */
export class Pace {
  readonly #limits: BucketLimits;
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** By source, in the order of their turns. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #places = new Places({ placesMax: DOWNLOADS_MAX, ofOneMax: SOURCE_DOWNLOADS_MAX });
  #bucket: TokenBucket;
  #timer: NodeJS.Timeout | null = null;

  /** `clock` need not be that of anybody else: only differences count. */
  constructor(bytesPerSecond: number, clock: Pick<Clock, 'nowMs'>) {
    this.#limits = {
      tokensPerSecond: bytesPerSecond,
      tokensMax: Math.max(BURST_BYTES_MIN, bytesPerSecond * BURST_SECONDS),
    };
    this.#clock = clock;
    this.#bucket = fullBucket(this.#limits);
  }

  /** Downloads that have a place. */
  get taken(): number {
    return this.#places.taken;
  }

  /** Takes a place for a source; what gives it back, once. Null: it has too many, or all are taken. */
  enter(source: string): (() => void) | null {
    return this.#places.take(source);
  }

  /**
   * Resolves when it is the turn of this source, and what went out before is paid for. Rejects when `signal` is
   * aborted, which takes the turn out of the queue: it costs nobody anything.
   */
  turn(source: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const withdraw = (): void => {
      this.#remove(source, waiting);
      reject(signal.reason as Error);
    };
    const waiting: Waiting = {
      bytes,
      go: () => {
        signal.removeEventListener('abort', withdraw);
        resolve();
      },
    };
    signal.addEventListener('abort', withdraw, { once: true });
    const queue = this.#waiting.get(source);
    if (queue === undefined) this.#waiting.set(source, new Set([waiting]));
    else queue.add(waiting);
    this.#serve();
    return promise;
  }

  #remove(source: string, waiting: Waiting): void {
    const queue = this.#waiting.get(source);
    queue?.delete(waiting);
    if (queue?.size === 0) this.#waiting.delete(source);
  }

  #serve(): void {
    if (this.#timer !== null) return;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const nowMs = this.#clock.nowMs();
      this.#bucket = spend(this.#bucket, this.#limits, 0, nowMs);
      const waitMs = debtMs(this.#bucket, this.#limits);
      if (waitMs > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = null;
          this.#serve();
        }, waitMs);
        return;
      }
      const [source, queue] = next;
      const [first] = queue;
      this.#waiting.delete(source);
      if (first === undefined) continue;
      queue.delete(first);
      if (queue.size > 0) this.#waiting.set(source, queue); // behind the others
      this.#bucket = spend(this.#bucket, this.#limits, first.bytes, nowMs);
      first.go();
    }
  }
}
