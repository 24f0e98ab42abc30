/** A database that is starting, away or slow when an admin starts: waited for. */
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { asUnavailable } from './availability.ts';

/** Waits between two tries, in ms: the first, and the longest. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;

/** From here on a time limit is told in hours, in ms. */
const LONG_MS = 7_200_000;

/** What a wait of a start ends by before its time. Never aborted: nobody can end it. */
const ENDLESS = new AbortController().signal;

/** The time limit of one start, for all that it needs of the database together. */
export class DatabaseArrival {
  readonly #msMax: number;
  readonly #endsMs: number;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  #isTold = false;

  /** Begins now, and lasts for `msMax`, or until the signal aborts. */
  constructor(msMax: number, log: Log, signal: AbortSignal = ENDLESS) {
    this.#msMax = msMax;
    this.#endsMs = performance.now() + msMax;
    this.#log = log;
    this.#signal = signal;
  }

  /**
   * Does a step of the start, which must be one that can be done again. What says that the database is away, starting
   * or busy is told in one line and tried again; after the time limit, and for whatever else is wrong (a password, a
   * name), rejects as that try did. Rejects with the reason of the signal at once when that aborts, whatever the step
   * does then.
   */
  async done<Result>(what: string, step: () => Promise<Result>): Promise<Result> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(this.#signal.reason as Error);
    this.#signal.addEventListener('abort', abort, { once: true });
    try {
      this.#signal.throwIfAborted();
      return await Promise.race([this.#tried(what, step), aborted]);
    } finally {
      this.#signal.removeEventListener('abort', abort);
    }
  }

  async #tried<Result>(what: string, step: () => Promise<Result>): Promise<Result> {
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      try {
        const result = await step();
        if (this.#isTold) this.#log.info({}, 'The database answers');
        this.#isTold = false;
        return result;
      } catch (error) {
        const problem = asUnavailable(error, what);
        if (!(problem instanceof DatabaseUnavailable) || performance.now() + waitMs > this.#endsMs) throw problem;
        if (!this.#isTold)
          this.#log.warn(
            { error: (error as Error).message },
            `The database does not answer yet: it is tried again for ${inWords(this.#msMax)}`,
          );
        this.#isTold = true;
      }
      await delay(waitMs, null, { signal: this.#signal });
    }
  }
}

function inWords(ms: number): string {
  return ms < LONG_MS ? `${Math.ceil(ms / 1_000)} s` : `${Math.ceil(ms / 3_600_000)} h`;
}
