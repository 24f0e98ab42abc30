/** Whether an admin takes itself for alone. */
import test from 'ava';
import { LivePeers } from '../../../../persistence/admins/live-peers.ts';
import { HERE_EVERY_MS } from '../../../../persistence/admins/peer-presence.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

function open() {
  const clock = createFakeClock();
  return { clock, peers: new LivePeers('me', () => clock.nowMs()) };
}

test('an admin that hears only itself is alone', (t) => {
  const { peers } = open();

  peers.surveyed([{ id: 'me' }]);
  peers.heard('me');

  t.false(peers.areThere());
});

test('another one is known from the survey of leases on, and until one without it', (t) => {
  const { peers } = open();

  peers.surveyed([{ id: 'me' }, { id: 'other' }]);
  t.true(peers.areThere());
  peers.surveyed([{ id: 'me' }]);

  t.false(peers.areThere());
});

test('one that says that it is here is known before the next survey, and for as long as its word is fresh', (t) => {
  const { clock, peers } = open();
  t.false(peers.areThere());

  peers.heard('other');
  peers.surveyed([{ id: 'me' }]); // began before the other one checked in
  t.true(peers.areThere());
  clock.pass(2 * HERE_EVERY_MS);

  t.false(peers.areThere());
});
