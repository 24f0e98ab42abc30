/** Counting by address. */
import test from 'ava';
import { createTally } from '../../api/tally.ts';

test('a window starts with the first count, says how long to wait beyond the limit, and ends', (t) => {
  let nowMs = 1_000;
  const tally = createTally({ perWindowMax: 2, windowMs: 100, entriesMax: 10 }, { nowMs: () => nowMs });

  t.deepEqual([tally.add('a'), tally.add('a'), tally.wait('b')], [0, 0, 0]);
  nowMs += 30;
  t.deepEqual([tally.wait('a'), tally.add('a'), tally.add('b')], [70, 70, 0]);
  nowMs += 70;
  t.deepEqual([tally.wait('a'), tally.add('a')], [0, 0]);
});

test('more addresses than it may remember push out the oldest window, not the newest', (t) => {
  const tally = createTally({ perWindowMax: 1, windowMs: 100, entriesMax: 3 }, { nowMs: () => 0 });

  for (const address of ['a', 'b', 'c', 'd']) tally.add(address);

  t.deepEqual(
    ['a', 'b', 'c', 'd'].map((address) => tally.wait(address)),
    [0, 100, 100, 100],
  );
});
