/** Reads that are made again while the service is away: a command that goes on for long outlives an admin that dies. */
import { setTimeout as pause } from 'node:timers/promises';
import { pauseMs, refusalOf } from '../../api/client/client.ts';
import { isPassing } from '../problem.ts';

/** Between two times that something is asked, in ms, where the service says no other. */
const AGAIN_MS = 1_000;

/** How it is patient. */
export interface PatienceOptions {
  /** Aborts when nobody waits for an answer any more. */
  readonly signal: AbortSignal;
  /** Told of a failure that is waited out: of an outage once, until all who ask meanwhile are answered. */
  readonly failing: (error: unknown) => void;
  readonly againMs?: number;
}

/** Asks until there is an answer, or a refusal that does not pass by itself. For what may be asked twice. */
export class Patience {
  readonly #options: PatienceOptions;
  /** How many wait an outage out. */
  #waiting = 0;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  /** The answer. Rejects with what does not pass, and with the last failure once the signal aborts. */
  async ask<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    let hasFailed = false;
    try {
      for (;;) {
        try {
          return await ask(signal);
        } catch (error) {
          if (signal.aborted || !isPassing(error)) throw error;
          if (!hasFailed) this.#failed(error);
          hasFailed = true;
          await this.#pause(error);
        }
      }
    } finally {
      if (hasFailed) this.#waiting -= 1;
    }
  }

  #failed(error: unknown): void {
    if (this.#waiting === 0) this.#options.failing(error);
    this.#waiting += 1;
  }

  /** Until it is asked again. Rejects with the failure where the signal aborts before. */
  async #pause(failure: unknown): Promise<void> {
    const { signal, againMs = AGAIN_MS } = this.#options;
    const refusal = refusalOf(failure);
    await pause(refusal === null ? againMs : pauseMs(refusal, againMs), undefined, { signal }).catch(() => {
      throw failure;
    });
  }
}
