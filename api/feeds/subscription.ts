/** What a subscriber of any live feed gets: messages with ids, from where it can go on after a cut. */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { FEED_RETRY_MS } from './limits.ts';

/** One message. `id` says how far the reader is once it has it; it gives the last one back to go on. */
export interface Tracked<M> {
  readonly id: string;
  readonly data: M;
}

/** How a subscriber comes in. */
export interface Subscriber {
  /** The last id it saw before a cut, if any. One that is unknown or too old gets a fresh snapshot. */
  readonly lastEventId?: string | undefined;
  /** Aborts when it is gone. */
  readonly signal: AbortSignal;
}

/** What is followed was deleted. A feed that has no message for this throws it, and its subscription ends refused. */
export class FollowedIsGone extends Error {
  override readonly name = 'FollowedIsGone';
}

/** Readers that wait for news. */
export interface Waiters {
  /** Resolves true at the next wake, false once the signal aborts. */
  wait(signal: AbortSignal): Promise<boolean>;
  wake(): void;
}

/** A fresh set of waiting readers. */
export function createWaiters(): Waiters {
  let waiting = new Set<(woken: boolean) => void>();
  return {
    wait(signal) {
      if (signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const settle = (woken: boolean): void => {
          signal.removeEventListener('abort', gone);
          resolve(woken);
        };
        const gone = (): void => {
          waiting.delete(settle);
          settle(false);
        };
        signal.addEventListener('abort', gone, { once: true });
        waiting.add(settle);
      });
    },
    wake() {
      const woken = waiting;
      waiting = new Set();
      for (const settle of woken) settle(true);
    },
  };
}

/** Reads until the database answers: a subscription outlives a pause of it. Null when the signal aborts first. */
export async function patiently<T>(clock: Clock, signal: AbortSignal, read: () => Promise<T>): Promise<T | null> {
  while (!signal.aborted) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      await new Promise<void>((resolve) => {
        clock.after(FEED_RETRY_MS, resolve);
      });
    }
  }
  return null;
}
