/** Commands: a script, run on every node that a targeting reaches. */
import { z } from 'zod';
import type { CommandMessage } from '../../actors/command/messages.ts';
import type { ReplyTo } from '../../actors/reply-to.ts';
import { refuse, type Result } from '../../actors/refusal.ts';
import { CommandResource, type CommandSummary } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId } from '../../transport/protocol/ids.ts';
import { COMMAND_TEXT_BYTES_MAX } from '../../transport/protocol/limits.ts';
import { CommandIdInput, instantMs, positiveInteger, storableText } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation, type Call } from '../operation.ts';
import { found, page } from '../reading.ts';
import { targetingInput } from '../inputs/targeting-input.ts';
import { targetsOf } from '../targeted-nodes.ts';

/**
 * Script of a command times the nodes that it reaches, in bytes as JSON: it stands in the event of each execution, and
 * all of these are stored in one transaction (C1). More may not be stored in the time that a caller waits: one core of
 * a server takes 25 MiB/s of shell scripts, which it compresses (measured), and a slow or busy one 15.
 */
export const FAN_OUT_SCRIPT_BYTES_MAX = 67_108_864;

export const create_command = operation({
  name: 'create_command',
  kind: 'mutation',
  summary:
    'Run a shell script on nodes: one execution for every node that the targeting reaches now. Answers once all are stored.',
  rest: { method: 'POST', path: '/commands', status: 201 },
  hints: { destructive: true, idempotent: false, openWorld: true },
  creates: true,
  input: z.strictObject({
    command_text: storableText(COMMAND_TEXT_BYTES_MAX)
      .min(1)
      .refine(
        (text) => Buffer.byteLength(text) <= COMMAND_TEXT_BYTES_MAX,
        `must be at most ${COMMAND_TEXT_BYTES_MAX} bytes`,
      )
      .describe(
        `The script, run by /bin/sh or the interpreter of its #! line. A longer one may reach fewer nodes at a time: its bytes as JSON times the nodes are at most ${FAN_OUT_SCRIPT_BYTES_MAX}.`,
      ),
    targeting: targetingInput,
    timeout: positiveInteger.nullish().describe('ms; null: none.'),
    expired_at: instantMs
      .nullish()
      .describe(
        'Executions that are not over by then expire: those that wait never start, those that run are ended. Must be in the future.',
      ),
  }),
  output: CommandResource,
  handle: async (input, { ports, trace, idempotency }) => {
    const nowMs = ports.clock.nowMs();
    const expiredAtMs = input.expired_at ?? null;
    if (expiredAtMs !== null && expiredAtMs <= nowMs)
      return refuse('validation_failed', 'Validation failed', { expired_at: ['must be in the future'] });

    const reached = await targetsOf(ports.reads, input.targeting);
    if (!reached.ok) return reached;
    const targets = reached.value;
    const nodesMax = Math.floor(FAN_OUT_SCRIPT_BYTES_MAX / Buffer.byteLength(JSON.stringify(input.command_text)));
    if (targets.length > nodesMax)
      return refuse('validation_failed', 'Validation failed', {
        command_text: [
          `runs on at most ${nodesMax} nodes at a time at this length, and ${targets.length} match: target fewer at a time, or have a shorter script fetch the rest`,
        ],
      });
    const id = ports.newId() as CommandId;
    const executionIds = targets.map(() => ports.newId() as ExecutionId);
    const command = {
      id,
      text: input.command_text,
      targeting: input.targeting,
      timeoutMs: input.timeout ?? null,
      expiredAtMs,
      insertedAtMs: nowMs,
      ...(trace !== null && { trace }),
    };
    return ports.ask<CommandResource>((replyTo) => ({
      to: { kind: 'command', id },
      message: { type: 'create', replyTo, command, targets, executionIds, idempotency },
    }));
  },
});

export const list_commands = operation({
  name: 'list_commands',
  kind: 'query',
  summary: 'List commands.',
  rest: { method: 'GET', path: '/commands', status: 200 },
  list: true,
  input: listInput('commands'),
  output: CommandResource,
  handle: (query, { ports }) => page(ports.reads.list('commands', query)),
});

export const get_command = operation({
  name: 'get_command',
  kind: 'query',
  summary: 'Get a command, with how many of its executions are in each state.',
  rest: { method: 'GET', path: '/commands/:id', status: 200 },
  input: z.strictObject({ id: CommandIdInput }),
  output: CommandResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('commands', id)),
});

export const cancel_command = operation({
  name: 'cancel_command',
  kind: 'mutation',
  summary: 'Cancel every execution of a command that is not finished.',
  rest: { method: 'POST', path: '/commands/:id/cancel', status: 202 },
  conflicts: true,
  hints: { destructive: true, idempotent: true },
  input: z.strictObject({ id: CommandIdInput }),
  output: CommandResource,
  handle: async ({ id }, call) => {
    const asked = await askCommand<CommandSummary>(id, call, (replyTo) => ({ type: 'cancel', replyTo }));
    // Counted by the rows: this admin may know a little late how executions at nodes of another one ended.
    return asked.ok ? found(call.ports.reads.get('commands', id)) : asked;
  },
});

export const delete_command = operation({
  name: 'delete_command',
  kind: 'mutation',
  summary: 'Delete a command and its executions, once all are finished.',
  rest: { method: 'DELETE', path: '/commands/:id', status: 204 },
  conflicts: true,
  input: z.strictObject({ id: CommandIdInput }),
  output: z.null(),
  handle: ({ id }, call) => askCommand<null>(id, call, (replyTo) => ({ type: 'delete', replyTo })),
});

function askCommand<T>(
  id: CommandId,
  { ports }: Call,
  build: (replyTo: ReplyTo) => CommandMessage,
): Promise<Result<T>> {
  return ports.ask<T>((replyTo) => ({ to: { kind: 'command', id }, message: build(replyTo) }));
}
