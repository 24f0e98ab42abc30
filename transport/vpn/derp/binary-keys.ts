/** Public keys in the form in which frames carry them, remembered for the next packet. */
import { keyOf } from './box.ts';

/** Remembers so many at most. */
export class BinaryKeys {
  readonly #keysMax: number;
  readonly #known = new Map<string, Buffer>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Null: this text is no key. */
  of(publicKey: string): Buffer | null {
    const known = this.#known.get(publicKey);
    if (known !== undefined) return known;
    const key = keyOf(publicKey);
    if (key === null) return null;
    if (this.#known.size >= this.#keysMax) this.#known.clear();
    this.#known.set(publicKey, key);
    return key;
  }
}
