/** Clusters. */
import { z } from 'zod';
import type { ClusterMessage } from '../../actors/cluster/messages.ts';
import type { ReplyTo } from '../../actors/reply-to.ts';
import { refuse, type Result } from '../../actors/refusal.ts';
import { ClusterResource } from '../../actors/resources/cluster.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import { ClusterId } from '../../transport/protocol/ids.ts';
import { positiveInteger } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation, type Call } from '../operation.ts';
import { ownerOfCluster } from '../forwarding/owned-by.ts';
import { ipv4Range, ipv6Range } from '../inputs/ranges.ts';
import { found, NOT_FOUND, page } from '../reading.ts';

/** Stands for DEFAULT_CLUSTER_NAME in paths, so no cluster may be called so. Source: docs/api.md, Resources. */
export const RESERVED_NAME = 'default';

const NodeLimit = positiveInteger.nullable().describe('Most nodes that it may hold; null: no limit.');

export const create_cluster = operation({
  name: 'create_cluster',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Create a cluster. Address ranges are generated when left out.',
  rest: { method: 'POST', path: '/clusters', status: 201 },
  creates: true,
  input: z.strictObject({
    name: ClusterName.refine((name) => name !== RESERVED_NAME, 'is reserved').meta({ not: { const: RESERVED_NAME } }),
    ipv4_range: ipv4Range.nullish(),
    ipv6_range: ipv6Range.nullish(),
    node_limit: NodeLimit.optional(),
  }),
  output: ClusterResource,
  handle: (input, call) => createCluster(input, call, RANGE_ATTEMPTS_MAX),
});

/** Generated ranges that may be lost to a create at the same time before it is a conflict for the client. */
const RANGE_ATTEMPTS_MAX = 5;

interface NewCluster {
  readonly name: string;
  readonly ipv4_range?: string | null | undefined;
  readonly ipv6_range?: string | null | undefined;
  readonly node_limit?: number | null | undefined;
}

async function createCluster(input: NewCluster, call: Call, attemptsLeft: number): Promise<Result<ClusterResource>> {
  const { ports, idempotency } = call;
  const isGenerated = input.ipv4_range == null || input.ipv6_range == null;
  const free = isGenerated ? await ports.reads.freeRanges() : null;
  const ipv4Range = input.ipv4_range ?? free?.ipv4Range;
  const ipv6Range = input.ipv6_range ?? free?.ipv6Range;
  if (ipv4Range === undefined || ipv6Range === undefined)
    return refuse(
      'conflict',
      'No address range is free for another cluster. Give one, or widen the configured ranges.',
    );

  const id = ClusterId.parse(ports.newId());
  const created = await ports.ask<ClusterResource>((replyTo) => ({
    to: { kind: 'cluster', id },
    message: {
      type: 'create',
      replyTo,
      id,
      name: input.name,
      ipv4Range,
      ipv6Range,
      nodeLimit: input.node_limit ?? null,
      idempotency,
    },
  }));
  const lostRange =
    isGenerated &&
    !created.ok &&
    created.refusal.code === 'conflict' &&
    attemptsLeft > 1 &&
    (await ports.reads.clusterId(input.name)) === null;
  return lostRange ? createCluster(input, call, attemptsLeft - 1) : created;
}

export const list_clusters = operation({
  name: 'list_clusters',
  kind: 'query',
  summary: 'List clusters.',
  rest: { method: 'GET', path: '/clusters', status: 200 },
  list: true,
  input: listInput('clusters'),
  output: ClusterResource,
  handle: (query, { ports }) => page(ports.reads.list('clusters', query)),
});

export const get_cluster = operation({
  name: 'get_cluster',
  kind: 'query',
  summary: 'Get a cluster by name, with its first 100 nodes.',
  rest: { method: 'GET', path: '/clusters/:name', status: 200 },
  input: z.strictObject({ name: ClusterName }),
  output: ClusterResource,
  handle: ({ name }, { ports }) => found(ports.reads.get('clusters', name)),
});

export const update_cluster = operation({
  name: 'update_cluster',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Change how many nodes a cluster may hold. Below the present count is a conflict.',
  rest: { method: 'PATCH', path: '/clusters/:name', status: 200 },
  conflicts: true,
  input: z.strictObject({ name: ClusterName, node_limit: NodeLimit }),
  output: ClusterResource,
  ownedBy: ({ name }, { reads }) => ownerOfCluster(reads.clusterId(name)),
  repeatable: true,
  handle: ({ name, node_limit }, call) =>
    askCluster<ClusterResource>(name, call, (replyTo) => ({ type: 'limit', replyTo, nodeLimit: node_limit })),
});

export const delete_cluster = operation({
  name: 'delete_cluster',
  kind: 'mutation',
  needsCapacity: true,
  summary: 'Delete a cluster that holds no node.',
  rest: { method: 'DELETE', path: '/clusters/:name', status: 202 },
  conflicts: true,
  input: z.strictObject({ name: ClusterName }),
  output: z.null(),
  ownedBy: ({ name }, { reads }) => ownerOfCluster(reads.clusterId(name)),
  doneWhenMissing: true,
  handle: ({ name }, call) => askCluster<null>(name, call, (replyTo) => ({ type: 'delete', replyTo })),
});

/** Asks the cluster of this name; `not_found` when there is none. */
export async function askCluster<T>(
  name: string,
  { ports }: Call,
  build: (replyTo: ReplyTo) => ClusterMessage,
): Promise<Result<T>> {
  const id = await ports.reads.clusterId(name);
  if (id === null) return refuse('not_found', NOT_FOUND);
  return ports.ask<T>((replyTo) => ({ to: { kind: 'cluster', id }, message: build(replyTo) }));
}
