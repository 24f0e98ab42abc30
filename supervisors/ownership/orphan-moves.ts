/**
 * Room for a cluster that fits nowhere: smaller ones of one admin go to others, so that it fits there. Never by
 * throwing one out: what is moved keeps an owner. Pure.
 */
import { compareText, roomOf, type ClusterSize, type Holding, type Move, type PlacedCluster } from './placement.ts';

/** Most clusters that are moved for one. What takes more is for an operator to look at. */
export const ORPHAN_MOVES_MAX = 3;

/** A choice of clusters to move from one admin, and how many nodes that are. */
interface Choice {
  readonly moves: readonly Move[];
  readonly nodes: number;
  readonly from: string;
}

/**
 * The fewest moves of clusters that are smaller than the orphan, of those the one with fewest nodes; none when
 * ORPHAN_MOVES_MAX do not suffice. What is moved goes to where it fits as things are: nothing is moved on for it.
 */
export function movesForOrphan(orphan: ClusterSize, holdings: readonly Holding[]): readonly Move[] {
  for (let count = 1; count <= ORPHAN_MOVES_MAX; count += 1) {
    const choices = holdings.flatMap((holding) => smallestChoice(orphan, holding, holdings, count) ?? []);
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
): Choice | null {
  const missing = orphan.nodes - roomOf(holding);
  const rooms = holdings
    .filter(({ id }) => id !== holding.id)
    .map((other) => ({ id: other.id, room: roomOf(other) }))
    .sort((a, b) => b.room - a.room || compareText(a.id, b.id))
    .slice(0, ORPHAN_MOVES_MAX); // so many clusters fit nowhere that they do not fit there
  const smaller = holding.movable
    .filter(({ nodes }) => nodes > 0 && nodes < orphan.nodes)
    .filter(({ nodes }, index, all) => all[index - ORPHAN_MOVES_MAX]?.nodes !== nodes); // more of one size say nothing new
  let best: Choice | null = null;
  for (const chosen of choices(smaller, count, missing)) {
    const nodes = chosen.reduce((sum, cluster) => sum + cluster.nodes, 0);
    if (best !== null && best.nodes <= nodes) continue;
    const moves = placed(chosen.toReversed(), rooms, holding.id);
    if (moves !== null) best = { moves, nodes, from: holding.id };
  }
  return best;
}

/**
 * Every so many of these, the smallest first, that have `missing` nodes together. Of those that differ in the last
 * one only the smallest: where it does not fit, a larger one does not either.
 */
function* choices(
  clusters: readonly PlacedCluster[],
  count: number,
  missing: number,
): Generator<readonly PlacedCluster[]> {
  if (count === 1) {
    const last = clusters.find(({ nodes }) => nodes >= missing);
    if (last !== undefined) yield [last];
    return;
  }
  for (const [index, first] of clusters.entries())
    for (const others of choices(clusters.slice(index + 1), count - 1, missing - first.nodes)) yield [first, ...others];
}

/** Each to where it fits; null when they do not all fit. */
function placed(
  [cluster, ...others]: readonly PlacedCluster[],
  rooms: readonly { readonly id: string; readonly room: number }[],
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
