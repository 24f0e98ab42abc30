/** What keeps a path to a peer direct and what ends it, message by message. */
import test from 'ava';
import {
  AGREED_IN_MS,
  PROBES,
  READ_BUSY_MS,
  SESSION_MS_MAX,
  SETTLE_MS,
  SILENCE_MS_MAX,
  SILENCE_TALKING_MS_MAX,
  STEADY_MS,
  TALKED_MS_MAX,
  TRY_AGAIN_MS,
  TRY_LOST_MS,
  TRY_MOVED_MS,
  TRY_MS_MAX,
} from '../../../../../transport/vpn/member/limits.ts';
import { RELAY } from '../../../../../transport/vpn/member/path-state.ts';
import { direct, LAN, OUTSIDE, Path, relayed } from './path.ts';
import { use, directNow } from './paths-fixture.ts';

test('a path is direct once both hear each other, in whichever order they learn it', (t) => {
  const heardFirst = relayed().tell({ type: 'asked' });
  heardFirst.taken();
  t.deepEqual(heardFirst.read(direct(LAN), { received: 32 }).taken(), [
    { type: 'say', message: 'heard' },
    use(RELAY, false),
  ]);
  t.is(heardFirst.state.path, 'trying');
  t.deepEqual(heardFirst.tell({ type: 'heard' }).taken(), [
    { type: 'say', message: 'heard' },
    use(direct(LAN)),
    { type: 'settle', endpoint: LAN, forMs: SETTLE_MS },
  ]);
  t.is(heardFirst.state.path, 'direct');

  const toldFirst = relayed().tell({ type: 'asked' }).tell({ type: 'heard' });
  toldFirst.taken();
  t.is(toldFirst.state.path, 'trying');
  t.deepEqual(toldFirst.read(direct(OUTSIDE), { received: 32 }).taken(), [
    { type: 'say', message: 'heard' },
    use(direct(OUTSIDE)),
    { type: 'settle', endpoint: OUTSIDE, forMs: SETTLE_MS },
  ]);
});

test('once a peer was heard, the probes go where it was heard from', (t) => {
  const path = relayed().tell({ type: 'asked' }).read(direct('203.0.113.9:4711'), { received: 32 });
  path.taken();

  t.deepEqual(path.pass(AGREED_IN_MS).taken(), [
    { type: 'probe', endpoints: ['203.0.113.9:4711'], waitMs: 0, listenMs: PROBES[0].listenMs },
  ]);
});

test('packets that arrive directly without an agreement do not make a path: whether answers would arrive is not known', (t) => {
  const path = relayed();

  t.deepEqual(path.read(direct(LAN), { received: 32 }).taken(), [use(RELAY, false)]);
  t.is(path.state.path, 'relayed');
  t.deepEqual(path.pass(0).taken(), [{ type: 'say', message: 'ask' }]);
});

test('stragglers that come by the relay just after do not move a direct path', (t) => {
  const path = directNow();

  t.deepEqual(path.read(RELAY, { received: 128 }).taken(), [use(direct(LAN), false)]);
  t.is(path.state.path, 'direct');
});

test('a peer that goes on over the relay is followed there', (t) => {
  const path = directNow().pass(SETTLE_MS);

  t.is(path.read(RELAY, { received: 128 }).state.path, 'relayed');
});

test('a peer that speaks from elsewhere is spoken to there', (t) => {
  const path = directNow().read(direct(OUTSIDE), { received: 32 });

  t.like(path.state, { path: 'direct', endpoint: OUTSIDE });
});

test('keepalives need no answer: an idle direct path stays', (t) => {
  const path = directNow();
  for (let count = 0; count < 20; count += 1) path.pass(25_000).read(direct(LAN), { sent: 32 });

  t.is(path.state.path, 'direct');
});

test('a direct path that is silent on data goes back to the relay, sooner where both talked', (t) => {
  const quiet = directNow().read(direct(LAN), { sent: 200 });
  t.is(quiet.pass(SILENCE_MS_MAX - 1).read(direct(LAN), { sent: 200 }).state.path, 'direct');
  quiet.taken();
  t.deepEqual(quiet.pass(1).read(direct(LAN), { sent: 200 }).taken(), [use(RELAY)]);
  t.is(quiet.state.path, 'relayed');

  const talking = directNow();
  for (let count = 0; count < 3; count += 1) talking.pass(2_000).read(direct(LAN), { sent: 900, received: 900 });
  talking.pass(2_000).read(direct(LAN), { sent: 900 });
  t.is(talking.pass(SILENCE_TALKING_MS_MAX - 1).read(direct(LAN), { sent: 900 }).state.path, 'direct');
  t.is(talking.pass(1).read(direct(LAN), { sent: 900 }).state.path, 'relayed');

  // A moment in which nothing went either way says nothing of that, unless it was long.
  const paused = (ms: number): Path =>
    directNow()
      .read(direct(LAN), { sent: 900, received: 900 })
      .pass(20)
      .read(direct(LAN))
      .pass(ms)
      .read(direct(LAN), { sent: 900 });
  t.deepEqual(
    [500, TALKED_MS_MAX].map(
      (ms) => paused(ms).pass(SILENCE_TALKING_MS_MAX).read(direct(LAN), { sent: 900 }).state.path,
    ),
    ['relayed', 'direct'],
  );
});

test('a path cut while the peer talked is left soon, even if it was read as rarely as an idle one and TCP waits', (t) => {
  // Cut 3.1 s before the first reading; what TCP sends again after 6.2 s is seen by the fourth one after it.
  const path = directNow().pass(5_000).read(direct(LAN), { sent: 900, received: 900 });
  for (let count = 0; count < 3; count += 1)
    t.like(path.pass(READ_BUSY_MS).read(direct(LAN)).state, { isBusy: true, silentSinceMs: null });
  path.pass(READ_BUSY_MS).read(direct(LAN), { sent: 200 });

  t.is(path.pass(SILENCE_TALKING_MS_MAX).read(direct(LAN)).state.path, 'relayed');
  t.like(directNow().read(direct(LAN), { received: 900 }).pass(TALKED_MS_MAX).read(direct(LAN)).state, {
    isBusy: false,
  });
});

test('without a relay a silent path is looked for anew', (t) => {
  const path = directNow().tell({ type: 'relay-lost' }).read(direct(LAN), { sent: 200 });
  path.taken();

  t.deepEqual(path.pass(SILENCE_MS_MAX).read(direct(LAN), { sent: 200 }).taken(), [use(direct(LAN))]);
  t.is(path.state.path, 'none');
});

test('a path that was good is tried again soon after its loss, one that was not only after a wait', (t) => {
  const good = directNow().pass(STEADY_MS).read(RELAY, { received: 128 });
  t.is(good.state.dueMs, good.nowMs + TRY_LOST_MS);

  const poor = directNow().pass(SETTLE_MS).read(RELAY, { received: 128 });
  t.is(poor.state.dueMs, poor.nowMs + TRY_AGAIN_MS[0]);
});

test('who is told of another endpoint, or moves itself, tries again soon', (t) => {
  for (const message of [{ type: 'candidates-changed', candidates: [OUTSIDE] }, { type: 'moved' }] as const) {
    const path = relayed()
      .tell({ type: 'asked' })
      .pass(AGREED_IN_MS + TRY_MS_MAX);
    t.is(path.state.failures, 1);
    path.tell(message);

    t.is(path.state.dueMs, path.nowMs + TRY_MOVED_MS);
    t.is(path.state.failures, 0);
  }
});

test('a direct path shows the peer where this machine moved to, at once', (t) => {
  t.deepEqual(directNow().tell({ type: 'moved' }).taken(), [use(direct(LAN))]);
});

test('a direct path to where the peer is no more goes back to the relay at once, and is tried anew soon', (t) => {
  const path = directNow();

  t.deepEqual(path.tell({ type: 'candidates-changed', candidates: [LAN] }).taken(), []);
  t.deepEqual(path.tell({ type: 'candidates-changed', candidates: [OUTSIDE] }).taken(), [use(RELAY)]);
  t.like(path.state, { path: 'relayed', dueMs: path.nowMs + TRY_MOVED_MS });
});

test('a path that an earlier run left direct stays as it is, unless its session is over', (t) => {
  const reading = { way: direct(OUTSIDE), handshakeAgeMs: 20_000, receivedBytes: 5_000, sentBytes: 4_000 };
  const adopted = new Path({ reading });
  t.like(adopted.state, { path: 'direct', endpoint: OUTSIDE });
  t.deepEqual(adopted.taken(), []);

  t.is(new Path({ reading: { ...reading, handshakeAgeMs: SESSION_MS_MAX } }).state.path, 'none');
  t.is(new Path({ reading: { ...reading, way: null } }).state.path, 'none');
});

test('a message that changes nothing leaves the state itself', (t) => {
  for (const path of [new Path(), relayed(), relayed().tell({ type: 'asked' }), directNow()]) {
    const before = path.state;

    path.tell({ type: 'relay-opened' }).tell({ type: 'candidates-changed', candidates: [LAN, OUTSIDE] });
    t.is(path.state, before);
  }
});
