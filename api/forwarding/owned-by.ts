/** Whose owner an operation needs, where its input names something of a node or a cluster. */
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { OwnedBy } from './ports.ts';

/** The node that was found; null: none. */
export async function ownerOfNode(node: Promise<NodeId | null>): Promise<OwnedBy | null> {
  const id = await node;
  return id === null ? null : { kind: 'node', id };
}

/** The cluster that was found; null: none. */
export async function ownerOfCluster(cluster: Promise<ClusterId | null>): Promise<OwnedBy | null> {
  const id = await cluster;
  return id === null ? null : { kind: 'cluster', id };
}
