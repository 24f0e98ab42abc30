/** What admins say to one of them, as text. */
import test from 'ava';
import { ownChannel, readWakeUp } from '../../../../persistence/admins/own-channel.ts';
import type { CommandId } from '../../../../transport/protocol/ids.ts';
import { CLUSTER, execution, id, NODE } from '../../../support/actors.ts';

const [A, B] = [id<CommandId>('a', 1), id<CommandId>('a', 2)];

test('a message is its type and ids', (t) => {
  t.deepEqual(readWakeUp(`run ${A} ${B}`), { type: 'run', commands: [A, B] });
  t.deepEqual(readWakeUp(`cancel ${A}`), { type: 'cancel', commands: [A] });
  t.deepEqual(readWakeUp(`node ${NODE} ${CLUSTER}`), { type: 'node', node: NODE, cluster: CLUSTER });
  t.deepEqual(readWakeUp(`owned ${CLUSTER}:7`), { type: 'owned', owned: [{ cluster: CLUSTER, epoch: 7 }] });
  t.deepEqual(readWakeUp(`ended ${NODE}:${execution(1)} ${NODE}:${execution(2)}`), {
    type: 'ended',
    ended: [
      [NODE, execution(1)],
      [NODE, execution(2)],
    ],
  });
});

test('what is of another version, or no message at all, is left aside', (t) => {
  for (const payload of [
    '',
    'run',
    'run 1',
    `run ${A} ;`,
    `walk ${A}`,
    `node ${NODE}`,
    `ended ${NODE}`,
    `owned ${CLUSTER}`,
    `owned ${CLUSTER}:x`,
    `owned ${CLUSTER}:0`,
    `ended ${NODE}:`,
    `{"type":"run"}`,
    `run  ${A}`,
  ])
    t.is(readWakeUp(payload), null, payload);
});

test('the channel of an admin is a name that PostgreSQL takes without quotes', (t) => {
  t.is(ownChannel('019ab000-0000-7000-8000-00000000000f'), 'edge_admin_019ab00000007000800000000000000f');
});
