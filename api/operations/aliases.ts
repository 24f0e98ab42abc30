/** Aliases: friendly names of nodes. */
import { z } from 'zod';
import { refuse } from '../../actors/refusal.ts';
import { AliasResource } from '../../actors/resources/node.ts';
import { AliasName } from '../../transport/protocol/cluster-names.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { ownerOfNode } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { askNode } from './nodes.ts';

export const create_alias = operation({
  name: 'create_alias',
  kind: 'mutation',
  summary: 'Give a node a name, unique in its cluster.',
  rest: { method: 'POST', path: '/nodes/:node_id/aliases', status: 201 },
  creates: true,
  input: z.strictObject({ node_id: NodeIdInput, name: AliasName }),
  output: AliasResource,
  ownedBy: ({ node_id: id }) => ({ kind: 'node', id }),
  handle: ({ node_id, name }, call) => {
    const id = call.ports.newId();
    return askNode<AliasResource>(node_id, call, (replyTo) => ({
      type: 'create-alias',
      replyTo,
      id,
      name,
      idempotency: call.idempotency,
    }));
  },
});

export const list_aliases = operation({
  name: 'list_aliases',
  kind: 'query',
  summary: 'List aliases.',
  rest: { method: 'GET', path: '/aliases', status: 200 },
  list: true,
  input: listInput('aliases'),
  output: AliasResource,
  handle: (query, { ports }) => page(ports.reads.list('aliases', query)),
});

export const get_alias = operation({
  name: 'get_alias',
  kind: 'query',
  summary: 'Get an alias.',
  rest: { method: 'GET', path: '/aliases/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: AliasResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('aliases', id)),
});

export const delete_alias = operation({
  name: 'delete_alias',
  kind: 'mutation',
  summary: 'Delete an alias.',
  rest: { method: 'DELETE', path: '/aliases/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.aliasNode(id)),
  doneWhenMissing: true,
  handle: async ({ id }, call) => {
    const node = await call.ports.reads.aliasNode(id);
    return node === null
      ? refuse('not_found', NOT_FOUND)
      : askNode<null>(node, call, (replyTo) => ({ type: 'delete-alias', replyTo, id }));
  },
});
