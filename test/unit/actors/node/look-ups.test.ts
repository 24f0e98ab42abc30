/** How many executions that nobody knows an agent may name (L1). */
import test from 'ava';
import {
  GRANTS_CHECK_COST_MIN,
  LOOKED_UP_BURST_MAX,
  LOOKED_UP_PER_SECOND_MAX,
} from '../../../../actors/node/look-ups.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../../../transport/protocol/limits.ts';
import { execution, nodeState, session } from '../../../support/actors.ts';
import { acknowledged, connected, disconnected, say } from './fixture.ts';

/** The agent names so many executions that nobody knows. */
const named = (count: number, of = 1): NodeMessage =>
  ({
    ...acknowledged(...Array.from({ length: count }, (_, index) => execution(index))),
    session: session(of),
  }) as NodeMessage;
/** As many as it may over two connections. */
const full = Array.from({ length: LOOKED_UP_BURST_MAX / EXECUTIONS_PER_FRAME_MAX }, () =>
  named(EXECUTIONS_PER_FRAME_MAX),
);

/** What the last of these messages leads to, by the kinds of its effects. */
function effectsOf(
  messages: readonly NodeMessage[],
  from: NodeState = nodeState(),
  nowMs = 1_000,
): { readonly state: NodeState; readonly effects: readonly string[] } {
  let state = from;
  let effects: readonly string[] = [];
  for (const message of messages) {
    const step = say(state, message, nowMs);
    state = step.state;
    effects = step.effects.map((effect) => (effect.type === 'hang-up' ? `hang-up ${effect.code}` : effect.type));
  }
  return { state, effects };
}

test('an agent may name as many unknown executions as it can hold, and their results, over two connections', (t) => {
  t.deepEqual(effectsOf([connected(1), ...full]).effects, ['look-up']);
});

test('one that names more is hung up, and nothing of it is looked up; a new session does not begin anew', (t) => {
  const flooded = effectsOf([connected(1), ...full, named(1)]);
  t.deepEqual(flooded.effects, ['hang-up 4008']);

  const gone = effectsOf([disconnected(1_000), connected(2), named(1, 2)], flooded.state);
  t.deepEqual(gone.effects, ['hang-up 4008']);

  const later = effectsOf([named(LOOKED_UP_PER_SECOND_MAX, 2)], gone.state, 2_000);
  t.deepEqual(later.effects, ['look-up']);
});

test('what is known costs nothing, and so does what a person asks for', (t) => {
  const spent = { ...nodeState(), lookUps: { tokens: 0, atMs: 1_000 } };

  t.deepEqual(effectsOf([{ type: 'cancel', executions: [execution(1)], replyTo: null }], spent).effects, ['look-up']);
});

test('logins that an agent names again and again are a flood too', (t) => {
  const grants: NodeMessage = {
    type: 'ssh-grants-reported',
    session: session(1),
    grants: [{ ssh_username_id: '00000000-0000-4000-8000-000000000001', ssh_public_key_id: null }],
  };
  const allowed = LOOKED_UP_BURST_MAX / GRANTS_CHECK_COST_MIN;

  t.deepEqual(effectsOf([connected(1), ...Array.from({ length: allowed }, () => grants)]).effects, [
    'check-ssh-grants',
  ]);
  t.deepEqual(effectsOf([connected(1), ...Array.from({ length: allowed + 1 }, () => grants)]).effects, [
    'hang-up 4008',
  ]);
});
