/** Which outputs an admin asks of a node's session. */
import test from 'ava';
import type { AdminFrameBody } from '../../../../transport/protocol/frames.ts';
import { TAILS_PER_SESSION_MAX } from '../../../../transport/protocol/limits.ts';
import { createLiveTails } from '../../../../transport/sessions/live-tails.ts';
import { executionId, nodeId } from '../../../support/api/rows.ts';

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
