/** So many at once, and of these so many for one holder: nobody has all places (L1). */

/** How many there are, and of these for one holder. */
export interface PlaceLimits {
  /** Default: no limit but that of each holder. */
  readonly placesMax?: number;
  readonly ofOneMax: number;
}

/**
 * Places, counted by whoever holds them: where that is an address, it is its `sourceNetwork`. Nobody has one at first.
 */
export class Places {
  readonly #placesMax: number;
  readonly #ofOneMax: number;
  /** Holders of one or more: it is no larger than what is held. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor({ placesMax = Infinity, ofOneMax }: PlaceLimits) {
    this.#placesMax = placesMax;
    this.#ofOneMax = ofOneMax;
  }

  /** Places that are held, by all together. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes one. The returned function gives it back; later calls of it do nothing. Null: all are taken, or this holder
   * has as many as one may have.
   */
  take(holder: string): (() => void) | null {
    const held = this.#held.get(holder) ?? 0;
    if (this.#taken >= this.#placesMax || held >= this.#ofOneMax) return null;
    this.#taken += 1;
    this.#held.set(holder, held + 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#giveBack(holder);
      isHeld = false;
    };
  }

  #giveBack(holder: string): void {
    const left = (this.#held.get(holder) ?? 1) - 1;
    this.#taken -= 1;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
  }
}
