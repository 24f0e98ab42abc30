/**
 * Room for a cluster that fits nowhere: smaller ones of one admin go to others, so that it fits there. Never by
 * throwing one out: what is moved keeps an owner. Pure.
 */
import { compareText, roomOf, type ClusterSize, type Holding, type Move, type PlacedCluster } from './placement.ts';

/** Most clusters that are moved for one. What takes more is for an operator to look at. */
export const ORPHAN_MOVES_MAX = 3;

/**
 * Choices of clusters that are tried for one orphan: about all that there are with seven admins whose clusters have 130
 * sizes. A look takes some 20 ms of processor time at most, with ORPHANS_A_LOOK_MAX orphans (measured).
 */
export const ORPHAN_CHOICES_MAX = 60_000;

/** A choice of clusters to move from one admin, and how many nodes that are. */
interface Choice {
  readonly moves: readonly Move[];
  readonly nodes: number;
  readonly from: string;
}

/** Choices that may be tried still. */
interface Budget {
  choices: number;
}

/** How many nodes more an admin may own. */
interface Room {
  readonly id: string;
  readonly room: number;
}

/**
 * The fewest moves of clusters that are smaller than the orphan, of those the one with fewest nodes; none when
 * ORPHAN_MOVES_MAX do not suffice, or ORPHAN_CHOICES_MAX choices were none. What is moved goes to where it fits as
 * things are: nothing is moved on for it.
 */
export function movesForOrphan(orphan: ClusterSize, holdings: readonly Holding[]): readonly Move[] {
  const budget: Budget = { choices: ORPHAN_CHOICES_MAX };
  for (let count = 1; count <= ORPHAN_MOVES_MAX; count += 1) {
    const choices = holdings.flatMap((holding) => smallestChoice(orphan, holding, holdings, count, budget) ?? []);
    const [best] = choices.sort((a, b) => a.nodes - b.nodes || compareText(a.from, b.from));
    if (best !== undefined) return best.moves;
  }
  return [];
}

function smallestChoice(
  orphan: ClusterSize,
  holding: Holding,
  holdings: readonly Holding[],
  count: number,
  budget: Budget,
): Choice | null {
  const missing = orphan.nodes - roomOf(holding);
  const rooms = holdings
    .filter(({ id }) => id !== holding.id)
    .map((other): Room => ({ id: other.id, room: roomOf(other) }))
    .sort((a, b) => b.room - a.room || compareText(a.id, b.id))
    .slice(0, ORPHAN_MOVES_MAX); // so many clusters fit nowhere that they do not fit there
  const nodesMax = Math.min(orphan.nodes - 1, rooms[0]?.room ?? 0);
  const smaller = holding.movable
    .filter(({ nodes }) => nodes > 0 && nodes <= nodesMax)
    .filter(({ nodes }, index, all) => all[index - ORPHAN_MOVES_MAX]?.nodes !== nodes); // more of one size say nothing new
  const search = new ChoiceSearch(smaller, rooms, missing, budget);
  const chosen = search.smallest(count);
  const moves = chosen === null ? null : placed(chosen.toReversed(), rooms, holding.id);
  return chosen === null || moves === null ? null : { moves, nodes: nodesOf(chosen), from: holding.id };
}

/**
 * Looks for so many of the clusters, which come the smallest first, that have `missing` nodes together, and few, and
 * fit into the rooms. Makes nothing anew for a choice, of which there are many.
 */
class ChoiceSearch {
  readonly #clusters: readonly PlacedCluster[];
  readonly #sizes: readonly number[];
  /** Nodes that fit still, at each. */
  readonly #rooms: number[];
  readonly #missing: number;
  readonly #budget: Budget;
  readonly #chosen: number[] = [];
  #best: readonly number[] | null = null;
  #bestNodes = Infinity;

  constructor(clusters: readonly PlacedCluster[], rooms: readonly Room[], missing: number, budget: Budget) {
    this.#clusters = clusters;
    this.#sizes = clusters.map(({ nodes }) => nodes);
    this.#rooms = rooms.map(({ room }) => room);
    this.#missing = missing;
    this.#budget = budget;
  }

  /** The smallest first; null: there are none, as far as was looked. */
  smallest(count: number): readonly PlacedCluster[] | null {
    this.#choose(0, count, 0);
    return this.#best?.flatMap((index) => this.#clusters[index] ?? []) ?? null;
  }

  /** Goes on with so many more of those from this one on. `nodes`: of those that are chosen. */
  #choose(from: number, count: number, nodes: number): void {
    if (count === 1) return this.#chooseLast(from, nodes);
    for (let index = from; index + count <= this.#sizes.length && this.#budget.choices > 0; index += 1) {
      const size = this.#sizeOf(index);
      if (index > from && size === this.#sizeOf(index - 1)) continue;
      if (nodes + size * count >= this.#bestNodes) return; // as are all that come next
      this.#budget.choices -= 1;
      this.#chosen.push(index);
      this.#choose(index + 1, count - 1, nodes + size);
      this.#chosen.pop();
    }
  }

  /** Of those that differ in the last one only the smallest: where it does not fit, a larger one does not either. */
  #chooseLast(from: number, nodes: number): void {
    let [index, end] = [from, this.#sizes.length];
    while (index < end) {
      const middle = (index + end) >> 1;
      if (nodes + this.#sizeOf(middle) >= this.#missing) end = middle;
      else index = middle + 1;
    }
    if (index === this.#sizes.length || nodes + this.#sizeOf(index) >= this.#bestNodes) return;
    this.#chosen.push(index);
    if (this.#fits(this.#chosen.length - 1)) {
      this.#best = [...this.#chosen];
      this.#bestNodes = nodes + this.#sizeOf(index);
    }
    this.#chosen.pop();
  }

  /** Whether those that are chosen, up to this one, have their places: the largest is placed first. */
  #fits(place: number): boolean {
    if (place < 0) return true;
    const size = this.#sizeOf(this.#chosen[place] ?? 0);
    for (let at = 0; at < this.#rooms.length; at += 1) {
      const room = this.#rooms[at] ?? 0;
      if (room < size) continue;
      this.#rooms[at] = room - size;
      const isPlaced = this.#fits(place - 1);
      this.#rooms[at] = room;
      if (isPlaced) return true;
    }
    return false;
  }

  #sizeOf(index: number): number {
    return this.#sizes[index] ?? 0;
  }
}

/** Each to where it fits; null when they do not all fit. */
function placed(
  [cluster, ...others]: readonly PlacedCluster[],
  rooms: readonly Room[],
  from: string,
): readonly Move[] | null {
  if (cluster === undefined) return [];
  for (const to of rooms) {
    if (to.room < cluster.nodes) continue;
    const left = rooms.map((one) => (one === to ? { ...one, room: one.room - cluster.nodes } : one));
    const moves = placed(others, left, from);
    if (moves !== null) return [{ cluster: cluster.cluster, from, to: to.id }, ...moves];
  }
  return null;
}

function nodesOf(clusters: readonly PlacedCluster[]): number {
  return clusters.reduce((sum, { nodes }) => sum + nodes, 0);
}
