/** What SSH sessions of a node were opened by: remembered, and ended with it. */
import test from 'ava';
import type { Step } from '../../../../actors/step.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { SSH_GRANTS_MAX } from '../../../../transport/protocol/limits.ts';
import { REPLY_TO, id, liveNode, nodeState, NOW_MS, session } from '../../../support/actors.ts';
import { USERNAME, KEY, GRANT, YES, attempted, verified, after } from './ssh-fixture.ts';
import { behaviour } from './fixture.ts';
import { ofType } from '../../../support/steps.ts';

test('a deletion ends what it opened, on the session of now, behind the commit', (t) => {
  const endings = (step: Step<NodeState>) => ofType(step.effects, 'send');

  t.deepEqual(endings(after(liveNode(), { type: 'delete-ssh-username', replyTo: REPLY_TO, id: USERNAME })), [
    {
      type: 'send',
      session: session(1),
      frame: { type: 'end-ssh', ssh_username_ids: [USERNAME], ssh_public_key_ids: [] },
    },
  ]);
  t.deepEqual(endings(after(liveNode(), { type: 'delete-ssh-public-key', replyTo: REPLY_TO, id: KEY })), [
    { type: 'send', session: session(1), frame: { type: 'end-ssh', ssh_username_ids: [], ssh_public_key_ids: [KEY] } },
  ]);
  t.deepEqual(endings(after(nodeState(), { type: 'delete-ssh-username', replyTo: REPLY_TO, id: USERNAME })), []);
});

test('what sessions were opened by is looked for when an agent tells, and whenever a write is in doubt', (t) => {
  const reported = after(liveNode(), { type: 'ssh-grants-reported', session: session(1), grants: [GRANT] });
  t.deepEqual(reported.effects, [{ type: 'check-ssh-grants', session: session(1), grants: [GRANT] }]);
  const { state } = after(
    reported.state,
    attempted(7, { method: 'password', password: 'x' }),
    verified(7, { sshUsername: USERNAME, grant: { ssh_username_id: USERNAME, ssh_public_key_id: null } }),
    attempted(8),
    verified(8, YES),
  );

  t.deepEqual(
    behaviour
      .recoveryEffects(behaviour.refreshed(state, nodeState()), NOW_MS)
      .filter((effect) => effect.type === 'check-ssh-grants'),
    [
      {
        type: 'check-ssh-grants',
        session: session(1),
        grants: [{ ssh_username_id: USERNAME, ssh_public_key_id: null }, GRANT],
      },
    ],
  );
  t.deepEqual(ofType(behaviour.recoveryEffects(liveNode(), NOW_MS), 'check-ssh-grants'), []);
  t.deepEqual(
    after(state, { type: 'ssh-grants-checked', session: session(1), sshUsernames: [], sshPublicKeys: [KEY] }).effects,
    [
      {
        type: 'send',
        session: session(1),
        frame: { type: 'end-ssh', ssh_username_ids: [], ssh_public_key_ids: [KEY] },
      },
    ],
  );
  t.deepEqual(
    after(state, { type: 'ssh-grants-checked', session: session(1), sshUsernames: [], sshPublicKeys: [] }).effects,
    [],
  );
});

test(`no more than ${SSH_GRANTS_MAX} grants are remembered, the latest ones`, (t) => {
  const grant = (number: number) => ({ ssh_username_id: id('a', number), ssh_public_key_id: null });
  const { state } = after(
    liveNode(),
    ...Array.from({ length: 3 }, (_, part): NodeMessage => ({
      type: 'ssh-grants-reported',
      session: session(1),
      grants: Array.from({ length: 100 }, (_one, index) => grant(part * 100 + index)),
    })),
  );

  const [effect] = behaviour.recoveryEffects(state, NOW_MS);
  t.deepEqual(
    effect?.type === 'check-ssh-grants' ? effect.grants : null,
    Array.from({ length: SSH_GRANTS_MAX }, (_, index) => grant(300 - SSH_GRANTS_MAX + index)),
  );
});
