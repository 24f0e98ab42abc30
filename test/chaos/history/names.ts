/** Names for which clients contend: few at a time, so that they meet, and new ones again and again. */
import type { Named, Resource } from './history.ts';

/**
 * Times that a name is drawn before another takes its place. Source: an order of some tens of calls is found at once.
 */
const DRAWN_MAX = 24;

/** One of them, with what is known of it now. */
export interface Place {
  readonly of: Named;
  /** The cluster whose owner does what is asked of it; null: it has none. */
  readonly cluster: string | null;
  /** The node that it is of, where it is of one. */
  readonly node: string | null;
  /** Its id, as somebody was told last. */
  id: string | null;
  /** Of an enrolment key: what a machine comes with. */
  blob: string | null;
}

/** Of what a name is: decided by its place, so that all that want it mean the same. */
export type Ground = (place: number) => Pick<Place, 'cluster' | 'node'> & { readonly scope: string };

/** Names of one kind. */
export class Names {
  readonly #resource: Resource;
  readonly #ground: Ground;
  readonly #places: { drawn: number; round: number; place: Place }[];

  /** So many at a time. */
  constructor(resource: Resource, count: number, ground: Ground) {
    this.#resource = resource;
    this.#ground = ground;
    this.#places = Array.from({ length: count }, (_, index) => ({ drawn: 0, round: 0, place: this.#new(index, 0) }));
  }

  /** One of them, by a whole number from 0 on. */
  draw(number: number): Place {
    const index = number % this.#places.length;
    const one = this.#places[index];
    if (one === undefined) throw new Error('there are no names');
    one.drawn += 1;
    if (one.drawn > DRAWN_MAX) {
      one.drawn = 1;
      one.round += 1;
      one.place = this.#new(index, one.round);
    }
    return one.place;
  }

  /** All that there are now. */
  all(): readonly Place[] {
    return this.#places.map(({ place }) => place);
  }

  #new(index: number, round: number): Place {
    const { scope, cluster, node } = this.#ground(index);
    const resource = this.#resource;
    const name = `${resource.slice(0, 3)}-${index}-${round}`;
    // A cluster is its own owner's.
    const own = resource === 'cluster' ? name : cluster;
    return { of: { resource, scope, name }, cluster: own, node, id: null, blob: null };
  }
}
