/** Which outputs an admin asks of a node's session, and what becomes of them when it ends. */
import test from 'ava';
import type { AdminFrameBody } from '../../../../transport/protocol/frames.ts';
import { TAILS_PER_SESSION_MAX } from '../../../../transport/protocol/limits.ts';
import { createLiveTails } from '../../../../transport/sessions/live-tails.ts';
import { NODE } from '../../../support/actors.ts';
import { executionId, nodeId } from '../../../support/api/rows.ts';
import { until } from '../../../support/until.ts';
import { openGate, welcomed } from './fixture.ts';

test('a session is asked for no more outputs than an agent streams at once, and for a further one when one ends', (t) => {
  const sent: AdminFrameBody[] = [];
  const tails = createLiveTails((_node, frame) => sent.push(frame) > 0);
  const open = (n: number, node = nodeId(1)) =>
    tails.open(
      node,
      executionId(n),
      0,
      () => {},
      () => {},
    );
  const closes = Array.from({ length: TAILS_PER_SESSION_MAX }, (_, n) => open(n));
  t.false(closes.includes(null));

  t.is(open(100), null);
  t.not(open(200, nodeId(2)), null, 'each session has its own');
  t.not(open(0), null, 'one that is open is asked for anew, from another place');
  closes[1]?.();
  t.not(open(101), null);
  tails.arrived(nodeId(1), { type: 'tail-output', seq: 1, execution: executionId(2), offset: 0, text: '', end: true });
  t.not(open(102), null);

  t.is(open(103), null);
  t.is(sent.filter(({ type }) => type === 'tail').length, TAILS_PER_SESSION_MAX + 4);
});

test('the streams of a node whose session ended are opened anew, each once, and those of other nodes go on', (t) => {
  const sent: AdminFrameBody[] = [];
  const renewed: number[] = [];
  const tails = createLiveTails((_node, frame) => sent.push(frame) > 0);
  const open = (n: number, node: number) =>
    tails.open(
      nodeId(node),
      executionId(n),
      0,
      () => {},
      () => renewed.push(n),
    );
  const [first] = [open(1, 1), open(2, 1), open(3, 2)];

  tails.left(nodeId(1));
  tails.left(nodeId(1));
  first?.();
  tails.welcomed(nodeId(1));

  t.deepEqual(renewed, [1, 2]);
  t.false(
    sent.some(({ type }) => type === 'untail'),
    'nobody is there to be told',
  );
});

test('live output is asked for anew when the session ends that it came on, and not when an older one does', async (t) => {
  const fixture = await openGate(t);
  const older = await fixture.live();
  await welcomed(fixture, older);
  let renewals = 0;
  const open = () =>
    fixture.sessions.tails.open(
      NODE,
      executionId(1),
      0,
      () => {},
      () => {
        renewals += 1;
        open();
      },
    );
  open();
  const newer = await fixture.live();
  older.socket.terminate();
  await until('the older one to be gone', () => fixture.sessions.count() === 1);
  t.is(renewals, 0);
  await welcomed(fixture, newer);
  t.is(renewals, 1);

  newer.socket.terminate();
  await until('the newer one to be gone', () => fixture.sessions.count() === 0);

  t.is(renewals, 2);
});
