/** What was started, to be stopped in the opposite order: at the end, or when the start fails half-way. */
import type { Log } from './log.ts';

export interface Unwind {
  /** Remembers how to stop what was just started. */
  add(what: string, stop: () => Promise<void> | void): void;
  /** Stops everything, last first. What fails to stop is logged, and the rest is still stopped. */
  run(): Promise<void>;
}

/** Nothing started yet. */
export function createUnwind(log: Log): Unwind {
  const stops: { readonly what: string; readonly stop: () => Promise<void> | void }[] = [];
  return {
    add(what, stop) {
      stops.push({ what, stop });
    },
    async run() {
      for (let one = stops.pop(); one !== undefined; one = stops.pop()) {
        try {
          await one.stop();
          log.debug({ what: one.what }, 'stopped');
        } catch (error) {
          log.warn({ error, what: one.what }, 'could not be stopped in order');
        }
      }
    },
  };
}
