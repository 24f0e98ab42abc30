/** Saved groups: targetings with a name, and who would be reached by one. */
import { z } from 'zod';
import { ok, refuse } from '../../actors/refusal.ts';
import {
  GroupResource,
  PREVIEWED_NODES_DEFAULT,
  PREVIEWED_NODES_MAX,
  TargetingPreviewResource,
} from '../../actors/resources/group.ts';
import { storableText } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { GroupName, plainTargetingInput, targetingInput } from '../inputs/targeting-input.ts';
import { targetsOf } from '../targeted-nodes.ts';

/** Longest description, in characters. */
const DESCRIPTION_MAX = 1_024;

const description = storableText(DESCRIPTION_MAX).nullish();

export const create_group = operation({
  name: 'create_group',
  kind: 'mutation',
  summary: 'Save a targeting under a name. Which nodes are in the group is found whenever it is used.',
  rest: { method: 'POST', path: '/groups', status: 201 },
  creates: true,
  input: z.strictObject({ name: GroupName, description, targeting: plainTargetingInput }),
  output: GroupResource,
  handle: (input, { ports, idempotency }) =>
    ports.groups.create({
      id: ports.newId(),
      name: input.name,
      description: input.description ?? null,
      targeting: input.targeting,
      atMs: ports.clock.nowMs(),
      idempotency,
    }),
});

export const list_groups = operation({
  name: 'list_groups',
  kind: 'query',
  summary: 'List groups.',
  rest: { method: 'GET', path: '/groups', status: 200 },
  list: true,
  input: listInput('groups'),
  output: GroupResource,
  handle: (query, { ports }) => page(ports.reads.list('groups', query)),
});

export const get_group = operation({
  name: 'get_group',
  kind: 'query',
  summary: 'Get a group by name.',
  rest: { method: 'GET', path: '/groups/:name', status: 200 },
  input: z.strictObject({ name: GroupName }),
  output: GroupResource,
  handle: ({ name }, { ports }) => found(ports.reads.get('groups', name)),
});

export const update_group = operation({
  name: 'update_group',
  kind: 'mutation',
  summary: 'Change the description or the targeting of a group. What is left out stays.',
  rest: { method: 'PATCH', path: '/groups/:name', status: 200 },
  input: z.strictObject({ name: GroupName, description, targeting: plainTargetingInput.optional() }),
  output: GroupResource,
  handle: async ({ name, description: words, targeting }, { ports }) => {
    const changed = {
      ...(words === undefined ? {} : { description: words }),
      ...(targeting === undefined ? {} : { targeting }),
    };
    const isThere =
      Object.keys(changed).length === 0 || (await ports.groups.update(name, changed, ports.clock.nowMs()));
    return isThere ? found(ports.reads.get('groups', name)) : refuse('not_found', NOT_FOUND);
  },
});

export const delete_group = operation({
  name: 'delete_group',
  kind: 'mutation',
  summary: 'Delete a group. Its nodes, and commands that it was used for, stay.',
  rest: { method: 'DELETE', path: '/groups/:name', status: 204 },
  input: z.strictObject({ name: GroupName }),
  output: z.null(),
  handle: async ({ name }, { ports }) =>
    (await ports.groups.remove(name)) ? ok(null) : refuse('not_found', NOT_FOUND),
});

export const preview_targeting = operation({
  name: 'preview_targeting',
  kind: 'query',
  summary: `Show whom a targeting would reach now: how many nodes, and the first max_nodes of them.`,
  rest: { method: 'POST', path: '/targeting/preview', status: 200 },
  input: z.strictObject({
    targeting: targetingInput,
    max_nodes: z.int().min(1).max(PREVIEWED_NODES_MAX).default(PREVIEWED_NODES_DEFAULT),
  }),
  output: TargetingPreviewResource,
  handle: async ({ targeting, max_nodes: namedMax }, { ports: { reads } }) => {
    const reached = await targetsOf(reads, targeting);
    if (!reached.ok) return reached;
    const first = reached.value
      .toSorted((one, other) => compare(one.clusterName, other.clusterName) || compare(one.node, other.node))
      .slice(0, namedMax);
    const { rows } = await reads.list('nodes', {
      filters: [{ field: 'node_id', op: 'in', value: first.map(({ node }) => node) }],
      sort: [],
      page: 1,
      pageSize: namedMax,
    });
    const nodes = rows
      .map(({ id, name, cluster_name, status }) => ({ id, name, cluster_name, status }))
      .toSorted((one, other) => compare(one.cluster_name, other.cluster_name) || compare(one.name, other.name));
    return ok({ node_count: reached.value.length, nodes });
  },
});

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
