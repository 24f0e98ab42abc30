/** Which groups a node is in, as far as that can be told without asking. Pure. */
import type { NodeResource } from '../../actors/resources/node.ts';
import type { Targeting } from '../../actors/targeting-schema.ts';

/**
 * Whether a targeting reaches a node; where labels or filters decide it, the targeting by which the service is asked.
 */
export function reachOf(targeting: Targeting, node: Pick<NodeResource, 'id' | 'cluster_name'>): boolean | Targeting {
  const { type, node_ids: ids, cluster_names: clusters, group: _group, ...narrowing } = targeting;
  if (type === 'nodes' && ids?.includes(node.id) !== true) return false;
  if (type === 'clusters' && clusters?.includes(node.cluster_name) !== true) return false;
  return Object.keys(narrowing).length === 0 || { type: 'nodes', node_ids: [node.id], ...narrowing };
}
