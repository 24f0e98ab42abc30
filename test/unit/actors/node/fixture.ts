/** What is said to a node in tests, most of it by its session 1, and what it does with it. */
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { OpenExecution } from '../../../../actors/records.ts';
import type { ExecutionResult } from '../../../../transport/protocol/execution-result.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { HEALTHY, NOW_MS, REGISTRATION, session, SETTINGS } from '../../../support/actors.ts';

/** What a node does with each message. */
export const behaviour = nodeBehaviour(SETTINGS);

/** One step of the node. */
export function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}

/**
 * An agent connects by session `number`: well, with what it always says of itself, holding nothing, unless said
 * otherwise.
 */
export function connected(
  number: number,
  more: Partial<Extract<NodeMessage, { type: 'agent-connected' }>['hello']> = {},
): NodeMessage {
  const hello = { registration: REGISTRATION, report: HEALTHY, holding: [], ...more };
  return { type: 'agent-connected', session: session(number), hello };
}

/** Its session ends, by itself or by us. */
export function disconnected(lastHeardMs: number, isOurs = false): NodeMessage {
  return { type: 'agent-disconnected', session: session(1), lastHeardMs, isOurs };
}

/** It has these executions on its disk. */
export function acknowledged(...executions: readonly ExecutionId[]): NodeMessage {
  return { type: 'executions-acknowledged', session: session(1), executions, atMs: NOW_MS };
}

/** It tells how executions ended. */
export function arrived(...results: readonly ExecutionResult[]): NodeMessage {
  return { type: 'results-arrived', session: session(1), results };
}

/** The rows answer a look-up. */
export function lookedUp(
  asked: readonly ExecutionId[],
  executions: readonly OpenExecution[],
  retry: NodeMessage,
): NodeMessage {
  const leftMs = new Map(
    executions.flatMap(({ id, command: { expiredAtMs } }) =>
      expiredAtMs === null ? [] : [[id, Math.max(0, expiredAtMs - NOW_MS)] as const],
    ),
  );
  return { type: 'executions-looked-up', asked, executions, leftMs, retry };
}
