/**
 * Executions that a node's actor does not hold, and those that its agent should hold and does not: the rows are asked,
 * or the agent.
 */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../transport/protocol/limits.ts';
import { type Effect, type Step, step, unchanged } from '../step.ts';
import type { OpenExecution } from '../records.ts';
import { deliver, without } from './delivery.ts';
import { lost } from './endings.ts';
import type { NodeMessage, MessageOf } from './messages.ts';
import { youngest, type NodeState } from './state.ts';

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
  const newestRead = youngest(
    state.newestRead,
    executions.map(({ id }) => id),
  );
  return missing(
    { ...state, open, newestRead, session: state.session === null ? null : { ...state.session, delivered } },
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

/** Sent on an earlier session, and not among what the agent of this one has. */
function isLost(state: NodeState, execution: OpenExecution): boolean {
  return execution.status === 'sent' && state.session !== null && !state.session.delivered.has(execution.id);
}

/** Frames about these executions, each with as many as an agent takes, if there are any and the agent is there. */
export function toAgent(
  state: NodeState,
  type: 'settle' | 'cancel' | 'confirm' | 'recall',
  executions: readonly ExecutionId[],
): readonly Effect[] {
  const { session } = state;
  if (session === null) return [];
  const frames = Math.ceil(executions.length / EXECUTIONS_PER_FRAME_MAX);
  return Array.from({ length: frames }, (_, index) => {
    const at = index * EXECUTIONS_PER_FRAME_MAX;
    const some = executions.slice(at, at + EXECUTIONS_PER_FRAME_MAX);
    return { type: 'send', session: session.id, frame: { type, executions: some } };
  });
}

/** Executions that this actor does not hold, once: after the look-up they are known or gone. */
export function unknown(state: NodeState, executions: readonly ExecutionId[], retry: NodeMessage): readonly Effect[] {
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
