/** The fsync that ends are given when nothing else has brought them onto the disk by then. */

/** A result that no admin has confirmed by then is forced onto the disk, in ms. */
const SYNC_AFTER_MS = 100;

/** One for all that is written meanwhile. */
export class LateSync {
  readonly #sync: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(sync: () => void) {
    this.#sync = sync;
  }

  /** Syncs after SYNC_AFTER_MS, once. */
  arm(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#sync();
    }, SYNC_AFTER_MS).unref();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
