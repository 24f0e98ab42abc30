/** The path to one peer, message by message. */
import test from 'ava';
import {
  AGREED_IN_MS,
  ANSWER_MS_MAX,
  ATTEMPT_MS,
  PROBES,
  READ_BUSY_MS,
  SECOND_HANDSHAKE_MS,
  SECOND_MESSAGE_MS,
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
  TRY_MS_MIN,
} from '../../../../../transport/vpn/member/limits.ts';
import { RELAY, type PathEffect, type PathReading, type Way } from '../../../../../transport/vpn/member/path-state.ts';
import { direct, LAN, OUTSIDE, Path, relayed } from './path.ts';

const use = (way: Way, isSentNow = true): PathEffect => ({ type: 'use', way, isSentNow });

function directNow(): Path {
  const path = relayed().tell({ type: 'asked' }).tell({ type: 'heard' }).read(direct(LAN), { received: 32 });
  path.taken();
  return path;
}

test('a peer is spoken to over the relay first, and each other way for a time while it is silent', (t) => {
  const path = new Path();

  t.deepEqual(path.taken(), [use(RELAY)]);
  t.deepEqual(path.pass(ATTEMPT_MS).taken(), [use(direct(LAN))]);
  t.deepEqual(path.pass(ATTEMPT_MS).taken(), [use(direct(OUTSIDE))]);
  t.deepEqual(path.pass(ATTEMPT_MS).taken(), [use(RELAY, false)]);
  t.deepEqual(path.pass(TRY_AGAIN_MS[0] - 1).taken(), []);
  t.deepEqual(path.pass(1).taken(), [use(direct(LAN))]);
});

test('the second of two leaves the first handshake to the other', (t) => {
  const path = new Path({ isFirst: false });

  t.deepEqual(path.taken(), [use(RELAY, false)]);
  t.deepEqual(path.pass(SECOND_HANDSHAKE_MS).taken(), [use(RELAY)]);
});

test('a peer that began a handshake is let finish it, and spoken to only when its handshake leads nowhere', (t) => {
  const begunHandshake: PathReading = { way: RELAY, handshakeAgeMs: null, receivedBytes: 148, sentBytes: 92 };
  const withBegunHandshake = (): Path => {
    const path = new Path({ isFirst: false }).pass(SECOND_HANDSHAKE_MS - 1);
    path.taken();
    return path.tell({ type: 'read', reading: begunHandshake });
  };

  t.is(withBegunHandshake().state.path, 'none');
  t.deepEqual(
    withBegunHandshake()
      .pass(ATTEMPT_MS - 1)
      .taken(),
    [],
  );
  t.deepEqual(withBegunHandshake().pass(ATTEMPT_MS).taken(), [use(RELAY)]);
  // The last packet of the handshake may have been counted before it was done.
  for (const receivedBytes of [148, 180])
    t.is(
      withBegunHandshake()
        .pass(100)
        .tell({ type: 'read', reading: { ...begunHandshake, handshakeAgeMs: 3, receivedBytes } }).state.path,
      'relayed',
    );
});

test('without a relay a peer is looked for at its endpoints again and again', (t) => {
  const path = new Path({ hasRelay: false });

  t.deepEqual(path.taken(), [use(direct(LAN))]);
  t.deepEqual(path.pass(ATTEMPT_MS * 2).taken(), [use(direct(OUTSIDE)), use(direct(LAN))]);
  // The second round is half as fast.
  t.deepEqual(path.pass(ATTEMPT_MS * 2).taken(), [use(direct(OUTSIDE))]);
  t.deepEqual(path.read(direct(OUTSIDE), { received: 92 }).state.path, 'direct');
});

test('a peer without any way is waited for, and found where it speaks from', (t) => {
  const path = new Path({ hasRelay: false, candidates: [] });

  t.is(path.state.dueMs, Infinity);
  t.is(path.read(direct(OUTSIDE), { received: 180 }).state.path, 'direct');
});

test('whoever was heard over the relay is asked for a try, and both probe at the agreed times, best last', (t) => {
  const path = relayed();

  t.deepEqual(path.pass(0).taken(), [{ type: 'say', message: 'ask' }]);
  path.nowMs += 40; // there and back
  path.tell({ type: 'answered', inMs: AGREED_IN_MS });
  t.deepEqual(path.pass(AGREED_IN_MS - 20 - 1).taken(), []);
  t.deepEqual(path.pass(1).taken(), [
    { type: 'probe', endpoints: [OUTSIDE, LAN], waitMs: 0, listenMs: PROBES[0].listenMs },
  ]);
  t.is(path.pass(TRY_MS_MAX - 1).taken().length, PROBES.length - 1);
  t.is(path.state.path, 'trying');
  t.is(path.pass(1).state.path, 'relayed');
  t.is(path.state.dueMs, path.nowMs + TRY_AGAIN_MS[0]);
});

test('waits between tries grow', (t) => {
  const path = relayed();
  const begun: number[] = [];
  for (let count = 0; count <= TRY_AGAIN_MS.length; count += 1) {
    path.pass(path.state.dueMs - path.nowMs);
    begun.push(path.nowMs);
    path.tell({ type: 'answered', inMs: 0 }).pass(TRY_MS_MAX);
  }

  t.deepEqual(
    begun.slice(1).map((ms, index) => ms - (begun[index] ?? 0) - TRY_MS_MAX),
    [...TRY_AGAIN_MS],
  );
});

test('a peer that does not answer over the relay is asked for by way of the admin', (t) => {
  const path = relayed({ isFirst: false });

  t.deepEqual(path.pass(SECOND_MESSAGE_MS).taken(), [{ type: 'say', message: 'ask' }]);
  t.deepEqual(path.pass(ANSWER_MS_MAX).taken(), [{ type: 'want-try' }]);
  t.deepEqual(
    path
      .tell({ type: 'agreed', inMs: 300 })
      .pass(300)
      .taken()
      .map(({ type }) => type),
    ['probe'],
  );
});

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

test('a path that was cut while the peer talked is left soon, also where it was read as seldom as an idle one and TCP waits', (t) => {
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

test('a peer that asks for a try gets one, but not at any rate', (t) => {
  const path = directNow();
  t.deepEqual(path.tell({ type: 'asked' }).taken(), []);

  path.pass(TRY_MS_MIN);
  t.deepEqual(path.tell({ type: 'asked' }).taken(), [use(RELAY, false), { type: 'say-agreed', inMs: AGREED_IN_MS }]);
  t.is(path.state.path, 'trying');
});

test('a peer that asks too soon is asked as soon as it may, also where this side learns only later that the path is lost', (t) => {
  const tried = relayed()
    .tell({ type: 'asked' })
    .pass(AGREED_IN_MS + TRY_MS_MAX);
  tried.taken();
  t.is(tried.state.dueMs, tried.nowMs + TRY_AGAIN_MS[0]);
  t.deepEqual(
    tried
      .tell({ type: 'asked' })
      .pass(TRY_MS_MIN - AGREED_IN_MS - TRY_MS_MAX - 1)
      .taken(),
    [],
  );
  t.deepEqual(tried.pass(1).taken(), [{ type: 'say', message: 'ask' }]);

  const lost = directNow().pass(SETTLE_MS).tell({ type: 'asked' }).read(RELAY, { received: 128 });
  t.like(lost.state, { path: 'relayed', dueMs: lost.nowMs + TRY_MS_MIN - SETTLE_MS });
});

test('a peer that asks before it was heard here is heard by that', (t) => {
  const path = new Path();
  path.taken();

  t.deepEqual(path.tell({ type: 'asked' }).taken(), [use(RELAY, false), { type: 'say-agreed', inMs: AGREED_IN_MS }]);
});

test('a path that an earlier run left direct stays as it is, unless its session is over', (t) => {
  const reading = { way: direct(OUTSIDE), handshakeAgeMs: 20_000, receivedBytes: 5_000, sentBytes: 4_000 };
  const adopted = new Path({ reading });
  t.like(adopted.state, { path: 'direct', endpoint: OUTSIDE });
  t.deepEqual(adopted.taken(), []);

  t.is(new Path({ reading: { ...reading, handshakeAgeMs: SESSION_MS_MAX } }).state.path, 'none');
  t.is(new Path({ reading: { ...reading, way: null } }).state.path, 'none');
});

test('a relayed peer whose session is over is looked for on all ways', (t) => {
  const path = relayed();
  path.handshakeAgeMs = SESSION_MS_MAX;

  t.deepEqual(path.read(RELAY).taken(), [use(RELAY)]);
  t.is(path.state.path, 'none');

  // Both see it at about the same time: the second one leaves the first message to the other, and so does the first where
  // the other spoke already.
  for (const [isFirst, received] of [
    [false, 0],
    [true, 148],
  ] as const) {
    const waiting = relayed({ isFirst });
    waiting.handshakeAgeMs = SESSION_MS_MAX;
    t.deepEqual(waiting.read(RELAY, { received }).taken(), [use(RELAY, false)]);
    t.deepEqual(waiting.pass(SECOND_HANDSHAKE_MS).taken(), [use(RELAY)]);
  }
});

test('a message that changes nothing leaves the state itself', (t) => {
  for (const path of [new Path(), relayed(), relayed().tell({ type: 'asked' }), directNow()]) {
    const before = path.state;

    path.tell({ type: 'relay-opened' }).tell({ type: 'candidates-changed', candidates: [LAN, OUTSIDE] });
    t.is(path.state, before);
  }
});
