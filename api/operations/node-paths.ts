/** How one node reaches the others of its VPN: asked of its agent, which alone knows it. */
import { z } from 'zod';
import type { Filter } from '../../actors/filters.ts';
import { NodePathsResource, type MemberPath, type PeerPath } from '../../actors/resources/cluster-paths.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { VPN_PEERS_MAX } from '../../transport/protocol/vpn.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { pathsOf } from '../member-paths.ts';
import { operation } from '../operation.ts';
import type { Reads } from '../ports.ts';
import { NOT_FOUND } from '../reading.ts';

export const get_node_paths = operation({
  name: 'get_node_paths',
  kind: 'query',
  summary: 'Show how a node reaches the peers of its VPN (direct, relayed, none), asked of its agent.',
  rest: { method: 'GET', path: '/nodes/:id/paths', status: 200 },
  hints: { destructive: false, idempotent: true, openWorld: true },
  input: z.strictObject({ id: NodeIdInput }),
  output: NodePathsResource,
  handle: async ({ id }, { ports: { reads, nodeMetrics, clock } }) => {
    const node = await reads.get('nodes', id);
    if (node === null) return refuse('not_found', NOT_FOUND);
    const read = await pathsOf(node, { nodeMetrics, nowMs: clock.nowMs() });
    return ok({
      node_id: id,
      cluster_name: node.cluster_name,
      problem: read.ok ? null : read.refusal.message,
      paths: read.ok ? await namedPaths(read.value, node, reads) : [],
    });
  },
});

/** Of peers that are nodes of the same cluster: what an agent makes up leads nowhere. */
async function namedPaths(
  paths: readonly MemberPath[],
  { id, cluster_name: cluster }: NodeResource,
  reads: Pick<Reads, 'nodesAfter'>,
): Promise<PeerPath[]> {
  const gateway = paths.filter(({ node_id: to }) => to === null);
  const told = new Map(paths.map((path) => [path.node_id, path]));
  const ids = paths.flatMap(({ node_id: to }) => (to === null || to === id ? [] : to)).slice(0, VPN_PEERS_MAX - 1);
  const members: readonly Filter[] = [
    { field: 'cluster_name', op: 'eq', value: cluster },
    { field: 'node_id', op: 'in', value: ids },
  ];
  const { rows } = ids.length === 0 ? { rows: [] } : await reads.nodesAfter(members, null, VPN_PEERS_MAX);
  const peers = rows
    .toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
    .flatMap(({ id: to, name, status }) => {
      const path = told.get(to);
      return path === undefined ? [] : [{ ...path, name, status }];
    });
  return [...gateway.map((path) => ({ ...path, name: null, status: null })), ...peers];
}
