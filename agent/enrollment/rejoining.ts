/** Joining again while admins do not know the node of this machine: one try at a time. */
import type { Log } from '../../transport/net/log.ts';
import type { Enrolled } from './joining.ts';

/** What a try takes. */
export interface RejoiningOptions {
  /** Null: it was of no use, and may be later. Rejects with one sentence. */
  readonly join: () => Promise<Enrolled | null>;
  readonly joined: (enrolled: Enrolled) => void;
  readonly log: Log;
}

/** No method throws. */
export class Rejoining {
  readonly #options: RejoiningOptions;
  #isUnderWay = false;

  constructor(options: RejoiningOptions) {
    this.#options = options;
  }

  /** Tries once, unless a try is under way. */
  begin(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    void this.#try().finally(() => {
      this.#isUnderWay = false;
    });
  }

  async #try(): Promise<void> {
    const { join, joined, log } = this.#options;
    try {
      const enrolled = await join();
      if (enrolled !== null) joined(enrolled);
    } catch (error) {
      log.error({}, (error as Error).message);
    }
  }
}
