/**
 * Whether executions may still start: an agent that stood still or started anew asks it of its queue, and the rows say,
 * whatever this actor holds (C8).
 */
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { Effect, Step } from '../step.ts';
import { step } from '../step.ts';
import { lookedUp } from './looked-up.ts';
import type { NodeMessage, MessageOf } from './messages.ts';
import type { NodeState } from './state.ts';

type Decide = (state: NodeState, message: NodeMessage, nowMs: number) => Step<NodeState>;
type StillOpen = Extract<AdminFrameBody, { type: 'still-open' }>['executions'][number];

/** Another admin may have cancelled or expired them: the rows are read in any case. */
export function asked(state: NodeState, message: MessageOf<'executions-asked'>): Step<NodeState> {
  return step(state, [], [{ type: 'look-up', executions: [...new Set(message.executions)], retry: message }]);
}

/**
 * What the rows say: over is settled, asked to cancel is cancelled, and of the rest each is told for how long it may
 * still start. That is counted from when they were read, which is after the question, by the database itself: this
 * machine may have stood still.
 */
export function answered(
  state: NodeState,
  message: MessageOf<'executions-looked-up'>,
  question: MessageOf<'executions-asked'>,
  nowMs: number,
  decide: Decide,
): Step<NodeState> {
  // Who asks about them has them, as if it acknowledged them now.
  const next = lookedUp(
    state,
    {
      ...message,
      retry: { type: 'executions-acknowledged', session: question.session, executions: message.asked, atMs: nowMs },
    },
    nowMs,
    decide,
  );
  if (state.session === null || state.session.id !== question.session) return next;
  const rows = message.executions.filter(({ id }) => next.state.open.has(id));
  const isCancelled = ({ id, cancelRequestedAtMs }: (typeof rows)[number]) =>
    (next.state.open.get(id)?.cancelRequestedAtMs ?? cancelRequestedAtMs) !== null;
  const cancelled = rows
    .filter((row) => isCancelled(row) && next.state.open.get(row.id)?.cancelRequestedAtMs === null)
    .map(({ id }) => id);
  const executions = rows
    .filter((row) => !isCancelled(row))
    .map(({ id }): StillOpen => ({ execution: id, expires_in_ms: message.leftMs.get(id) ?? null }));
  const effects: readonly Effect[] = [
    ...(cancelled.length > 0
      ? [
          {
            type: 'send' as const,
            session: question.session,
            frame: { type: 'cancel' as const, executions: cancelled },
          },
        ]
      : []),
    ...(executions.length > 0
      ? [
          {
            type: 'send' as const,
            session: question.session,
            frame: { type: 'still-open' as const, ask: question.ask, executions },
          },
        ]
      : []),
  ];
  return step(next.state, next.changes, [...next.effects, ...effects]);
}
