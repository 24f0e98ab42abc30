/**
 * Which clusters should change their owner while all live: to make room for one that fits nowhere, else so that all
 * admins own about as many. Pure and deterministic. Who carries it out looks again afterwards.
 */
import { movesForOrphan } from './orphan-moves.ts';
import {
  assign,
  compareText,
  roomOf,
  type ClusterSize,
  type Holding,
  type Move,
  type PlacedCluster,
} from './placement.ts';

/** A live admin, as whoever plans moves sees it. */
export interface PlacedAdmin {
  readonly id: string;
  /** Nodes that it may own (actors/edge-capacity.ts). */
  readonly capacity: number;
  /** For how long it has been there, in ms. */
  readonly aliveMs: number;
  /** False: it is counted as alive only since whoever plans was not there to see its silence. */
  readonly isHeard: boolean;
  /** It gives all away and takes nothing. */
  readonly isDraining: boolean;
  /** Version of what admins say to each other; null: one that cannot be talked to. */
  readonly linkVersion: number | null;
}

/** An admin that has been there for less gets nothing by balancing yet, in ms: it may be one that keeps crashing. */
export const SETTLED_MS_MIN = 60_000;

/** Admins whose numbers of clusters differ by less are left alone: whoever moves one then moves it back next. */
export const DIFFERENCE_MIN = 2;

/** The same as a share of their mean, where they have many. */
export const DIFFERENCE_SHARE_MIN = 0.05;

/** Most clusters that are moved at a time, as a share of all; at least one. */
export const MOVED_SHARE_MAX = 0.1;

/** Orphans for which one look seeks room, each of another size: where there are more, others have the next turn. */
export const ORPHANS_A_LOOK_MAX = 4;

/** How long a turn lasts, in ms: every admin looks within it, and once more whether all is at rest. */
export const ORPHANS_TURN_MS = 4_000;

/**
 * The moves of one round; none: it may rest. They hold in any order and side by side: no admin is beyond its capacity
 * meanwhile. Only admins that are heard and of this link version give and take, and only those that have been there for
 * `settledMs` by balancing. None at all while a cluster is about to be taken over, or
 * fits nowhere and no move would change that.
 */
export function planned(
  admins: readonly PlacedAdmin[],
  clusters: readonly PlacedCluster[],
  linkVersion: number,
  settledMs: number = SETTLED_MS_MIN,
): readonly Move[] {
  const live = new Set(admins.map(({ id }) => id));
  if (clusters.some(({ owner }) => owner !== null && !live.has(owner))) return [];
  const holdings = admins.filter(({ isDraining }) => !isDraining).map((admin) => holdingOf(admin, clusters));
  const free = clusters.filter(({ owner }) => owner === null);
  if (assign(free, holdings).size > 0) return [];
  const movers = (isOne: (admin: PlacedAdmin) => boolean): readonly Holding[] => {
    const ids = new Set(
      admins.filter((admin) => admin.isHeard && admin.linkVersion === linkVersion && isOne(admin)).map(({ id }) => id),
    );
    return holdings.filter(({ id }) => ids.has(id));
  };
  if (free.length > 0)
    return roomFor(
      inTurn(free, admins),
      movers(() => true),
    );
  return balanced(movers(({ aliveMs }) => aliveMs >= settledMs));
}

function holdingOf({ id, capacity }: PlacedAdmin, clusters: readonly PlacedCluster[]): Holding {
  const owned = clusters.filter(({ owner }) => owner === id);
  return {
    id,
    capacity,
    clusters: owned.length,
    nodes: owned.reduce((sum, { nodes }) => sum + nodes, 0),
    movable: owned.filter(({ isBusy }) => !isBusy).sort((a, b) => a.nodes - b.nodes || compareText(a.name, b.name)),
  };
}

/**
 * One of each size, the largest first, and of many those whose turn it is: by the database's clock, so that all admins
 * look at the same.
 */
function inTurn(orphans: readonly ClusterSize[], admins: readonly PlacedAdmin[]): readonly ClusterSize[] {
  const ordered = orphans.toSorted((a, b) => b.nodes - a.nodes || compareText(a.name, b.name));
  const ofEachSize = ordered.filter(({ nodes }, index) => ordered[index - 1]?.nodes !== nodes);
  const turns = Math.ceil(ofEachSize.length / ORPHANS_A_LOOK_MAX);
  const turn = Math.floor(Math.max(0, ...admins.map(({ aliveMs }) => aliveMs)) / ORPHANS_TURN_MS) % turns;
  return ofEachSize.slice(turn * ORPHANS_A_LOOK_MAX, (turn + 1) * ORPHANS_A_LOOK_MAX);
}

/** For the largest that can be helped. */
function roomFor(orphans: readonly ClusterSize[], holdings: readonly Holding[]): readonly Move[] {
  for (const orphan of orphans) {
    const moves = movesForOrphan(orphan, holdings);
    if (moves.length > 0) return moves;
  }
  return [];
}

/** An admin while moves are chosen. */
interface Side {
  readonly id: string;
  /** What it gives in this round makes no room in it: moves are carried out side by side. */
  room: number;
  clusters: number;
  readonly movable: PlacedCluster[];
}

/** From whoever owns most to whoever owns fewest, the smallest first: it is the soonest done. */
function balanced(holdings: readonly Holding[]): readonly Move[] {
  const sides = holdings.map((holding): Side => ({
    id: holding.id,
    room: roomOf(holding),
    clusters: holding.clusters,
    movable: [...holding.movable],
  }));
  const total = sides.reduce((sum, { clusters }) => sum + clusters, 0);
  const differenceMin = Math.max(DIFFERENCE_MIN, (total / sides.length) * DIFFERENCE_SHARE_MIN);
  const moves: Move[] = [];
  while (moves.length < Math.max(1, Math.floor(total * MOVED_SHARE_MAX))) {
    const move = widest(sides, differenceMin);
    if (move === null) break;
    const { from, to, cluster } = move;
    from.clusters -= 1;
    from.movable.shift();
    to.clusters += 1;
    to.room -= cluster.nodes;
    moves.push({ cluster: cluster.cluster, from: from.id, to: to.id });
  }
  return moves;
}

/** The two that differ most, and the smallest cluster of the one, where it fits the other; null when there are none. */
function widest(
  sides: readonly Side[],
  differenceMin: number,
): { readonly from: Side; readonly to: Side; readonly cluster: PlacedCluster } | null {
  const pairs = sides.flatMap((from) =>
    sides.flatMap((to) => {
      const [cluster] = from.movable;
      const fits = cluster !== undefined && to.room >= Math.max(1, cluster.nodes);
      return fits && from.clusters - to.clusters >= differenceMin ? [{ from, to, cluster }] : [];
    }),
  );
  pairs.sort(
    (a, b) =>
      b.from.clusters - b.to.clusters - (a.from.clusters - a.to.clusters) ||
      a.cluster.nodes - b.cluster.nodes ||
      b.to.room - a.to.room ||
      compareText(a.from.id, b.from.id) ||
      compareText(a.to.id, b.to.id),
  );
  return pairs[0] ?? null;
}
