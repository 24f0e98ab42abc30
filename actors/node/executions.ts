/** What happens to the executions of a node: acknowledged, finished, cancelled, expired, found again. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { type Change, type Effect, type Step, answer, refuse, step, unchanged } from '../step.ts';
import type { OpenExecution } from '../records.ts';
import { ok } from '../refusal.ts';
import { deliver, missed, rescan, withOpen, without } from './delivery.ts';
import { cancelledHere, ending, sent } from './endings.ts';
import type { MessageOf } from './messages.ts';
import { traced } from './spans.ts';
import { youngest, type NodeState } from './state.ts';
import { missing, toAgent, unknown } from './looked-up.ts';

/** New executions for this node. They are stored already. */
export function run(state: NodeState, message: MessageOf<'run'>, nowMs: number): Step<NodeState> {
  // Behind a backlog the order of creation is kept by loading, not by adding here. Beside a load, only its answer may
  // add:
  // it could show as open what was told here and has finished since, and that would run twice.
  if (state.backlog || state.loading !== false) return missed(state);
  // A commit is seen by others before its answer is here: a rescan for another command may have brought it, and its
  // result may have been quicker than this. The rows know.
  const { open, newestRead } = state;
  if (newestRead !== null && message.executions.some(({ id }) => id <= newestRead && !open.has(id)))
    return rescan(state);
  return deliver(withOpen(state, message.executions, state.backlog), nowMs);
}

/**
 * The next open executions, as asked for. Each is taken up as its row has it: one that was cancelled meanwhile, or that
 * the agent lost, is over.
 */
export function loaded(state: NodeState, message: MessageOf<'executions-loaded'>, nowMs: number): Step<NodeState> {
  if (state.loading === false) return deliver(state, nowMs); // nobody here asked for it: an actor that crashed did
  const more = message.more || state.loading === 'more';
  const changes: Change[] = [];
  const settle: ExecutionId[] = [];
  const open: OpenExecution[] = [];
  for (const execution of message.executions) {
    if (state.open.has(execution.id) || state.over.has(execution.id)) continue;
    if (execution.status === 'pending' && execution.cancelRequestedAtMs !== null) {
      changes.push(cancelledHere(execution, nowMs));
      settle.push(execution.id);
    } else open.push(execution);
  }
  const ended = changes.flatMap(({ write }) => ('execution' in write ? [write.execution] : []));
  const newestRead = youngest(
    state.newestRead,
    message.executions.map(({ id }) => id),
  );
  const missed = missing(without({ ...state, loading: false, newestRead }, ended), open, nowMs);
  const over = new Set(missed.changes.flatMap(({ write }) => ('execution' in write ? [write.execution] : [])));
  const next = deliver(
    withOpen(
      missed.state,
      open.filter(({ id }) => !over.has(id)),
      more,
    ),
    nowMs,
  );
  return step(
    next.state,
    [...changes, ...missed.changes],
    [
      ...toAgent(state, 'settle', settle),
      ...missed.effects,
      ...cancelRecoveryEffects(
        next.state,
        open.map((execution) => execution.id),
      ),
      ...next.effects,
    ],
  );
}

/** The agent has these in its journal: they are sent (C4). */
export function acknowledged(
  state: NodeState,
  message: MessageOf<'executions-acknowledged'>,
  nowMs: number,
): Step<NodeState> {
  const known = message.executions.filter((id) => state.open.has(id));
  const lookUp = unknown(state, message.executions, message);
  const marked = markSent(state, known, Math.min(message.atMs, nowMs));
  const next = deliver(marked.state, nowMs);
  return step(next.state, marked.changes, [...lookUp, ...cancelRecoveryEffects(next.state, known), ...next.effects]);
}

/**
 * Results: stored with the state they found, then confirmed (C5). A pending row becomes sent and completed at once
 * (C6).
 */
export function finished(state: NodeState, message: MessageOf<'results-arrived'>, nowMs: number): Step<NodeState> {
  const changes: Change[] = [];
  const confirmed = new Set<ExecutionId>();
  for (const result of message.results) {
    const execution = state.open.get(result.execution);
    if (execution === undefined || confirmed.has(result.execution)) continue;
    confirmed.add(result.execution);
    changes.push(ending(execution, result, nowMs));
  }
  const lookUp = unknown(
    state,
    message.results.map((result) => result.execution),
    message,
  );
  const next = deliver(without(state, [...confirmed]), nowMs);
  const confirm: readonly Effect[] =
    confirmed.size === 0
      ? []
      : [{ type: 'send', session: message.session, frame: { type: 'confirm', executions: [...confirmed] } }];
  return step(next.state, changes, [...confirm, ...lookUp, ...next.effects]);
}

/** One piece of a long output: stored, then the agent may send the next (C10). */
export function outputPart(state: NodeState, message: MessageOf<'output-part-arrived'>): Step<NodeState> {
  const { session, execution, part, text } = message;
  if (!state.open.has(execution)) return step(state, [], unknown(state, [execution], message));
  const change: Change = { write: { kind: 'output-part', execution, part, text }, events: [], notices: [] };
  return step(state, [change], [{ type: 'send', session, frame: { type: 'part-stored', execution, part } }]);
}

/** Asked to cancel. What never reached the agent is cancelled here; the rest when its process group is gone. */
export function cancel(state: NodeState, message: MessageOf<'cancel'>, nowMs: number): Step<NodeState> {
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
      changes.push(cancelledHere(execution, nowMs));
      settle.push(id);
    } else {
      open.set(id, { ...execution, cancelRequestedAtMs: execution.cancelRequestedAtMs ?? nowMs });
      if (execution.cancelRequestedAtMs === null)
        changes.push({
          write: { kind: 'execution-cancel-requested', execution: id, atMs: nowMs },
          events: [],
          notices: [],
        });
      toCancel.push(id);
    }
  }
  const answered: readonly Effect[] =
    message.replyTo === null ? [] : [answerCancel(message.replyTo, settle.length + toCancel.length)];
  const next = deliver(without({ ...state, open }, settle), nowMs);
  return step(next.state, changes, [
    ...answered,
    ...toAgent(state, 'settle', settle),
    ...toAgent(state, 'cancel', toCancel),
    ...next.effects,
  ]);
}

/** The sweep stored their end: the agent ends and forgets them (C7, C8). */
export function expired(state: NodeState, message: MessageOf<'executions-expired'>, nowMs: number): Step<NodeState> {
  const next = deliver(without(state, message.executions), nowMs);
  const spans = message.executions.flatMap((id) => {
    const execution = state.open.get(id);
    return execution === undefined
      ? []
      : (traced(execution, { status: 'expired', exitCode: null, atMs: nowMs }).onceStored ?? []);
  });
  return step(next.state, [], [...toAgent(state, 'settle', message.executions), ...spans, ...next.effects]);
}

/** Pending executions that the agent has: sent, each with its event. */
export function markSent(state: NodeState, executions: readonly ExecutionId[], nowMs: number): Step<NodeState> {
  const open = new Map(state.open);
  const changes: Change[] = [];
  for (const id of executions) {
    const execution = open.get(id);
    if (execution?.status !== 'pending') continue;
    open.set(id, { ...execution, status: 'sent', sentAtMs: nowMs, updatedAtMs: nowMs });
    changes.push(sent(execution, nowMs));
  }
  return changes.length === 0 ? unchanged(state) : step({ ...state, open }, changes);
}

/** Cancel frames for sent executions that someone asked to cancel while the agent was away. */
export function cancelRecoveryEffects(state: NodeState, among: readonly ExecutionId[]): readonly Effect[] {
  return toAgent(
    state,
    'cancel',
    among.filter((id) => {
      const execution = state.open.get(id);
      return execution?.status === 'sent' && execution.cancelRequestedAtMs !== null;
    }),
  );
}

function answerCancel(replyTo: NonNullable<MessageOf<'cancel'>['replyTo']>, count: number): Effect {
  return count > 0
    ? answer(replyTo, ok(null))
    : refuse(replyTo, { code: 'conflict', message: 'The execution has already finished.' });
}
