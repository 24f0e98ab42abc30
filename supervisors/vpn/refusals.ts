/** What the VPN manager did not do in earlier rounds: tried again behind all else, so that nothing waits for it. */

import type { NodeId } from '../../transport/protocol/ids.ts';

/** So many are remembered; those that were tried longest ago are forgotten beyond, and tried as if they were new. */
export const REFUSALS_MAX = 10_000;

/** By their keys, whatever was tried longest ago first. */
export class Refusals<Key extends string> {
  readonly #keys = new Set<Key>();

  /** In the order in which they are to be tried again. */
  keys(): readonly Key[] {
    return [...this.#keys];
  }

  /** It was tried and not done. */
  add(key: Key): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    const [first] = this.#keys;
    if (this.#keys.size > REFUSALS_MAX && first !== undefined) this.#keys.delete(first);
  }

  /** It was done. */
  delete(key: Key): void {
    this.#keys.delete(key);
  }

  /** Nothing else is to be done any more. */
  keepOnly(keys: ReadonlySet<Key>): void {
    for (const key of this.#keys) if (!keys.has(key)) this.#keys.delete(key);
  }

  /** These as they stand, and behind them those that were not done before. */
  lastOf<Thing>(things: readonly Thing[], keyOf: (thing: Thing) => Key): readonly Thing[] {
    const refused = new Map<Key, Thing>();
    const others: Thing[] = [];
    for (const thing of things) {
      if (this.#keys.has(keyOf(thing))) refused.set(keyOf(thing), thing);
      else others.push(thing);
    }
    return [...others, ...this.keys().flatMap((key) => refused.get(key) ?? [])];
  }
}

/** Of moves, by their nodes, and of repairs. */
export interface RoundRefusals {
  readonly moves: Refusals<NodeId>;
  readonly repairs: Refusals<string>;
}

/** Nothing was refused yet. */
export function noRefusals(): RoundRefusals {
  return { moves: new Refusals(), repairs: new Refusals() };
}
