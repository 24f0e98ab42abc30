/** Self-update requests: which nodes are told to fetch the newest stable agent, and what became of it. */
import { z } from 'zod';
import { ok, refuse } from '../../actors/refusal.ts';
import { SelfUpdateRequestResource, SelfUpdateResultResource } from '../../actors/resources/self-update.ts';
import { HEALTH_TIMEOUT_S, HEALTH_TIMEOUT_S_MAX } from '../../actors/self-update/limits.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { positiveInteger } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { targetingInput } from '../inputs/targeting-input.ts';
import { updatableNodesOf } from '../targeted-nodes.ts';

export const create_self_update_request = operation({
  name: 'create_self_update_request',
  kind: 'mutation',
  summary: 'Have healthy nodes that take part fetch the newest stable agent.',
  rest: { method: 'POST', path: '/self_update_requests', status: 201 },
  hints: { destructive: true, idempotent: false, openWorld: true },
  creates: true,
  needsCapacity: true,
  input: z.strictObject({
    targeting: targetingInput,
    batch_size: positiveInteger.nullish().describe('Nodes at once; null: all.'),
    max_failures: positiveInteger.nullish().describe('Stop after so many; null: never.'),
    health_timeout: z
      .int()
      .min(1)
      .max(HEALTH_TIMEOUT_S_MAX)
      .nullish()
      .describe(`s until a node of a batch must be healthy again; null: ${HEALTH_TIMEOUT_S}.`),
  }),
  output: SelfUpdateRequestResource,
  handle: async ({ targeting, batch_size, max_failures, health_timeout }, { ports, idempotency }) => {
    const reached = await updatableNodesOf(ports.reads, targeting);
    if (!reached.ok) return reached;
    const id = ports.newId();
    const request = {
      id,
      targeting,
      batchSize: batch_size ?? null,
      maxFailures: max_failures ?? null,
      healthTimeoutMs: (health_timeout ?? HEALTH_TIMEOUT_S) * 1_000,
      insertedAtMs: ports.clock.nowMs(),
    };
    return ports.ask<SelfUpdateRequestResource>((replyTo) => ({
      to: { kind: 'self-update', id },
      message: { type: 'create', replyTo, request, targets: reached.value, idempotency },
    }));
  },
});

export const list_self_update_requests = operation({
  name: 'list_self_update_requests',
  kind: 'query',
  summary: 'List self-update requests.',
  rest: { method: 'GET', path: '/self_update_requests', status: 200 },
  list: true,
  input: listInput('self_update_requests'),
  output: SelfUpdateRequestResource,
  handle: (query, { ports }) => page(ports.reads.list('self_update_requests', query)),
});

export const get_self_update_request = operation({
  name: 'get_self_update_request',
  kind: 'query',
  summary: 'Get a self-update request.',
  rest: { method: 'GET', path: '/self_update_requests/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: SelfUpdateRequestResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('self_update_requests', id)),
});

export const list_self_update_results = operation({
  name: 'list_self_update_results',
  kind: 'query',
  summary: 'List the nodes of a self-update request, with what became of each.',
  rest: { method: 'GET', path: '/self_update_requests/:id/nodes', status: 200 },
  list: true,
  input: listInput('self_update_results'),
  output: SelfUpdateResultResource,
  handle: async (query, { ports }) => {
    const results = await ports.reads.list('self_update_results', query);
    if (results.totalCount > 0) return ok(results);
    const id = query.filters.find(({ field }) => field === 'id')?.value;
    const request = await ports.reads.get('self_update_requests', String(id));
    return request === null ? refuse('not_found', NOT_FOUND) : ok(results);
  },
});

export const delete_self_update_request = operation({
  name: 'delete_self_update_request',
  kind: 'mutation',
  summary: 'Delete a completed self-update request with its results.',
  rest: { method: 'DELETE', path: '/self_update_requests/:id', status: 204 },
  conflicts: true,
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  handle: ({ id }, { ports }) => ports.records.deleteSelfUpdate(id),
});
