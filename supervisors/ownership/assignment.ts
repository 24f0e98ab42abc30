/**
 * Which free cluster goes to which admin. Pure and deterministic: every admin that sees the same rows comes to the same
 * answer.
 */

/** A live admin: nodes it has room for, and what it owns already. */
export interface AdminLoad {
  readonly id: string;
  readonly capacity: number;
  readonly clusters: number;
  readonly nodes: number;
}

/** A cluster without an owner. */
export interface ClusterSize {
  readonly cluster: string;
  readonly name: string;
  readonly nodes: number;
}

/**
 * Assigns clusters by size descending, then name, each to the admin with fewest clusters, then most remaining capacity,
 * then a hash.
 * A cluster that fits nowhere is assigned to nobody. Source: docs/architecture.md, Ownership.
 */
export function assign(clusters: readonly ClusterSize[], admins: readonly AdminLoad[]): ReadonlyMap<string, string> {
  const loads = admins.map((admin) => ({ ...admin }));
  const assigned = new Map<string, string>();
  const ordered = [...clusters].sort((a, b) => b.nodes - a.nodes || compare(a.name, b.name));
  for (const cluster of ordered) {
    const fitting = loads.filter((admin) => admin.capacity - admin.nodes >= cluster.nodes);
    const best = fitting.sort(
      (a, b) =>
        a.clusters - b.clusters ||
        b.capacity - b.nodes - (a.capacity - a.nodes) ||
        hash(`${cluster.name}/${a.id}`) - hash(`${cluster.name}/${b.id}`) ||
        compare(a.id, b.id),
    )[0];
    if (best === undefined) continue;
    assigned.set(cluster.cluster, best.id);
    best.clusters += 1;
    best.nodes += cluster.nodes;
  }
  return assigned;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** FNV-1a, 32 bits: spreads ties, nothing more. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
