/** What an admin saw of the others' silence. */
import test from 'ava';
import { LEASE_MS } from '../../../../persistence/ownership/leases.ts';
import { WatchTimes } from '../../../../supervisors/ownership/watch-times.ts';

/**
 * An admin that checks in and looks at the leases at each of these times, in ms: how much of the silence it had not
 * seen then.
 */
function unseen(looksMs: readonly number[], wasAway = false): readonly number[] {
  let nowMs = looksMs[0] ?? 0;
  const times = new WatchTimes(() => nowMs);
  times.started(wasAway);
  return looksMs.map((atMs) => {
    nowMs = atMs;
    times.answered();
    const ms = times.unseenMs();
    times.looked(atMs);
    return ms;
  });
}

test('an admin that looks each second has seen all, from its first look on, also where one comes late', (t) => {
  t.deepEqual(unseen([0, 1_000, 2_000, 3_800, 4_800]), [0, 0, 0, 0, 0]);
});

test('after a gap the others have the time of four rounds to show that they are there, whatever they were seen to do before', (t) => {
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

test('an admin whose rounds are long has seen all, as long as the database answers in them', (t) => {
  let nowMs = 0;
  const times = new WatchTimes(() => nowMs);
  times.started(false);

  const unseenMs = Array.from({ length: 5 }, () => {
    const ms = times.unseenMs();
    times.looked(nowMs);
    for (let answers = 0; answers < 4; answers += 1) {
      nowMs += 500;
      times.answered();
    }
    return ms;
  });

  t.deepEqual(unseenMs, [0, 0, 0, 0, 0]);
});

test('an admin whose start waited for the database has seen nothing before its first looks', (t) => {
  const ms = unseen([0, 10, 1_000, 2_000, 3_000], true);

  t.true(ms.slice(0, 4).every((one) => one > 3_600_000));
  t.is(ms[4], 0);
});
