/** When an idle agent has an exec shim wait for its next execution. */
import type { ExecShims } from './exec-shims.ts';

/** So long after the last execution, in ms: not while a fan-out to many agents of one machine is under way. */
const PARK_AFTER_MS = 250;

/** One timer, which does not hold the program open. */
export class Parking {
  readonly #shims: Pick<ExecShims, 'park'>;
  #timer: NodeJS.Timeout | null = null;

  constructor(shims: Pick<ExecShims, 'park'>) {
    this.#shims = shims;
  }

  /** In PARK_AFTER_MS from now on, whatever was planned before. */
  later(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#shims.park(), PARK_AFTER_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
