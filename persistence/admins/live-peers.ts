/** Whether there are other admins, as far as this one knows without asking. */
import { HERE_EVERY_MS } from './peer-presence.ts';

/** How long a word of another admin counts, in ms: by then the survey of leases has seen it, if it lives. */
const HEARD_MS = 2 * HERE_EVERY_MS;

/** Nobody is known at first. */
export class LivePeers {
  readonly #adminId: string;
  readonly #monotonicMs: () => number;
  #isSeen = false;
  #heardMs = -HEARD_MS;

  constructor(adminId: string, monotonicMs: () => number) {
    this.#adminId = adminId;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * False: this admin is alone. One that came since the last survey of leases, which is each second, has said so before
   * it owned anything.
   */
  areThere(): boolean {
    return this.#isSeen || this.#monotonicMs() - this.#heardMs < HEARD_MS;
  }

  /** These live, as the rows have it. */
  surveyed(admins: readonly { readonly id: string }[]): void {
    this.#isSeen = admins.some(({ id }) => id !== this.#adminId);
  }

  /** This one said that it is here. */
  heard(adminId: string): void {
    if (adminId !== this.#adminId) this.#heardMs = this.#monotonicMs();
  }
}
