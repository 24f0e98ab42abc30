/**
 * Which cluster belongs to which admin: those that are free here, those that change their owner in `moves.ts`. Pure and
 * deterministic: every admin that sees the same rows comes to the same answer.
 */

/** A live admin: nodes it has room for (actors/edge-capacity.ts), and what it owns already. */
export interface AdminLoad {
  readonly id: string;
  readonly capacity: number;
  readonly clusters: number;
  readonly nodes: number;
}

/** A cluster and how many nodes it has. */
export interface ClusterSize {
  readonly cluster: string;
  readonly name: string;
  readonly nodes: number;
}

/** A cluster with its owner; null: nobody. */
export interface PlacedCluster extends ClusterSize {
  readonly owner: string | null;
  /** Not to be moved now: a node of it is being moved, or it has much under way. */
  readonly isBusy: boolean;
}

/** An admin with the clusters that may leave it, the smallest first. */
export interface Holding extends AdminLoad {
  readonly movable: readonly PlacedCluster[];
}

/** One cluster from one admin to another. */
export interface Move {
  readonly cluster: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Assigns clusters by size descending, then name, each to the admin with fewest clusters, then most remaining capacity,
 * then a hash. An empty one goes to an admin that has room for its first node, if there is one.
 * A cluster that fits nowhere is assigned to nobody. Source: docs/architecture/several-admins.md, Ownership.
 */
export function assign(clusters: readonly ClusterSize[], admins: readonly AdminLoad[]): ReadonlyMap<string, string> {
  const loads = admins.map((admin) => ({ ...admin }));
  const assigned = new Map<string, string>();
  const ordered = [...clusters].sort((a, b) => b.nodes - a.nodes || compareText(a.name, b.name));
  for (const cluster of ordered) {
    const fitting = loads.filter((admin) => roomOf(admin) >= cluster.nodes);
    const roomy = fitting.filter((admin) => roomOf(admin) > 0);
    const best = (roomy.length > 0 ? roomy : fitting).sort(
      (a, b) =>
        a.clusters - b.clusters ||
        roomOf(b) - roomOf(a) ||
        hash(`${cluster.name}/${a.id}`) - hash(`${cluster.name}/${b.id}`) ||
        compareText(a.id, b.id),
    )[0];
    if (best === undefined) continue;
    assigned.set(cluster.cluster, best.id);
    best.clusters += 1;
    best.nodes += cluster.nodes;
  }
  return assigned;
}

/** How many nodes more it may own. Below 0 where it owns too many: an admin more leaves each a peer less. */
export function roomOf({ capacity, nodes }: Pick<AdminLoad, 'capacity' | 'nodes'>): number {
  return capacity - nodes;
}

/** By code units: the same order at every admin, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** FNV-1a, 32 bits: spreads ties, nothing more. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
