/** The question for what this machine misses of its VPN: once, however many changes come that it cannot follow. */
import type { SessionClock } from '../session/ports.ts';

/** A question that got no answer is asked again after this, in ms: the one that was asked may be gone. */
const ASK_AGAIN_MS = 10_000;

/** At most one is open. */
export class Question {
  readonly #clock: SessionClock;
  readonly #say: () => void;
  #cancel: (() => void) | null = null;

  constructor(clock: SessionClock, say: () => void) {
    this.#clock = clock;
    this.#say = say;
  }

  /** Each question has all that is missed as its answer: another one while it is open would have that twice. */
  ask(): void {
    if (this.#cancel !== null) return;
    this.#cancel = this.#clock.after(ASK_AGAIN_MS, () => {
      this.close();
      this.ask();
    });
    this.#say();
  }

  /** The answer came, or nobody wants it any more. */
  close(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
