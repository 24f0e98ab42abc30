/** An agent that connects to its node. */
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import { NOW_MS, SETTINGS } from '../../../support/actors.ts';

/** What a node does with each message. */
export const behaviour = nodeBehaviour(SETTINGS);

/** One step of the node. */
export function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}
