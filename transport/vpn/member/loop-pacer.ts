/**
 * When a loop takes its next turn: once it is due or woken, not before the wait that follows a failure is over, and
 * never without letting the rest of the process go on.
 */
import { setImmediate as rest } from 'node:timers/promises';
import { MESSAGES_MS } from './limits.ts';

/**
 * Waits after the first failure of several in a row, and at most, in ms: each is twice the one before. The most lies
 * below what is taken for sleep (SLEEP_MS_MIN).
 */
export const FAILURE_MS_MIN = 1_000;
export const FAILURE_MS_MAX = 8_000;

/** Longest wait that nothing ends, in ms. */
const WAIT_MS_MAX = 5_000;

/** Turns of one loop, by `performance.now()`. */
export class LoopPacer {
  #isAwake = false;
  #isAwakeSoon = false;
  #isEnded = false;
  #wake: (() => void) | null = null;
  #failures = 0;
  #notBeforeMs = 0;

  /** The next turn is due now. */
  wake(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  /** The same, but not before MESSAGES_MS after the end of the last turn: for what others may say without end. */
  wakeSoon(): void {
    this.#isAwakeSoon = true;
    this.#wake?.();
  }

  /** There is something new to be done: it is not kept waiting for longer than the shortest wait after a failure. */
  renew(): void {
    this.#failures = Math.min(this.#failures, 1);
    this.#notBeforeMs = Math.min(this.#notBeforeMs, performance.now() + FAILURE_MS_MIN);
    this.wake();
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBeforeMs = 0;
  }

  failed(): void {
    this.#notBeforeMs = performance.now() + Math.min(FAILURE_MS_MAX, FAILURE_MS_MIN * 2 ** this.#failures);
    this.#failures += 1;
  }

  /** No waiting any more. */
  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /**
   * Waits for the next turn, which is due at this time. Even one that is due already comes after timers and sockets had
   * theirs.
   */
  async next(dueMs: number): Promise<void> {
    const endedMs = performance.now();
    await rest();
    while (!this.#isEnded) {
      const latestMs = endedMs + (this.#isAwakeSoon ? MESSAGES_MS : WAIT_MS_MAX);
      const waitMs = Math.max(this.#notBeforeMs, this.#isAwake ? 0 : Math.min(dueMs, latestMs)) - performance.now();
      if (waitMs <= 0) break;
      await this.#wait(waitMs);
    }
    this.#isAwake = false;
    this.#isAwakeSoon = false;
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}
