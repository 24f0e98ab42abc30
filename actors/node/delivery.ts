/** Which executions go to the agent now, and where the next ones come from. */
import type { Delivery } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { traceparentOf } from '../../transport/protocol/trace-context.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { OpenExecution } from '../records.ts';
import { traceOf } from './spans.ts';
import { OPEN_EXECUTIONS_MAX } from './state.ts';
import type { LiveSession, NodeState } from './state.ts';

/** Executions sent and not acknowledged yet, at most. Bounds what one socket buffers: 32 scripts of 128 KiB. */
export const UNACKNOWLEDGED_MAX = 32;

/**
 * Script bytes in one deliver frame, at most: escaped it stays below FRAME_BYTES_MAX. A single larger script goes
 * alone.
 */
const DELIVER_TEXT_CHARS_MAX = 131_072;

/** Adds open executions up to the bound; what does not fit stays in the database as backlog. */
export function withOpen(state: NodeState, executions: readonly OpenExecution[], more: boolean): NodeState {
  if (executions.length === 0 && more === state.backlog) return state;
  const open = new Map(state.open);
  let backlog = more;
  for (const execution of executions) {
    if (open.has(execution.id)) continue; // what is known here is newer than what was told
    if (open.size < OPEN_EXECUTIONS_MAX) open.set(execution.id, execution);
    else backlog = true;
  }
  return { ...state, open, backlog };
}

/** Without executions that are over. */
export function without(state: NodeState, ended: readonly ExecutionId[]): NodeState {
  if (ended.length === 0) return state;
  const open = new Map(state.open);
  for (const id of ended) open.delete(id);
  const over = state.reads === 0 ? state.over : new Set([...state.over, ...ended]);
  if (state.session === null) return { ...state, open, over };
  const delivered = new Set(state.session.delivered);
  for (const id of ended) delivered.delete(id);
  return { ...state, open, over, session: { ...state.session, delivered } };
}

/** Rows were stored that a load under way may have missed. */
export function missed(state: NodeState): Step<NodeState> {
  return state.loading === 'asked' ? step({ ...state, loading: 'more' }, []) : unchanged(state);
}

/** Reads what is stored and not held here. */
export function rescan(state: NodeState): Step<NodeState> {
  if (state.loading !== false) return missed(state);
  const limit = OPEN_EXECUTIONS_MAX - state.open.size;
  if (limit <= 0) return state.backlog ? unchanged(state) : step({ ...state, backlog: true }, []);
  return step({ ...state, loading: 'asked' }, [], [{ type: 'load-open', limit, except: [...state.open.keys()] }]);
}

/** Sends what may go now, and asks for the next of the backlog when there is room. */
export function deliver(state: NodeState, nowMs: number): Step<NodeState> {
  if (state.session === null) return step(state, []);
  const effects: Effect[] = [];
  let next = state;
  const chosen = choose(state);
  if (chosen.length > 0) {
    const delivered = new Set(state.session.delivered);
    for (const execution of chosen) delivered.add(execution.id);
    next = { ...state, session: { ...state.session, delivered } };
    effects.push({
      type: 'send',
      session: state.session.id,
      frame: { type: 'deliver', deliveries: chosen.map((execution) => delivery(execution, nowMs)) },
    });
  }
  if (next.backlog && next.loading === false && next.open.size <= OPEN_EXECUTIONS_MAX / 2) {
    effects.push({ type: 'load-open', limit: OPEN_EXECUTIONS_MAX - next.open.size, except: [...next.open.keys()] });
    next = { ...next, loading: 'asked' };
  }
  return step(next, [], effects);
}

/** Sends again what was decided and not sent. */
export function withheld(
  state: NodeState,
  session: LiveSession,
  executions: readonly ExecutionId[],
  nowMs: number,
): Step<NodeState> {
  const delivered = new Set(session.delivered);
  for (const id of executions) if (state.open.get(id)?.status === 'pending') delivered.delete(id);
  return deliver({ ...state, session: { ...session, delivered } }, nowMs);
}

/** Whether some of its executions wait for what was sent before them to be acknowledged. */
export function hasUndelivered(state: NodeState): boolean {
  return state.open.size > UNACKNOWLEDGED_MAX || choose(state).length > 0;
}

function choose(state: NodeState): readonly OpenExecution[] {
  const delivered = state.session?.delivered ?? new Set<ExecutionId>();
  let room = UNACKNOWLEDGED_MAX - countUnacknowledged(state, delivered);
  let chars = 0;
  const chosen: OpenExecution[] = [];
  for (const execution of state.open.values()) {
    if (room <= 0) break;
    if (execution.status !== 'pending' || execution.cancelRequestedAtMs !== null || delivered.has(execution.id))
      continue;
    chars += execution.command.text.length;
    if (chosen.length > 0 && chars > DELIVER_TEXT_CHARS_MAX) break;
    chosen.push(execution);
    room -= 1;
  }
  return chosen;
}

function countUnacknowledged(state: NodeState, delivered: ReadonlySet<ExecutionId>): number {
  let count = 0;
  for (const id of delivered) if (state.open.get(id)?.status === 'pending') count += 1;
  return count;
}

function delivery(execution: OpenExecution, nowMs: number): Delivery {
  const { command } = execution;
  const trace = traceOf(execution);
  return {
    execution: execution.id,
    command_text: command.text,
    timeout_ms: command.timeoutMs,
    expires_in_ms: command.expiredAtMs === null ? null : Math.max(0, command.expiredAtMs - nowMs),
    ...(trace !== null && { traceparent: traceparentOf(trace) }),
  };
}
