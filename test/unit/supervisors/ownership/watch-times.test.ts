/** What an admin saw of the others' silence. */
import test from 'ava';
import { LEASE_MS } from '../../../../persistence/ownership/leases.ts';
import { CLOCK_AHEAD_MS_MAX, LOOKS_APART_MS_MIN, WatchTimes } from '../../../../supervisors/ownership/watch-times.ts';

/** Looks of an admin that has been there for a while, in ms. */
const BEFORE_MS = [-4_000, -3_000, -2_000, -1_000];

/** By how much the clock of the database jumps before a look at this time, in ms. */
type Jumps = Readonly<Record<number, number>>;

/**
 * An admin that starts, and checks in and looks at the leases at each of these times, in ms: how much of the silence it
 * had not seen then, and whether its look showed what is free.
 */
function looks(looksMs: readonly number[], jumps: Jumps = {}) {
  let nowMs = looksMs[0] ?? 0;
  let aheadMs = 1_700_000_000_000;
  const times = new WatchTimes(() => nowMs);
  return looksMs.map((atMs) => {
    nowMs = atMs;
    aheadMs += jumps[atMs] ?? 0;
    times.answered();
    const unseenMs = times.unseenMs();
    return { atMs, unseenMs, hasSeen: times.looked({ sentAtMs: atMs, databaseMs: atMs + aheadMs, nextFreeMs: null }) };
  });
}

/** Of an admin that has been there for a while. */
function unseen(looksMs: readonly number[], jumps: Jumps = {}): readonly number[] {
  const all = looks([...BEFORE_MS, ...looksMs], jumps);
  return all.slice(BEFORE_MS.length).map(({ unseenMs }) => unseenMs);
}

test('an admin that looks each second has seen all, also where one comes late', (t) => {
  t.deepEqual(unseen([0, 1_000, 2_000, 3_800, 4_800]), [0, 0, 0, 0, 0]);
});

test('an admin that starts has seen nothing before its first four rounds, however soon one look follows another', (t) => {
  const starts = looks([0, 10, 1_000, 2_000, 3_000, 4_000]).map(({ unseenMs }) => unseenMs);

  t.true(starts.slice(0, 5).every((one) => one > 3_600_000));
  t.is(starts[5], 0);
});

test('looks half a round apart are two, and of two that are closer only the later one counts, with the gap before either', (t) => {
  const secondMs = 60_000 + LOOKS_APART_MS_MIN;
  const isOver = (looksMs: readonly number[]): readonly boolean[] => unseen(looksMs).map((unseenMs) => unseenMs === 0);

  t.deepEqual(isOver([0, 60_000, secondMs, 61_500, 62_500, 63_500]), [true, false, false, false, false, true]);
  t.deepEqual(isOver([0, 60_000, secondMs - 1, 61_500, 62_500, 63_500, 64_500]), [
    true,
    false,
    false,
    false,
    false,
    false,
    true,
  ]);
});

test('after a gap the other admins have four rounds to show that they live, whatever was seen of them before', (t) => {
  t.deepEqual(
    unseen([0, 1_000, 2_000, 3_000, 63_000, 64_000, 65_000, 66_000, 67_000]),
    [0, 0, 0, 0, 61_900, 61_900, 61_900, 61_900, 0],
  );
});

test('after a gap an owner that renewed a moment before the last look has the time of four rounds too', (t) => {
  const renewedAtMs = 2_000;
  const looksMs = [0, 1_000, 2_000, 3_000, 63_000, 64_000, 65_000, 66_000, 67_000];
  const unseenMs = unseen(looksMs);
  const isOver = looksMs.map((atMs, at) => renewedAtMs + LEASE_MS + (unseenMs[at] ?? 0) < atMs);

  t.deepEqual(isOver, [false, false, false, false, false, false, false, false, true]);
});

test('where each look comes after a gap, what was silent for four of them was seen to be', (t) => {
  t.deepEqual(unseen([0, 4_000, 8_000, 12_000, 16_000, 20_000, 24_000]).slice(4), [14_900, 14_900, 14_900]);
});

test('after a jump of the database clock no lease is free at that look, and other admins have four rounds from it', (t) => {
  const looksMs = [...BEFORE_MS, 0, 1_000, 2_000, 3_000, 4_000, 5_000];
  const all = looks(looksMs, { 1_000: 2_500 });
  const renewedAtMs = 0; // by the clock of before, which is 2,500 ms behind what leases run out by
  const isOver = all.map(
    ({ atMs, unseenMs, hasSeen }) => hasSeen && renewedAtMs + LEASE_MS + unseenMs < atMs + (atMs < 1_000 ? 0 : 2_500),
  );

  t.deepEqual(isOver.slice(BEFORE_MS.length), [false, false, false, false, false, true]);
  t.deepEqual(
    all.map(({ hasSeen }) => hasSeen),
    looksMs.map((atMs) => atMs !== 1_000),
  );
});

test('a jump after an outage counts as much as the outage, as where a standby is promoted whose clock is ahead', (t) => {
  const all = looks([...BEFORE_MS, 0, 60_000, 61_000, 62_000, 63_000, 64_000], { 60_000: 2_500 });
  const [, atReturn, next, ...later] = all.slice(BEFORE_MS.length);

  t.false(atReturn?.hasSeen);
  t.true((next?.unseenMs ?? 0) > 60_000 + 2_500 - LEASE_MS);
  t.deepEqual(
    later.map(({ unseenMs }) => unseenMs > 0),
    [true, true, false],
  );
});

test('a clock of the database that is slewed, is set back, or is a little ahead for a round, is no jump', (t) => {
  const jumps = { 0: 1, 1_000: CLOCK_AHEAD_MS_MAX, 2_000: -3_600_000, 3_000: CLOCK_AHEAD_MS_MAX };
  const all = looks([...BEFORE_MS, 0, 1_000, 2_000, 3_000, 4_000], jumps).slice(BEFORE_MS.length);

  t.true(all.every(({ unseenMs, hasSeen }) => unseenMs === 0 && hasSeen));
});

test('what the database and the way to it took is no jump of its clock', (t) => {
  let nowMs = -1_800;
  const times = new WatchTimes(() => nowMs);

  const seen = Array.from({ length: 4 }, (_, at) => {
    nowMs += 1_800;
    const readAtMs = at % 2 === 0 ? nowMs - 1_800 : nowMs; // as the question came there, and as the answer left
    return times.looked({ sentAtMs: nowMs - 1_800, databaseMs: readAtMs, nextFreeMs: null });
  });

  t.deepEqual(seen, [true, true, true, true]);
});

test('an admin whose rounds are long has seen all, as long as the database answers in them', (t) => {
  let nowMs = 0;
  const times = new WatchTimes(() => nowMs);

  const unseenMs = Array.from({ length: 9 }, () => {
    const ms = times.unseenMs();
    times.looked({ sentAtMs: nowMs, databaseMs: nowMs, nextFreeMs: null });
    for (let answers = 0; answers < 4; answers += 1) {
      nowMs += 500;
      times.answered();
    }
    return ms;
  });

  t.deepEqual(unseenMs.slice(4), [0, 0, 0, 0, 0]);
});

test('the next round begins as the lease of an admin that is gone runs out, and otherwise a round later', (t) => {
  const times = new WatchTimes(() => 10_100);
  const nextRoundMs = (nextFreeMs: number | null): number => {
    times.looked({ sentAtMs: 10_000, databaseMs: 0, nextFreeMs });
    return times.nextRoundMs(1_000);
  };

  t.is(nextRoundMs(null), 1_000);
  t.is(nextRoundMs(2_000), 1_000);
  t.true(nextRoundMs(700) > 600 && nextRoundMs(700) < 700);
  t.is(nextRoundMs(5), 100);
  t.is(times.nextRoundMs(1_000), 1_000); // a round that fails has seen no lease
});
