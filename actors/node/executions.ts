/** What happens to the executions of a node: acknowledged, finished, cancelled, expired, found again. */
import type { ExecutionResult } from '../../transport/protocol/frames.ts';
import { EXIT_CANCELLED } from '../../transport/protocol/limits.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Notice } from '../kit/notice.ts';
import type { Change, Effect, Step } from '../kit/step.ts';
import { answer, refuseAsker, step, unchanged } from '../kit/step.ts';
import type { OpenExecution } from '../records.ts';
import { ok } from '../refusal.ts';
import { deliver, withOpen } from './delivery.ts';
import type { NodeMessage } from './messages.ts';
import { executionSnapshot } from './snapshots.ts';
import type { NodeState } from './state.ts';

type Said<T extends NodeMessage['type']> = Extract<NodeMessage, { type: T }>;

const EVENTS_STORED: Notice = { type: 'events-stored' };

/** New executions for this node. They are stored already. */
export function run(state: NodeState, message: Said<'run'>, nowMs: number): Step<NodeState> {
  // Behind a backlog the order of creation is kept by loading, not by adding here.
  if (state.backlog) return unchanged(state);
  return deliver(withOpen(state, message.executions, state.backlog), nowMs);
}

/** The next open executions, as asked for. */
export function loaded(state: NodeState, message: Said<'executions-loaded'>, nowMs: number): Step<NodeState> {
  return deliver(withOpen({ ...state, loading: false }, message.executions, message.more), nowMs);
}

/** The agent has these in its journal: they are sent (C4). */
export function acknowledged(state: NodeState, message: Said<'executions-acknowledged'>, nowMs: number): Step<NodeState> {
  const known = message.executions.filter((id) => state.open.has(id));
  const lookUp = unknown(state, message.executions, message);
  const sent = markSent(state, known, nowMs);
  const next = deliver(sent.state, nowMs);
  return step(next.state, sent.changes, [...lookUp, ...cancelsOwed(next.state, known), ...next.effects]);
}

/** Results: stored with the state they found, then confirmed (C5). A pending row becomes sent and completed at once (C6). */
export function finished(state: NodeState, message: Said<'results-arrived'>, nowMs: number): Step<NodeState> {
  const open = new Map(state.open);
  const changes: Change[] = [];
  const confirmed: ExecutionId[] = [];
  for (const result of message.results) {
    const execution = open.get(result.execution);
    if (execution === undefined) continue;
    open.delete(result.execution);
    confirmed.push(result.execution);
    changes.push(ending(execution, result, nowMs));
  }
  const lookUp = unknown(state, message.results.map((result) => result.execution), message);
  const next = deliver({ ...state, open }, nowMs);
  const confirm: readonly Effect[] = confirmed.length === 0 ? [] : [{ type: 'send', session: message.session, frame: { type: 'confirm', executions: confirmed } }];
  return step(next.state, changes, [...confirm, ...lookUp, ...next.effects]);
}

/** One piece of a long output: stored, then the agent may send the next (C10). */
export function outputPart(state: NodeState, message: Said<'output-part-arrived'>): Step<NodeState> {
  const { session, execution, part, text } = message;
  if (!state.open.has(execution)) return step(state, [], unknown(state, [execution], message));
  const change: Change = { write: { kind: 'output-part', execution, part, text }, events: [], notices: [] };
  return step(state, [change], [{ type: 'send', session, frame: { type: 'part-stored', execution, part } }]);
}

/** What the rows say of executions that this actor did not hold. The rest is terminal: the agent stops and forgets it (C8). */
export function lookedUp(state: NodeState, message: Said<'executions-looked-up'>, nowMs: number, decide: (state: NodeState, message: NodeMessage, nowMs: number) => Step<NodeState>): Step<NodeState> {
  const found = new Set(message.executions.map((execution) => execution.id));
  const open = new Map(state.open);
  // Beyond the bound on purpose: the agent holds these, and it holds no more than was delivered to it.
  for (const execution of message.executions) open.set(execution.id, execution);
  const known: NodeState = { ...state, open };
  const gone = message.asked.filter((id) => !found.has(id));
  const told = tellGone(known, gone, message.retry);
  const rest = without(message.retry, gone);
  const retry = rest === null ? deliver(known, nowMs) : decide(known, rest, nowMs);
  return step(retry.state, retry.changes, [...told, ...retry.effects]);
}

/** Asked to cancel. What never reached the agent is cancelled here; the rest when its process group is gone. */
export function cancel(state: NodeState, message: Said<'cancel'>, nowMs: number): Step<NodeState> {
  const lookUp = unknown(state, message.executions, message);
  if (lookUp.length > 0) return step(state, [], lookUp);
  const open = new Map(state.open);
  const changes: Change[] = [];
  const settle: ExecutionId[] = [];
  const toCancel: ExecutionId[] = [];
  for (const id of message.executions) {
    const execution = open.get(id);
    if (execution === undefined) continue;
    if (execution.status === 'pending') {
      open.delete(id);
      changes.push(cancelledHere(execution, nowMs));
      settle.push(id);
    } else {
      open.set(id, { ...execution, cancelRequestedAtMs: execution.cancelRequestedAtMs ?? nowMs });
      if (execution.cancelRequestedAtMs === null) changes.push({ write: { kind: 'execution-cancel-requested', execution: id, atMs: nowMs }, events: [], notices: [] });
      toCancel.push(id);
    }
  }
  const effects: Effect[] = message.asker === null ? [] : [answerCancel(message.asker, settle.length + toCancel.length)];
  if (state.session !== null && settle.length > 0) effects.push({ type: 'send', session: state.session.id, frame: { type: 'settle', executions: settle } });
  if (state.session !== null && toCancel.length > 0) effects.push({ type: 'send', session: state.session.id, frame: { type: 'cancel', executions: toCancel } });
  const next = deliver({ ...state, open }, nowMs);
  return step(next.state, changes, [...effects, ...next.effects]);
}

/** The sweep stored their expiry: the agent ends and forgets them (C7, C8). */
export function expired(state: NodeState, message: Said<'executions-expired'>, nowMs: number): Step<NodeState> {
  const open = new Map(state.open);
  for (const id of message.executions) open.delete(id);
  const settle: readonly Effect[] = state.session === null ? [] : [{ type: 'send', session: state.session.id, frame: { type: 'settle', executions: [...message.executions] } }];
  const next = deliver({ ...state, open }, nowMs);
  return step(next.state, [], [...settle, ...next.effects]);
}

/** Pending executions that the agent has: sent, each with its event. */
export function markSent(state: NodeState, executions: readonly ExecutionId[], nowMs: number): Step<NodeState> {
  const open = new Map(state.open);
  const changes: Change[] = [];
  for (const id of executions) {
    const execution = open.get(id);
    if (execution?.status !== 'pending') continue;
    open.set(id, { ...execution, status: 'sent', sentAtMs: nowMs, updatedAtMs: nowMs });
    changes.push({ write: { kind: 'execution-sent', execution: id, atMs: nowMs }, events: [sentEvent(execution, nowMs)], notices: [changed(execution, 'sent', null), EVENTS_STORED] });
  }
  return changes.length === 0 ? unchanged(state) : step({ ...state, open }, changes);
}

/** The change that ends an execution as the agent reported it. */
export function ending(execution: OpenExecution, result: ExecutionResult, nowMs: number): Change {
  const status = result.outcome;
  const sentAtMs = execution.sentAtMs ?? nowMs;
  const moment = { status, exitCode: result.exit_code, sentAtMs, completedAtMs: status === 'completed' ? nowMs : null, cancelledAtMs: status === 'cancelled' ? nowMs : null, updatedAtMs: nowMs };
  const event = { type: `edge.command_execution.${status}` as const, subject: execution.id, atMs: nowMs, data: executionSnapshot(execution, moment) };
  return {
    write: { kind: 'execution-finished', execution: execution.id, status, atMs: nowMs, sentAtMs, ending: { exitCode: result.exit_code, output: result.output, parts: result.parts, truncated: result.output_truncated } },
    events: execution.status === 'pending' ? [sentEvent(execution, nowMs), event] : [event],
    notices: [changed(execution, status, result.exit_code), EVENTS_STORED],
  };
}

/** Cancel frames for sent executions that someone asked to cancel while the agent was away. */
export function cancelsOwed(state: NodeState, among: readonly ExecutionId[]): readonly Effect[] {
  if (state.session === null) return [];
  const executions = among.filter((id) => {
    const execution = state.open.get(id);
    return execution?.status === 'sent' && execution.cancelRequestedAtMs !== null;
  });
  return executions.length === 0 ? [] : [{ type: 'send', session: state.session.id, frame: { type: 'cancel', executions } }];
}

/** A cancel that never reached an agent: no process ran, the code is that of a cancel. */
function cancelledHere(execution: OpenExecution, nowMs: number): Change {
  const moment = { status: 'cancelled' as const, exitCode: EXIT_CANCELLED, sentAtMs: null, completedAtMs: null, cancelledAtMs: nowMs, updatedAtMs: nowMs };
  return {
    write: { kind: 'execution-finished', execution: execution.id, status: 'cancelled', atMs: nowMs, sentAtMs: null, ending: { exitCode: EXIT_CANCELLED, output: null, parts: 0, truncated: false } },
    events: [{ type: 'edge.command_execution.cancelled', subject: execution.id, atMs: nowMs, data: executionSnapshot(execution, moment) }],
    notices: [changed(execution, 'cancelled', EXIT_CANCELLED), EVENTS_STORED],
  };
}

function sentEvent(execution: OpenExecution, nowMs: number): Change['events'][number] {
  const moment = { status: 'sent' as const, exitCode: null, sentAtMs: nowMs, completedAtMs: null, cancelledAtMs: null, updatedAtMs: nowMs };
  return { type: 'edge.command_execution.sent', subject: execution.id, atMs: nowMs, data: executionSnapshot(execution, moment) };
}

function changed(execution: OpenExecution, status: 'sent' | 'completed' | 'cancelled', exitCode: number | null): Notice {
  return { type: 'execution-changed', execution: execution.id, command: execution.command.id, node: execution.node, clusterName: execution.clusterName, status, exitCode };
}

/** Executions that this actor does not hold, once: after the look-up they are known or gone. */
function unknown(state: NodeState, executions: readonly ExecutionId[], retry: NodeMessage): readonly Effect[] {
  const asked = executions.filter((id) => !state.open.has(id));
  return asked.length === 0 ? [] : [{ type: 'look-up', executions: asked, retry: only(retry, asked) }];
}

/** The part of a message that waits for the look-up. A cancel waits whole: its asker has one answer. */
function only(message: NodeMessage, executions: readonly ExecutionId[]): NodeMessage {
  switch (message.type) {
    case 'executions-acknowledged':
      return { ...message, executions };
    case 'results-arrived':
      return { ...message, results: message.results.filter((result) => executions.includes(result.execution)) };
    default:
      return message;
  }
}

/** What is left of a message when these executions are gone; null when nothing is. */
function without(message: NodeMessage | null, gone: readonly ExecutionId[]): NodeMessage | null {
  if (message === null) return null;
  switch (message.type) {
    case 'executions-acknowledged':
    case 'cancel':
      return { ...message, executions: message.executions.filter((id) => !gone.includes(id)) };
    case 'results-arrived':
      return { ...message, results: message.results.filter((result) => !gone.includes(result.execution)) };
    case 'output-part-arrived':
      return gone.includes(message.execution) ? null : message;
    default:
      return message;
  }
}

function tellGone(state: NodeState, gone: readonly ExecutionId[], retry: NodeMessage | null): readonly Effect[] {
  if (gone.length === 0 || state.session === null) return [];
  const type = retry?.type === 'results-arrived' ? 'confirm' : 'settle';
  return [{ type: 'send', session: state.session.id, frame: { type, executions: [...gone] } }];
}

function answerCancel(asker: NonNullable<Said<'cancel'>['asker']>, count: number): Effect {
  return count > 0 ? answer(asker, ok(null)) : refuseAsker(asker, { code: 'conflict', message: 'The execution has already finished.' });
}
