/**
 * When a node is unreachable: when nothing was heard of it for long enough, and it was not the admin that could not
 * hear. Without an admin at all: `ownerless` in status.ts.
 */
import { RECONNECT_MS_MAX } from '../../transport/protocol/limits.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { MessageOf } from './messages.ts';
import type { NodeState } from './state.ts';
import { unreachable } from './status.ts';

/**
 * An agent may take this long to be back after its admin was away, in ms: its longest wait between two tries, and a try
 * that an admin which stands still holds up for 10 s.
 */
export const AGENT_RETURN_MS_MAX = RECONNECT_MS_MAX + 10_000;

/**
 * A reminder that comes later than this was held up by an absence of the admin, in ms: an event loop that is only busy
 * is sooner.
 */
export const REMINDER_LATE_MS_MAX = 3_000;

/**
 * What a node without a session has ahead: to be out of reach, unless its agent comes. After an absence of the admin
 * itself the agents get the time that they may take to come back.
 */
export function silenceRecoveryEffects(state: NodeState, unreachableAfterMs: number, nowMs: number): readonly Effect[] {
  if (state.session !== null || state.record.status === 'unreachable') return [];
  return [silenceEffect(Math.max(unreachableAfterMs, AGENT_RETURN_MS_MAX), nowMs)];
}

/** The reminder that a node was silent for long enough, in so many ms; at once when they are over. */
export function silenceEffect(afterMs: number, nowMs: number): Effect {
  const waitMs = Math.max(0, afterMs);
  return {
    type: 'remind',
    key: 'silence',
    afterMs: waitMs,
    message: { type: 'silence-elapsed', dueMs: nowMs + waitMs },
  };
}

/** Nothing was heard for long enough, and no session came in the meantime. */
export function silent(
  state: NodeState,
  { dueMs }: MessageOf<'silence-elapsed'>,
  unreachableAfterMs: number,
  nowMs: number,
): Step<NodeState> {
  if (state.session !== null) return unchanged(state);
  // It was this admin that was away, frozen or without its database: nobody could have come back.
  if (nowMs - dueMs > REMINDER_LATE_MS_MAX)
    return step(state, [], silenceRecoveryEffects(state, unreachableAfterMs, nowMs));
  return unreachable(state, nowMs);
}
