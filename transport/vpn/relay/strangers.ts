/** Connections to a relay that did not prove their key yet, counted. */
import { STRANGERS_MAX, STRANGERS_OF_ADDRESS_MAX } from './limits.ts';

/** In all, and from each address. */
export class Strangers {
  readonly #ofAddress = new Map<string, number>();
  #count = 0;

  /** Whether there is room for one more from this address. */
  hasRoomFor(address: string): boolean {
    return this.#count < STRANGERS_MAX && (this.#ofAddress.get(address) ?? 0) < STRANGERS_OF_ADDRESS_MAX;
  }

  /** One more. The returned function says that it is none any more; later calls of it do nothing. */
  add(address: string): () => void {
    this.#count += 1;
    this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? 0) + 1);
    let isStranger = true;
    return () => {
      if (isStranger) this.#remove(address);
      isStranger = false;
    };
  }

  #remove(address: string): void {
    this.#count -= 1;
    const left = (this.#ofAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
  }
}
