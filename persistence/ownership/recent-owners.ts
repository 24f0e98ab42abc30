/** Who owned what a moment ago, so that calls in a row do not each read it. Bounded; wrong by as much as it is old. */
import type { Owner } from '../../api/forwarding/ports.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';

/** So long an owner is remembered, in ms: as old as what the loop of ownership saw last may be. */
export const RECENT_OWNER_MS = 1_000;

/** Clusters whose owner, and nodes whose cluster is remembered. The oldest are forgotten. */
export const RECENT_OWNERS_MAX = 10_000;
export const RECENT_NODES_MAX = 20_000;

/** Only what other admins own: what this one holds it knows. */
export class RecentOwners {
  readonly #owners = new Map<ClusterId, { readonly owner: Owner; readonly atMs: number }>();
  readonly #clusters = new Map<NodeId, ClusterId>();

  /** The cluster of a node, when it was read last; null: not known. */
  clusterOf(node: NodeId): ClusterId | null {
    return this.#clusters.get(node) ?? null;
  }

  /** Null: not known, or too long ago. */
  ownerOf(cluster: ClusterId, nowMs: number): Owner | null {
    const known = this.#owners.get(cluster);
    if (known === undefined) return null;
    const ageMs = nowMs - known.atMs;
    return ageMs >= 0 && ageMs < RECENT_OWNER_MS ? known.owner : null;
  }

  /** What was read of a node. Null: there is none. */
  isIn(node: NodeId, cluster: ClusterId | null): void {
    this.#clusters.delete(node);
    if (cluster === null) return;
    this.#clusters.set(node, cluster);
    forgetOldest(this.#clusters, RECENT_NODES_MAX);
  }

  /** What was read of a cluster. */
  owns(cluster: ClusterId, owner: Owner, atMs: number): void {
    this.#owners.delete(cluster);
    if (owner.type !== 'elsewhere') return;
    this.#owners.set(cluster, { owner, atMs });
    forgetOldest(this.#owners, RECENT_OWNERS_MAX);
  }
}

function forgetOldest<K>(map: Map<K, unknown>, max: number): void {
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
