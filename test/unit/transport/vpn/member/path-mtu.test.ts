/** How long packets on a direct path may be, as it is asked and answered. */
import test from 'ava';
import { answeredMtu, beginMtu, dueMtu, CHECK_MS, type PathMtu } from '../../../../../transport/vpn/member/path-mtu.ts';

const IPV4 = '198.51.100.7:20007';
const IPV6 = '[2001:db8::7]:20007';

/** A path whose times come one after another. */
class Walk {
  state: PathMtu;
  nowMs = 0;

  constructor(endpoint = IPV4) {
    this.state = beginMtu(endpoint, this.nowMs);
  }

  /** The length of the next question, or null: its time came without one. */
  next({ room = 1_500, sentBytes = 0 }: { readonly room?: number | null; readonly sentBytes?: number } = {}):
    | number
    | null {
    this.nowMs = this.state.dueMs;
    const { state, isAsked } = dueMtu(this.state, { room, sentBytes }, this.nowMs);
    this.state = state;
    return isAsked ? (state.asking?.length ?? null) : null;
  }

  answer(length: number): this {
    this.state = answeredMtu(this.state, length, this.nowMs);
    return this;
  }
}

test('a path that takes long packets has the longest; until it is known those of every path', (t) => {
  const walk = new Walk();

  t.is(walk.next(), 1_440);
  t.is(walk.state.length, null);
  t.is(walk.answer(1_440).state.length, 1_440);
  t.is(walk.state.asking, null);
});

test('what is not answered is asked again, and then shorter; who answers nothing is left alone, longer each time', (t) => {
  const walk = new Walk();

  t.deepEqual(
    Array.from({ length: 8 }, () => walk.next()),
    [1_440, 1_440, 1_440, 1_440, 1_408, 1_408, 1_408, 1_408],
  );
  const waits: number[] = [];
  for (let times = 0; times < 5; times += 1) {
    t.is(walk.next(), null);
    waits.push(walk.state.dueMs - walk.nowMs);
    t.is(walk.state.length, null);
    for (let asks = 0; asks < 8; asks += 1) t.not(walk.next(), null);
  }
  t.deepEqual(waits, [60_000, 300_000, 900_000, 3_600_000, 3_600_000]);
});

test('an answer to a length that is asked for no more is none', (t) => {
  const walk = new Walk();
  for (let asks = 0; asks < 5; asks += 1) walk.next();

  t.is(walk.answer(1_440).state.length, null);
  t.is(walk.answer(1_408).state.length, 1_408);
  t.is(walk.answer(1_440).state.length, 1_408);
});

test('a length is asked for only where the way out of this machine takes it, with what WireGuard puts around', (t) => {
  const firstOf = (endpoint: string, room: number | null) => new Walk(endpoint).next({ room });

  t.deepEqual(
    [1_500, 1_499, 1_468, 1_467, 1_280, null].map((room) => firstOf(IPV4, room)),
    [1_440, 1_408, 1_408, null, null, null],
  );
  t.deepEqual(
    [9_000, 1_520, 1_500, 1_488, 1_487].map((room) => firstOf(IPV6, room)),
    [1_440, 1_440, 1_408, 1_408, null],
  );
});

test('a path that is used is asked again whether it still takes them; one at rest is not', (t) => {
  const walk = new Walk();
  walk.next();
  walk.answer(1_440);

  t.is(walk.next({ sentBytes: 9_999 }), null);
  t.is(walk.state.dueMs - walk.nowMs, CHECK_MS);
  t.is(walk.next({ sentBytes: 10_000 }), 1_440);
  t.is(walk.state.length, 1_440);
  walk.answer(1_440);
  t.is(walk.next({ sentBytes: 19_999 }), null);
  t.is(walk.next({ sentBytes: 20_000 }), 1_440);
});

test('a path that takes them no more has short ones after a second, and what it takes then', (t) => {
  const walk = new Walk();
  walk.next();
  walk.answer(1_440);

  t.is(walk.next({ sentBytes: 10_000 }), 1_440);
  const beganMs = walk.nowMs;
  for (let asks = 0; asks < 3; asks += 1) t.is(walk.next(), 1_440);
  t.is(walk.next(), 1_408);
  t.is(walk.state.length, null);
  t.is(walk.nowMs - beganMs, 1_000);
  t.is(walk.answer(1_408).state.length, 1_408);
});

test('a machine that learns that its way takes less sends no longer packets there, at rest too', (t) => {
  const walk = new Walk();
  walk.next();
  walk.answer(1_440);

  t.is(walk.next({ room: 1_470 }), 1_408);
  t.is(walk.state.length, null);
  walk.answer(1_408);
  t.is(walk.next({ room: null }), null);
  t.is(walk.state.length, null);
});
