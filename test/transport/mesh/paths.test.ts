/** The path to one peer, message by message, and what holds whatever it is told. */
import test from 'ava';
import * as fc from 'fast-check';
import {
  AGREED_IN_MS, ANSWER_MS_MAX, ATTEMPT_MS, KNOCKS, SECOND_HANDSHAKE_MS, SECOND_WORD_MS, SESSION_MS_MAX, SETTLE_MS, SILENCE_MS_MAX, SILENCE_TALKING_MS_MAX, STEADY_MS, TALKED_MS_MAX, TRY_AGAIN_MS,
  TRY_LOST_MS, TRY_MOVED_MS, TRY_MS_MAX, TRY_MS_MIN,
} from '../../../transport/mesh/limits.ts';
import { meet, RELAY, transition, type PathEffect, type PathMessage, type PathReading, type PathState, type Way } from '../../../transport/mesh/paths.ts';

const LAN = '192.168.1.7:20007';
const OUTSIDE = '198.51.100.7:20007';

/** A path with a clock of its own, and what it asked for since it was looked at last. */
class Path {
  state: PathState;
  nowMs = 1_000;
  way: Way | null = null;
  received = 0;
  sent = 0;
  handshakeAgeMs: number | null = null;
  effects: PathEffect[] = [];

  constructor({ candidates = [LAN, OUTSIDE], hasRelay = true, isFirst = true, reading = null as PathReading | null } = {}) {
    const { state, effects } = meet({ candidates, hasRelay, isFirst, reading }, this.nowMs);
    this.state = state;
    this.effects = [...effects];
  }

  tell(message: PathMessage): this {
    const { state, effects } = transition(this.state, message, this.nowMs);
    this.state = state;
    this.effects.push(...effects);
    for (const effect of effects) if (effect.type === 'use') this.way = effect.way;
    return this;
  }

  /** What it does in its time, in steps. */
  pass(ms: number): this {
    const endMs = this.nowMs + ms;
    while (this.state.dueMs <= endMs) {
      this.nowMs = Math.max(this.nowMs, this.state.dueMs);
      this.tell({ type: 'time-passed' });
    }
    this.nowMs = endMs;
    return this;
  }

  /** A reading after so many bytes each way. */
  read(way: Way | null, { received = 0, sent = 0 } = {}): this {
    this.received += received;
    this.sent += sent;
    if (received > 0) this.handshakeAgeMs ??= 0;
    return this.tell({ type: 'read', reading: { way, handshakeAgeMs: this.handshakeAgeMs, receivedBytes: this.received, sentBytes: this.sent } });
  }

  taken(): PathEffect[] {
    return this.effects.splice(0);
  }
}

const direct = (endpoint: string): Way => ({ kind: 'direct', endpoint });
const use = (way: Way, isKicked = true): PathEffect => ({ type: 'use', way, isKicked });

function relayed(options?: ConstructorParameters<typeof Path>[0]): Path {
  const path = new Path(options).read(RELAY, { received: 148, sent: 148 });
  path.taken();
  return path;
}

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
  t.is(path.read(direct(OUTSIDE), { received: 148 }).state.path, 'direct');
});

test('whoever was heard over the relay is asked for a try, and both knock at the agreed moments, best last', (t) => {
  const path = relayed();

  t.deepEqual(path.pass(0).taken(), [{ type: 'say', word: 'ask' }]);
  path.nowMs += 40; // there and back
  path.tell({ type: 'answered', inMs: AGREED_IN_MS });
  t.deepEqual(path.pass(AGREED_IN_MS - 20 - 1).taken(), []);
  t.deepEqual(path.pass(1).taken(), [{ type: 'knock', endpoints: [OUTSIDE, LAN], waitMs: 0, listenMs: KNOCKS[0].listenMs }]);
  t.is(path.pass(TRY_MS_MAX - 1).taken().length, KNOCKS.length - 1);
  t.is(path.state.path, 'trying');
  t.is(path.pass(1).state.path, 'relayed');
  t.is(path.state.dueMs, path.nowMs + TRY_AGAIN_MS[0]);
});

test('waits between tries grow', (t) => {
  const path = relayed();
  const begun: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    path.pass(path.state.dueMs - path.nowMs);
    begun.push(path.nowMs);
    path.tell({ type: 'answered', inMs: 0 }).pass(TRY_MS_MAX);
  }

  t.deepEqual(begun.slice(1).map((ms, index) => ms - (begun[index] ?? 0) - TRY_MS_MAX), [...TRY_AGAIN_MS]);
});

test('a peer that does not answer over the relay is asked for by way of the admin', (t) => {
  const path = relayed({ isFirst: false });

  t.deepEqual(path.pass(SECOND_WORD_MS).taken(), [{ type: 'say', word: 'ask' }]);
  t.deepEqual(path.pass(ANSWER_MS_MAX).taken(), [{ type: 'want-try' }]);
  t.deepEqual(path.tell({ type: 'agreed', inMs: 300 }).pass(300).taken().map(({ type }) => type), ['knock']);
});

test('a path is direct once both hear each other, in whichever order they learn it', (t) => {
  const heardFirst = relayed().tell({ type: 'asked' });
  heardFirst.taken();
  t.deepEqual(heardFirst.read(direct(LAN), { received: 32 }).taken(), [{ type: 'say', word: 'heard' }, use(RELAY, false)]);
  t.is(heardFirst.state.path, 'trying');
  t.deepEqual(heardFirst.tell({ type: 'heard' }).taken(), [{ type: 'say', word: 'heard' }, use(direct(LAN)), { type: 'settle', endpoint: LAN, forMs: SETTLE_MS }]);
  t.is(heardFirst.state.path, 'direct');

  const toldFirst = relayed().tell({ type: 'asked' }).tell({ type: 'heard' });
  toldFirst.taken();
  t.is(toldFirst.state.path, 'trying');
  t.deepEqual(toldFirst.read(direct(OUTSIDE), { received: 32 }).taken(), [{ type: 'say', word: 'heard' }, use(direct(OUTSIDE)), { type: 'settle', endpoint: OUTSIDE, forMs: SETTLE_MS }]);
});

test('once a peer was heard, the knocks go where it was heard from', (t) => {
  const path = relayed().tell({ type: 'asked' }).read(direct('203.0.113.9:4711'), { received: 32 });
  path.taken();

  t.deepEqual(path.pass(AGREED_IN_MS).taken(), [{ type: 'knock', endpoints: ['203.0.113.9:4711'], waitMs: 0, listenMs: KNOCKS[0].listenMs }]);
});

test('packets that arrive directly without an agreement do not make a path: whether answers would arrive is not known', (t) => {
  const path = relayed();

  t.deepEqual(path.read(direct(LAN), { received: 32 }).taken(), [use(RELAY, false)]);
  t.is(path.state.path, 'relayed');
  t.deepEqual(path.pass(0).taken(), [{ type: 'say', word: 'ask' }]);
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
  const paused = (ms: number): Path => directNow().read(direct(LAN), { sent: 900, received: 900 }).pass(20).read(direct(LAN)).pass(ms).read(direct(LAN), { sent: 900 });
  t.deepEqual([500, TALKED_MS_MAX].map((ms) => paused(ms).pass(SILENCE_TALKING_MS_MAX).read(direct(LAN), { sent: 900 }).state.path), ['relayed', 'direct']);
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
    const path = relayed().tell({ type: 'asked' }).pass(AGREED_IN_MS + TRY_MS_MAX);
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
});

test('a message that changes nothing leaves the state itself', (t) => {
  for (const path of [new Path(), relayed(), relayed().tell({ type: 'asked' }), directNow()]) {
    const before = path.state;

    path.tell({ type: 'relay-opened' }).tell({ type: 'candidates-changed', candidates: [LAN, OUTSIDE] });
    t.is(path.state, before);
  }
});

const way = fc.constantFrom<Way | null>(RELAY, direct(LAN), direct(OUTSIDE), null);
const message = fc.oneof(
  fc.record({ type: fc.constant('read' as const), way, received: fc.constantFrom(0, 32, 900), sent: fc.constantFrom(0, 32, 900), ageMs: fc.constantFrom(null, 0, 100_000, 300_000) }),
  fc.record({ type: fc.constantFrom('relay-opened' as const, 'relay-lost' as const, 'asked' as const, 'heard' as const, 'moved' as const) }),
  fc.record({ type: fc.constantFrom('answered' as const, 'agreed' as const), inMs: fc.integer({ min: 0, max: 5_000 }) }),
  fc.record({ type: fc.constant('candidates-changed' as const), candidates: fc.subarray([LAN, OUTSIDE]) }),
);
const walk = fc.array(fc.tuple(message, fc.constantFrom(0, 1, 50, 1_000, 5_000, 30_000)), { maxLength: 120 });

/** What a peer could do to make a path change as often as it can. */
const hostile = fc.array(fc.tuple(fc.oneof(
  fc.record({ type: fc.constant('read' as const), way: fc.constantFrom<Way>(RELAY, direct(LAN)), received: fc.constantFrom(0, 128), sent: fc.constantFrom(32, 900), ageMs: fc.constant(0) }),
  fc.record({ type: fc.constantFrom('asked' as const, 'heard' as const) }),
  fc.record({ type: fc.constant('agreed' as const), inMs: fc.constant(0) }),
), fc.constantFrom(0, 250, 2_500)), { minLength: 20, maxLength: 200 });

type Told = (typeof message extends fc.Arbitrary<infer T> ? T : never) | (typeof hostile extends fc.Arbitrary<(infer P)[]> ? P extends readonly [infer T, number] ? T : never : never);

function tellAll(path: Path, steps: readonly (readonly [Told, number])[], look: () => void): void {
  for (const [told, ms] of steps) {
    if (told.type === 'read') {
      path.handshakeAgeMs = told.ageMs;
      path.read(told.way, told);
    } else path.tell(told);
    look();
    passLooking(path, ms, look);
  }
}

function passLooking(path: Path, ms: number, look: () => void): void {
  const endMs = path.nowMs + ms;
  while (path.state.dueMs <= endMs) {
    path.nowMs = Math.max(path.nowMs, path.state.dueMs);
    path.tell({ type: 'time-passed' });
    look();
  }
  path.nowMs = endMs;
}

test('whatever it is told, peers cannot make a path leave the relay for a direct one more than once in ten seconds', (t) => {
  fc.assert(fc.property(fc.oneof<[fc.Arbitrary<[Told, number][]>, fc.Arbitrary<[Told, number][]>]>(walk, hostile), fc.boolean(), (steps, isFirst) => {
    // Without the loss of relays and sessions: whoever has none takes whatever it hears.
    const path = relayed({ isFirst });
    let before: string = path.state.path;
    let lastMs = -Infinity;
    tellAll(path, steps.filter(([{ type }]) => type !== 'relay-lost').filter(([told]) => told.type !== 'read' || told.ageMs !== 300_000 && told.ageMs !== null), () => {
      const now = path.state.path;
      if (now === 'direct' && before !== 'direct') {
        if (path.nowMs - lastMs < TRY_MS_MIN) throw new Error(`direct again after ${path.nowMs - lastMs} ms`);
        lastMs = path.nowMs;
      }
      before = now;
    });
  }), { numRuns: 500 });
  t.pass();
});

test('whatever it was told, a peer with a relay is never without a way, and ends relayed when only the relay works', (t) => {
  fc.assert(fc.property(walk, fc.boolean(), fc.boolean(), (steps, isFirst, hasRelay) => {
    const path = new Path({ isFirst, hasRelay });
    path.way = hasRelay ? RELAY : direct(LAN);
    tellAll(path, steps, () => {
      if (path.state.path === 'relayed' && !path.state.hasRelay) throw new Error('relayed without a relay');
      if (path.state.hasRelay && path.way === null) throw new Error('no way');
      if (path.state.dueMs === Infinity && path.state.path !== 'direct' && (path.state.hasRelay || path.state.candidates.length > 0)) throw new Error(`nothing is due: ${path.state.path}`);
    });
    path.tell({ type: 'relay-opened' });
    // From now on packets go through the relay alone, and both sides speak.
    path.handshakeAgeMs = 0;
    for (let count = 0; count < 200; count += 1) {
      passLooking(path, 1_000, () => {});
      const isThrough = path.way?.kind === 'relay';
      path.read(isThrough ? RELAY : path.way, { sent: 128, received: isThrough ? 128 : 0 });
    }
    if (path.state.path !== 'relayed' && path.state.path !== 'trying') throw new Error(`ended ${path.state.path}`);
  }), { numRuns: 300 });
  t.pass();
});

test('whatever it was told, a peer that is heard directly and hears is direct in the end', (t) => {
  fc.assert(fc.property(walk, fc.boolean(), (steps, isFirst) => {
    const path = new Path({ isFirst });
    tellAll(path, steps, () => {});
    path.tell({ type: 'relay-opened' });
    path.tell({ type: 'candidates-changed', candidates: [LAN] }).tell({ type: 'moved' });
    path.handshakeAgeMs = 0;
    path.taken();
    const isDirect = (): boolean => path.state.path === 'direct';
    for (let count = 0; count < 10_000 && !isDirect(); count += 1) {
      passLooking(path, 1_000, () => {});
      for (const effect of path.taken()) {
        if (effect.type === 'say' && effect.word === 'ask') path.tell({ type: 'answered', inMs: AGREED_IN_MS });
        if (effect.type === 'knock') path.read(direct(LAN), { received: 32, sent: 32 }).tell({ type: 'heard' });
      }
      if (!isDirect()) path.read(RELAY, { received: 32, sent: 32 });
    }
    if (!isDirect()) throw new Error(`ended ${path.state.path}`);
  }), { numRuns: 100 });
  t.pass();
});
