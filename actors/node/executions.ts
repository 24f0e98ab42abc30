/** What happens to the executions of a node: acknowledged, finished, cancelled, expired, found again. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Change, Effect, Step } from '../step.ts';
import { answer, refuse, step, unchanged } from '../step.ts';
import type { OpenExecution } from '../records.ts';
import { ok } from '../refusal.ts';
import { deliver, missed, withOpen, without } from './delivery.ts';
import { cancelledHere, ending, lost, sent } from './endings.ts';
import type { NodeMessage, MessageOf } from './messages.ts';
import { traced } from './spans.ts';
import type { NodeState } from './state.ts';

/** New executions for this node. They are stored already. */
export function run(state: NodeState, message: MessageOf<'run'>, nowMs: number): Step<NodeState> {
  // Behind a backlog the order of creation is kept by loading, not by adding here. Beside a load, only its answer may
  // add:
  // it could show as open what was told here and has finished since, and that would run twice.
  if (state.backlog || state.loading !== false) return missed(state);
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
  const missed = missing(without({ ...state, loading: false }, ended), open, nowMs);
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
  const marked = markSent(state, known, nowMs);
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

/**
 * What the rows say of executions that this actor did not hold. The rest is terminal: the agent stops and forgets it
 * (C8).
 */
export function lookedUp(
  state: NodeState,
  message: MessageOf<'executions-looked-up'>,
  nowMs: number,
  decide: (state: NodeState, message: NodeMessage, nowMs: number) => Step<NodeState>,
): Step<NodeState> {
  const { asked, retry } = message;
  const found = new Set(message.executions.map((execution) => execution.id).filter((id) => !state.over.has(id)));
  const gone = asked.filter((id) => !found.has(id));
  const told = toAgent(state, retry.type === 'results-arrived' ? 'confirm' : 'settle', gone);
  // What an older session named, the agent may have lost since.
  const isHeld = 'session' in retry && retry.session === state.session?.id;
  const adopted = adopt(without(state, gone), message.executions, isHeld, nowMs);
  const rest = withoutGone(retry, gone);
  const retried = rest === null ? deliver(adopted.state, nowMs) : retryOf(adopted.state, rest, nowMs, decide);
  return step(
    retried.state,
    [...adopted.changes, ...retried.changes],
    [...told, ...adopted.effects, ...retried.effects],
  );
}

/**
 * Takes up executions that were looked up. `isHeld`: the agent of this session named them, so it has them. Else those
 * that it should have and has not are `missing`.
 */
function adopt(
  state: NodeState,
  executions: readonly OpenExecution[],
  isHeld: boolean,
  nowMs: number,
): Step<NodeState> {
  const open = new Map(state.open);
  const delivered = new Set(state.session?.delivered);
  // what is known here is newer than what was read
  const found = executions.filter(({ id }) => !open.has(id) && !state.over.has(id));
  for (const execution of found) {
    // Beyond the bound on purpose: the agent holds these, and it holds no more than was delivered to it.
    open.set(execution.id, execution);
    if (isHeld) delivered.add(execution.id);
  }
  return missing(
    { ...state, open, session: state.session === null ? null : { ...state.session, delivered } },
    found,
    nowMs,
  );
}

/**
 * Those of these that the agent should have and did not name. One that remembers what it ran is asked: they ended
 * there, and the database is one of before. Else its machine lost them, and they are over.
 */
export function missing(state: NodeState, executions: readonly OpenExecution[], nowMs: number): Step<NodeState> {
  const { session } = state;
  const absent = executions.filter((execution) => isLost(state, execution));
  if (session === null || absent.length === 0) return unchanged(state);
  const ids = absent.map(({ id }) => id);
  if (!session.recalls)
    return step(
      without(state, ids),
      absent.map((execution) => lost(execution, nowMs)),
    );
  return step(
    { ...state, session: { ...session, delivered: new Set([...session.delivered, ...ids]) } },
    [],
    toAgent(state, 'recall', ids),
  );
}

/** A cancel that someone waits for comes back as a message of its own: then a refusal of its write is its answer. */
function retryOf(
  state: NodeState,
  rest: NodeMessage,
  nowMs: number,
  decide: (state: NodeState, message: NodeMessage, nowMs: number) => Step<NodeState>,
): Step<NodeState> {
  if (rest.type !== 'cancel' || rest.replyTo === null || rest.executions.length === 0)
    return decide(state, rest, nowMs);
  return step(state, [], [{ type: 'tell', told: { to: { kind: 'node', id: state.record.id }, message: rest } }]);
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

/** Sent on an earlier session, and not among what the agent of this one has. */
function isLost(state: NodeState, execution: OpenExecution): boolean {
  return execution.status === 'sent' && state.session !== null && !state.session.delivered.has(execution.id);
}

function toAgent(
  state: NodeState,
  type: 'settle' | 'cancel' | 'confirm' | 'recall',
  executions: readonly ExecutionId[],
): readonly Effect[] {
  return state.session === null || executions.length === 0
    ? []
    : [{ type: 'send', session: state.session.id, frame: { type, executions: [...executions] } }];
}

/** Executions that this actor does not hold, once: after the look-up they are known or gone. */
function unknown(state: NodeState, executions: readonly ExecutionId[], retry: NodeMessage): readonly Effect[] {
  const asked = [...new Set(executions)].filter((id) => !state.open.has(id));
  return asked.length === 0 ? [] : [{ type: 'look-up', executions: asked, retry: only(retry, asked) }];
}

/** The part of a message that waits for the look-up. A cancel waits whole: whoever asked has one answer. */
function only(message: NodeMessage, executions: readonly ExecutionId[]): NodeMessage {
  if (message.type === 'executions-acknowledged') return { ...message, executions };
  if (message.type === 'results-arrived')
    return { ...message, results: message.results.filter((result) => executions.includes(result.execution)) };
  return message;
}

/** What is left of a message when these executions are gone; null when nothing is. */
function withoutGone(message: NodeMessage, gone: readonly ExecutionId[]): NodeMessage | null {
  if (message.type === 'executions-acknowledged' || message.type === 'cancel')
    return { ...message, executions: message.executions.filter((id) => !gone.includes(id)) };
  if (message.type === 'results-arrived')
    return { ...message, results: message.results.filter((result) => !gone.includes(result.execution)) };
  return message.type === 'output-part-arrived' && gone.includes(message.execution) ? null : message;
}

function answerCancel(replyTo: NonNullable<MessageOf<'cancel'>['replyTo']>, count: number): Effect {
  return count > 0
    ? answer(replyTo, ok(null))
    : refuse(replyTo, { code: 'conflict', message: 'The execution has already finished.' });
}
