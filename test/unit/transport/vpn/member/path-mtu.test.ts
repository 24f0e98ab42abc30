/** How long packets on a direct path may be, as it is asked and answered. */
import test from 'ava';
import { SETTLE_MS } from '../../../../../transport/vpn/member/limits.ts';
import {
  answeredMtu,
  atRest,
  beginMtu,
  dueMtu,
  CHECK_MS,
  type PathMtu,
} from '../../../../../transport/vpn/member/path-mtu.ts';

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
    const resting = atRest(this.state, sentBytes, this.nowMs);
    if (resting !== null) {
      this.state = resting;
      return null;
    }
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
  for (let times = 0; times < 6; times += 1) {
    t.is(walk.next(), null);
    waits.push(walk.state.dueMs - walk.nowMs);
    t.is(walk.state.length, null);
    for (let asks = 0; asks < 8; asks += 1) t.not(walk.next(), null);
  }
  // a second of each goes to the shorter one
  t.deepEqual(waits, [9_000, 59_000, 299_000, 899_000, 3_599_000, 3_599_000]);
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

test('a path on which a long packet was sent is asked again whether it still takes them; one at rest is not', (t) => {
  const walk = new Walk();
  walk.next();
  walk.answer(1_440);
  const own = 1_440 + 32; // the question itself is none of what is sent

  t.is(walk.next({ sentBytes: own + 1_299 }), null);
  t.is(walk.state.dueMs - walk.nowMs, CHECK_MS);
  t.is(walk.next({ sentBytes: own + 1_300 }), 1_440);
  t.is(walk.state.length, 1_440);
  walk.answer(1_440);
  t.is(walk.next({ sentBytes: 2 * own + 1_300 + 1_299 }), null);
  t.is(walk.next({ sentBytes: 2 * own + 1_300 + 1_300 }), 1_440);
});

test('all paths of a machine are looked at in the same moments, whenever they became direct', (t) => {
  const times = [0, 1, 700, 4_999].map((nowMs) => {
    const asked = dueMtu(beginMtu(IPV4, nowMs), { room: 1_500, sentBytes: 0 }, nowMs + 2_500).state;
    return answeredMtu(asked, 1_440, nowMs + 2_510).dueMs;
  });

  t.deepEqual(times, [5_000, 5_000, 5_000, 10_000]);
});

test('nobody is asked while stragglers of the relay may still be handed over', (t) => {
  t.true(beginMtu(IPV4, 0).dueMs > SETTLE_MS);
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

test('a path with a shorter MTU keeps it, and is probed for the longest again, later each time', (t) => {
  const walk = new Walk();
  const waits: number[] = [];
  for (let asks = 0; asks < 4; asks += 1) walk.next();
  t.is(walk.next(), 1_408);
  walk.answer(1_408);
  for (let sentBytes = 0; waits.length < 3; sentBytes += 100_000) {
    const asked = walk.next({ sentBytes });
    if (asked === 1_408) walk.answer(1_408);
    else if (asked === 1_440 && walk.state.asking?.asks === 1) waits.push(walk.nowMs);
    t.is(walk.state.length, 1_408);
  }

  t.deepEqual(
    waits.map((ms, index) => Math.floor((ms - (waits[index - 1] ?? 0)) / 10_000)),
    [1, 6, 30],
  );
  t.is(walk.answer(1_440).state.length, 1_440);
  t.is(walk.next({ sentBytes: 1e9 }), 1_440);
});

test('one hiccup on a path that took them for long costs ten seconds, however often longer ones were in vain', (t) => {
  for (const room of [1_500, 1_468]) {
    const walk = new Walk();
    let sentBytes = 0;
    const next = () => walk.next({ room, sentBytes: (sentBytes += 100_000) });
    for (let looks = 0; looks < 2_000; looks += 1) if (next() === 1_408) walk.answer(1_408);
    t.is(walk.state.length, 1_408);
    const wasMs = walk.nowMs;
    for (let asks = 0; asks < 9 && walk.state.length !== null; asks += 1) next();
    t.true(walk.nowMs - wasMs < CHECK_MS + 2_500, `${room}`);
    const shortAtMs = walk.nowMs;
    for (let asks = 0; asks < 10 && walk.state.length === null; asks += 1) if (next() === 1_408) walk.answer(1_408);
    t.is(walk.state.length, 1_408);
    t.true(walk.nowMs - shortAtMs < 13_000, `${room}: ${walk.nowMs - shortAtMs}`);
  }
});

test('a peer that was added again, so that it counts anew, is asked', (t) => {
  const walk = new Walk();
  walk.next({ sentBytes: 1e9 });
  walk.answer(1_440);

  t.is(walk.next({ sentBytes: 100 }), 1_440);
});

test('a machine that learns that its way takes less sends no longer packets there', (t) => {
  const walk = new Walk();
  walk.next();
  walk.answer(1_440);

  t.is(walk.next({ room: 1_470, sentBytes: 10_000 }), 1_408);
  t.is(walk.state.length, null);
  walk.answer(1_408);
  t.is(walk.next({ room: null, sentBytes: 20_000 }), null);
  t.is(walk.state.length, null);
});
