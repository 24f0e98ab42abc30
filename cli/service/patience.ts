/** Reads that are made again while the service is away: a command that goes on for long outlives an admin that dies. */
import { setTimeout as pause } from 'node:timers/promises';
import { isPassing } from '../problem.ts';

/** Between two times that something is asked, in ms. */
const AGAIN_MS = 1_000;

/** How it is patient. */
export interface PatienceOptions {
  /** Aborts when nobody waits for an answer any more. */
  readonly signal: AbortSignal;
  /** Told of a failure that is waited out: of an outage once, however many ask meanwhile. */
  readonly failing: (error: unknown) => void;
  readonly againMs?: number;
}

/** Asks until there is an answer, or a refusal that does not pass by itself. For what may be asked twice. */
export class Patience {
  readonly #options: PatienceOptions;
  #isFailing = false;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** The answer. Rejects with what does not pass, and with the last failure once the signal aborts. */
  async ask<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, failing, againMs = AGAIN_MS } = this.#options;
    for (let hasFailed = false; ; hasFailed = true) {
      try {
        const answer = await ask(signal);
        if (hasFailed) this.#isFailing = false;
        return answer;
      } catch (error) {
        if (signal.aborted || !isPassing(error)) throw error;
        if (!this.#isFailing) failing(error);
        this.#isFailing = true;
        await pause(againMs, undefined, { signal }).catch(() => {
          throw error;
        });
      }
    }
  }
}
