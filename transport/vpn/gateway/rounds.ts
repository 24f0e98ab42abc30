/** Rounds in which the gateway compares what is with what should be. */
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../net/log.ts';

/** What is compared with what should be so often, in ms: a cluster that is not owned any more is left within it. */
export const GATEWAY_ROUND_MS = 500;

/**
 * News of VPNs that come within this are taken together, in ms: an admin that takes over a thousand clusters hears of
 * each.
 */
const GATHER_MS = 20;

/** One round after another, and never more than one that waits. */
export class Rounds {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #compare: () => Promise<void>;
  #isGathering = false;
  #isWaiting = false;
  #isOver = false;
  #working: Promise<void> = Promise.resolve();
  #cancelNext: () => void;

  /** Begins at once. */
  constructor(clock: Clock, log: Log, compare: () => Promise<void>) {
    this.#clock = clock;
    this.#log = log;
    this.#compare = compare;
    this.#cancelNext = clock.after(GATEWAY_ROUND_MS, () => this.#regular());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** There is news. */
  soon(): void {
    if (this.#isGathering || this.#isOver) return;
    this.#isGathering = true;
    this.#clock.after(GATHER_MS, () => {
      this.#isGathering = false;
      this.#next();
    });
  }

  /** Resolves when the last round is over. Never rejects. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancelNext();
    await this.#working;
  }

  #regular(): void {
    this.#next();
    this.#cancelNext = this.#clock.after(GATEWAY_ROUND_MS, () => this.#regular());
  }

  #next(): void {
    if (this.#isWaiting || this.#isOver) return;
    this.#isWaiting = true;
    this.#working = this.#after(this.#working);
  }

  async #after(before: Promise<void>): Promise<void> {
    await before;
    this.#isWaiting = false;
    try {
      if (!this.#isOver) await this.#compare();
    } catch (error) {
      this.#log.error({ error }, 'the gateway failed: trying again');
    }
  }
}
