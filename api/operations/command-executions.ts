/** Executions: one command on one node. */
import { z } from 'zod';
import { refuse } from '../../actors/refusal.ts';
import { ExecutionResource, isTerminal } from '../../actors/resources/command.ts';
import { ExecutionIdInput } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { ownerOfNode } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { askNode } from './nodes.ts';

export const list_command_executions = operation({
  name: 'list_command_executions',
  kind: 'query',
  summary: 'List executions.',
  rest: { method: 'GET', path: '/command_executions', status: 200 },
  list: true,
  input: listInput('command_executions'),
  output: ExecutionResource,
  handle: (query, { ports }) => page(ports.reads.list('command_executions', query)),
});

export const get_command_execution = operation({
  name: 'get_command_execution',
  kind: 'query',
  summary: 'Get an execution, with its output.',
  rest: { method: 'GET', path: '/command_executions/:id', status: 200 },
  input: z.strictObject({ id: ExecutionIdInput }),
  output: ExecutionResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('command_executions', id)),
});

export const cancel_command_execution = operation({
  name: 'cancel_command_execution',
  kind: 'mutation',
  summary:
    'Cancel an execution. One that its agent has is cancelled once that confirms that its processes are gone, and unfinished until then.',
  rest: {
    method: 'POST',
    path: '/command_executions/:id/cancel',
    status: 200,
    acceptedWhen: ({ status }) => !isTerminal(status),
  },
  conflicts: true,
  hints: { destructive: true, idempotent: false },
  input: z.strictObject({ id: ExecutionIdInput }),
  output: ExecutionResource,
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.executionNode(id).then((where) => where?.node ?? null)),
  repeatable: true,
  handle: async ({ id }, call) => {
    const { reads } = call.ports;
    const where = await reads.executionNode(id);
    if (where === null) return refuse('not_found', NOT_FOUND);
    // The first try did it.
    if (call.isRepeat && where.status === 'cancelled') return found(reads.get('command_executions', id));
    if (isTerminal(where.status)) return refuse('conflict', `The execution is already ${where.status}.`);

    const asked = await askNode<null>(where.node, call, (replyTo) => ({ type: 'cancel', executions: [id], replyTo }));
    return asked.ok ? found(reads.get('command_executions', id)) : asked;
  },
});

export const delete_command_execution = operation({
  name: 'delete_command_execution',
  kind: 'mutation',
  summary: 'Delete a finished execution.',
  rest: { method: 'DELETE', path: '/command_executions/:id', status: 204 },
  conflicts: true,
  input: z.strictObject({ id: ExecutionIdInput }),
  output: z.null(),
  handle: ({ id }, { ports }) => ports.records.deleteExecution(id),
});
