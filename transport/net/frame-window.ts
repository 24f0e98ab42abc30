/**
 * What one peer may send, counted so that whoever keeps sending more than its share is over it within 2 s, however
 * little more it is (L1). A token bucket has no such bound: with room for a burst of B beside a share of R a second, a
 * rate of R + x is over it after B / x seconds. Here a burst is what the share allows in the window, and no more.
 */

/** A window is so many slots of so many ms, of which the newest is under way. */
const SLOTS = 7;
const SLOT_MS = 250;

/** What a share of one a second allows in a window, and so in one go. */
export const WINDOW_SECONDS = (SLOTS * SLOT_MS) / 1_000;

/**
 * Steady senders that are above their share are over it after this at the latest, in ms: they may begin amid a slot.
 */
export const OVER_WITHIN_MS = (SLOTS + 1) * SLOT_MS;

/** What came lately from one peer. A class, because there are ten thousand of them. */
export class FrameWindow {
  readonly #countMax: number;
  readonly #slots: number[] = Array.from({ length: SLOTS }, () => 0);
  #slot = 0;
  #count = 0;

  constructor(perSecondMax: number) {
    this.#countMax = perSecondMax * WINDOW_SECONDS;
  }

  /** So many more. False: these are too many, and were not counted. A clock that is set back forgets nothing early. */
  take(frames: number, nowMs: number): boolean {
    this.#pass(Math.floor(nowMs / SLOT_MS));
    if (this.#count + frames > this.#countMax) return false;
    this.#count += frames;
    this.#slots[this.#slot % SLOTS] = (this.#slots[this.#slot % SLOTS] ?? 0) + frames;
    return true;
  }

  #pass(slot: number): void {
    const last = Math.min(slot, this.#slot + SLOTS);
    for (let passed = this.#slot + 1; passed <= last; passed += 1) {
      this.#count -= this.#slots[passed % SLOTS] ?? 0;
      this.#slots[passed % SLOTS] = 0;
    }
    this.#slot = slot;
  }
}
