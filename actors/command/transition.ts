/**
 * The behaviour of a command: it is stored with all of its executions, hands them to their nodes, and counts how they
 * end.
 */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { DomainEvent } from '../event-catalogue.ts';
import type { Behaviour } from '../behaviour.ts';
import type { Notice } from '../notice.ts';
import { type Effect, type Step, answer, refuse, step, unchanged, unreachable } from '../step.ts';
import { idempotencyRecord } from '../node/administration.ts';
import { executionSnapshot } from '../node/snapshots.ts';
import type { CommandRecord, OpenCommand, OpenExecution } from '../records.ts';
import { ok } from '../refusal.ts';
import { type CommandSummary, isTerminal, type CommandResource } from '../resources/command.ts';
import type { CommandMessage, ExecutionChange } from './messages.ts';
import { type CommandState, type OpenAt, EMPTY_SUMMARY } from './state.ts';
import { instant } from '../resources/instant.ts';

/**
 * A command of which nothing was heard for so long ends its actor, in ms: nodes may stay away for months, and as many
 * commands as there are days wait for them. Longer than most scripts run, so that few are read from their rows again.
 */
export const COMMAND_REST_AFTER_MS = 600_000;

const REST_LATER: Effect = {
  type: 'remind',
  key: 'rest',
  afterMs: COMMAND_REST_AFTER_MS,
  message: { type: 'rest' },
};

type MessageOf<T extends CommandMessage['type']> = Extract<CommandMessage, { type: T }>;

/** What a command does with one message. Pure: `nowMs` is Unix time in ms. */
export const commandBehaviour: Behaviour<CommandState, CommandMessage> = {
  transition(state, message, nowMs) {
    if (message.type === 'create') return create(state, message);
    if (!state.isCreated) return unborn(state, message);
    switch (message.type) {
      case 'executions-changed':
        return counted(state, message);
      case 'executions-removed':
        return uncounted(state, message);
      case 'rest':
        return step(state, [], [{ type: 'stop' }]);
      case 'cancel':
        return cancel(state, message, nowMs);
      case 'delete':
        return remove(state, message);
      case 'refused':
        return unchanged(state); // every command write has someone who waits, who was told
      default:
        return unreachable(message);
    }
  },
  recoveryEffects,
  refreshed: (_live, rows) => rows,
};

/**
 * A command whose commit was in doubt may be stored without any node knowing: each looks for what it was not told of.
 */
function recoveryEffects(state: CommandState): readonly Effect[] {
  const nodes = new Set([...state.open.values()].flatMap((at) => (at.status === 'pending' ? [at.node] : [])));
  const rescans = [...nodes].map((node): Effect => ({
    type: 'tell',
    told: { to: { kind: 'node', id: node }, message: { type: 'rescan' } },
  }));
  return [...rescans, REST_LATER];
}

/** One transaction stores the command and every execution (C1); then each node is told. */
function create(state: CommandState, message: MessageOf<'create'>): Step<CommandState> {
  if (state.isCreated)
    return step(state, [], [refuse(message.replyTo, { code: 'conflict', message: 'The command exists already.' })]);
  const { command: record, targets, executionIds } = message;
  const command = openCommand(record);
  const open = new Map<ExecutionId, OpenAt>();
  const executions: { readonly id: ExecutionId; readonly node: OpenAt['node']; readonly clusterName: string }[] = [];
  const events: DomainEvent[] = [];
  const notices: Notice[] = [{ type: 'command-created', command: record.id }];
  const runs: Effect[] = [];
  for (const [index, target] of targets.entries()) {
    const execution = openExecution(command, executionIds[index] as ExecutionId, target);
    open.set(execution.id, { node: execution.node, status: 'pending' });
    executions.push({ id: execution.id, node: execution.node, clusterName: execution.clusterName });
    events.push(createdEvent(execution));
    notices.push({
      type: 'execution-changed',
      execution: execution.id,
      command: record.id,
      node: execution.node,
      clusterName: execution.clusterName,
      status: 'pending',
      exitCode: null,
    });
    runs.push({
      type: 'tell',
      told: { to: { kind: 'node', id: execution.node }, message: { type: 'run', executions: [execution] } },
      cluster: target.cluster,
    });
  }
  if (targets.length > 0) notices.push({ type: 'events-stored' });
  const summary: CommandSummary = { ...EMPTY_SUMMARY, total: targets.length, pending: targets.length };
  const resource = commandResource(record, summary);
  const change = {
    write: { kind: 'command-created' as const, command: record, executions },
    events,
    notices,
    idempotencyRecord: idempotencyRecord(message.idempotency, resource),
  };
  const after: readonly Effect[] = targets.length === 0 ? [{ type: 'stop' }] : [...runs, REST_LATER];
  return step(
    { id: state.id, isCreated: true, summary, open },
    [change],
    [answer(message.replyTo, ok(resource)), ...after],
  );
}

/** Counts stored changes. A change that is older than what is known does nothing: terminal states never change. */
function counted(state: CommandState, message: MessageOf<'executions-changed'>): Step<CommandState> {
  const open = new Map(state.open);
  let { summary } = state;
  for (const change of message.changes) {
    const known = open.get(change.execution);
    if (known === undefined || known.status === change.status || change.status === 'pending') continue;
    summary = count(summary, known.status, change);
    if (change.status === 'sent') open.set(change.execution, { node: known.node, status: 'sent' });
    else open.delete(change.execution);
  }
  return recounted(state, summary, open);
}

/** What was deleted counts as little here as in the rows. */
function uncounted(state: CommandState, message: MessageOf<'executions-removed'>): Step<CommandState> {
  const open = new Map(state.open);
  let { summary } = state;
  for (const execution of message.executions) {
    const known = open.get(execution);
    if (known === undefined) continue;
    summary = { ...summary, total: summary.total - 1, [known.status]: summary[known.status] - 1 };
    open.delete(execution);
  }
  return recounted(state, summary, open);
}

function recounted(state: CommandState, summary: CommandSummary, open: CommandState['open']): Step<CommandState> {
  if (summary === state.summary && open.size > 0) return unchanged(state);
  // Finished: its rows tell the rest, and a later cancel or delete starts it again from them.
  return step({ ...state, summary, open }, [], [open.size === 0 ? { type: 'stop' } : REST_LATER]);
}

/** The intent is stored for every open execution, then each node is told. The answer is how far all are. */
function cancel(state: CommandState, message: MessageOf<'cancel'>, nowMs: number): Step<CommandState> {
  const told = answer(message.replyTo, ok(state.summary));
  if (state.open.size === 0) return step(state, [], [told, { type: 'stop' }]);
  const cancels = [...state.open].map(([execution, at]): Effect => ({
    type: 'tell',
    told: { to: { kind: 'node', id: at.node }, message: { type: 'cancel', executions: [execution], replyTo: null } },
  }));
  return step(
    state,
    [{ write: { kind: 'command-cancel-requested', command: state.id, atMs: nowMs }, events: [], notices: [] }],
    [told, ...cancels],
  );
}

/** Deletes the command with its executions, without events. Refused while one is open. */
function remove(state: CommandState, message: MessageOf<'delete'>): Step<CommandState> {
  // Whether all have finished is for the rows to say: news of the last one may be lost with the database.
  return step(
    state,
    [
      {
        write: { kind: 'command-deleted', command: state.id },
        events: [],
        notices: [{ type: 'command-removed', command: state.id }],
      },
    ],
    [answer(message.replyTo, ok(null)), { type: 'stop' }],
  );
}

function openCommand({ targeting, ...command }: CommandRecord): OpenCommand {
  return { ...command, targetAll: targeting.type === 'all' };
}

/** As its row will be, to the millisecond: what later events say of it may come from either. */
function openExecution(
  command: OpenCommand,
  id: ExecutionId,
  target: MessageOf<'create'>['targets'][number],
): OpenExecution {
  return {
    id,
    command,
    node: target.node,
    clusterName: target.clusterName,
    status: 'pending',
    sentAtMs: null,
    cancelRequestedAtMs: null,
    insertedAtMs: command.insertedAtMs,
    updatedAtMs: command.insertedAtMs,
  };
}

function createdEvent(execution: OpenExecution): DomainEvent {
  const progress = {
    status: 'pending' as const,
    exitCode: null,
    sentAtMs: null,
    completedAtMs: null,
    cancelledAtMs: null,
    updatedAtMs: execution.updatedAtMs,
  };
  return {
    type: 'edge.command_execution.created',
    subject: execution.id,
    atMs: execution.insertedAtMs,
    data: executionSnapshot(execution, progress),
  };
}

function count(summary: CommandSummary, from: OpenAt['status'], change: ExecutionChange): CommandSummary {
  const moved = { ...summary, [from]: summary[from] - 1, [change.status]: summary[change.status] + 1 };
  if (change.status !== 'completed' || !isTerminal(change.status)) return moved;
  return change.exitCode === 0 ? { ...moved, succeeded: moved.succeeded + 1 } : { ...moved, failed: moved.failed + 1 };
}

/** Nothing but `create` can be said to a command that is not stored. */
function unborn(state: CommandState, message: CommandMessage): Step<CommandState> {
  return 'replyTo' in message
    ? step(state, [], [refuse(message.replyTo, { code: 'not_found', message: 'Resource not found' }), { type: 'stop' }])
    : step(state, [], [{ type: 'stop' }]);
}

/** The resource of a command with its counts. */
export function commandResource(record: CommandRecord, summary: CommandSummary): CommandResource {
  return {
    id: record.id,
    command_text: record.text,
    targeting: record.targeting,
    timeout: record.timeoutMs,
    expired_at: instant(record.expiredAtMs),
    summary,
    inserted_at: instant(record.insertedAtMs),
    updated_at: instant(record.insertedAtMs),
  };
}
