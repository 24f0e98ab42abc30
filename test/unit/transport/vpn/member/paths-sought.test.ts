/** How a path to a peer is looked for, message by message. */
import test from 'ava';
import {
  AGREED_IN_MS,
  ANSWER_MS_MAX,
  ATTEMPT_MS,
  PROBES,
  SECOND_HANDSHAKE_MS,
  SECOND_MESSAGE_MS,
  SESSION_MS_MAX,
  SETTLE_MS,
  TRY_AGAIN_MS,
  TRY_MS_MAX,
  TRY_MS_MIN,
} from '../../../../../transport/vpn/member/limits.ts';
import { RELAY, type PathReading } from '../../../../../transport/vpn/member/path-state.ts';
import { direct, LAN, OUTSIDE, Path, relayed } from './path.ts';
import { use, directNow } from './paths-fixture.ts';

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

test('a relayed peer whose session is over is looked for on all ways', (t) => {
  const path = relayed();
  path.handshakeAgeMs = SESSION_MS_MAX;

  t.deepEqual(path.read(RELAY).taken(), [use(RELAY)]);
  t.is(path.state.path, 'none');

  // Both see it at about the same time: the second one leaves the first message to the other, and so does the first
  // where the other spoke already.
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
