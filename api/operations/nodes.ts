/** Nodes and their recovery keys. */
import { z } from 'zod';
import type { ReplyTo } from '../../actors/reply-to.ts';
import type { NodeMessage } from '../../actors/node/messages.ts';
import { refuse, type Result } from '../../actors/refusal.ts';
import { NodeResource, RecoveryKeyResource } from '../../actors/resources/node.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation, type Call } from '../operation.ts';
import { ownerOfNode } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';

export const list_nodes = operation({
  name: 'list_nodes',
  kind: 'query',
  summary: 'List nodes.',
  rest: { method: 'GET', path: '/nodes', status: 200 },
  list: true,
  input: listInput('nodes'),
  output: NodeResource,
  handle: (query, { ports }) => page(ports.reads.list('nodes', query)),
});

export const get_node = operation({
  name: 'get_node',
  kind: 'query',
  summary: 'Get a node.',
  rest: { method: 'GET', path: '/nodes/:id', status: 200 },
  input: z.strictObject({ id: NodeIdInput }),
  output: NodeResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('nodes', id)),
});

export const delete_node = operation({
  name: 'delete_node',
  kind: 'mutation', // also while there are more nodes than room: it ends that
  summary: 'Delete a node: its open executions are dropped, its token is revoked and its session ends at once.',
  rest: { method: 'DELETE', path: '/nodes/:id', status: 204 },
  conflicts: true,
  input: z.strictObject({ id: NodeIdInput }),
  output: z.null(),
  ownedBy: ({ id }) => ({ kind: 'node', id }),
  doneWhenMissing: true,
  handle: ({ id }, call) => askNode<null>(id, call, (replyTo) => ({ type: 'delete', replyTo })),
});

export const change_node_cluster = operation({
  name: 'change_node_cluster',
  kind: 'mutation', // also while there are more nodes than room: a cluster that fits nowhere gets smaller
  summary: 'Move a node to another cluster. Clears its recovery key.',
  rest: { method: 'POST', path: '/nodes/:id/change_cluster', status: 200 },
  conflicts: true,
  hints: { destructive: true, idempotent: true },
  input: z.strictObject({ id: NodeIdInput, cluster_name: ClusterName }),
  output: NodeResource,
  ownedBy: ({ id }) => ({ kind: 'node', id }),
  enters: ({ cluster_name }, { reads }) => reads.clusterId(cluster_name),
  repeatable: true,
  handle: async ({ id, cluster_name }, call) => {
    const to = await call.ports.reads.clusterId(cluster_name);
    if (to === null) return refuse('validation_failed', 'Validation failed', { cluster_name: ['does not exist'] });
    return askNode<NodeResource>(id, call, (replyTo) => ({
      type: 'change-cluster',
      replyTo,
      to,
      toName: cluster_name,
    }));
  },
});

export const create_node_recovery_key = operation({
  name: 'create_node_recovery_key',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Create or replace the recovery key of a node. It is shown this once.',
  rest: { method: 'POST', path: '/nodes/:id/recovery_key', status: 201 },
  creates: true,
  input: z.strictObject({ id: NodeIdInput }),
  output: RecoveryKeyResource,
  ownedBy: ({ id }) => ({ kind: 'node', id }),
  handle: ({ id }, call) => {
    const key = call.ports.vault.newSecret();
    return askNode<{ readonly recovery_key: string }>(id, call, (replyTo) => ({
      type: 'set-recovery-key',
      replyTo,
      key,
      keyHash: call.ports.vault.sha256(key),
      idempotency: call.idempotency,
    }));
  },
});

export const delete_node_recovery_key = operation({
  name: 'delete_node_recovery_key',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Remove the recovery key of a node.',
  rest: { method: 'DELETE', path: '/nodes/:id/recovery_key', status: 204 },
  conflicts: true,
  input: z.strictObject({ id: NodeIdInput }),
  output: z.null(),
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.recoveryKeyNode(id)),
  doneWhenMissing: true,
  handle: async ({ id }, call) =>
    (await call.ports.reads.recoveryKeyNode(id)) === null
      ? refuse('not_found', NOT_FOUND)
      : askNode<null>(id, call, (replyTo) => ({ type: 'clear-recovery-key', replyTo })),
});

/** Asks the actor of this node; `not_found` when there is none. */
export function askNode<T>(id: NodeId, { ports }: Call, build: (replyTo: ReplyTo) => NodeMessage): Promise<Result<T>> {
  return ports.ask<T>((replyTo) => ({ to: { kind: 'node', id }, message: build(replyTo) }));
}
