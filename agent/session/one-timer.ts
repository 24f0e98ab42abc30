/** The one timer of a session. */
import type { SessionClock } from './ports.ts';

/** Whatever is set takes the place of what was set before. */
export class OneTimer {
  readonly #clock: Pick<SessionClock, 'after'>;
  #cancel: (() => void) | null = null;

  constructor(clock: Pick<SessionClock, 'after'>) {
    this.#clock = clock;
  }

  /** Calls `act` once after `ms`. */
  set(ms: number, act: () => void): void {
    this.clear();
    this.#cancel = this.#clock.after(ms, act);
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
