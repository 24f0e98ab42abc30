import test from 'ava';
import { createFailures } from '../../agent/access/failures.ts';

test('an address has so many failures a minute, which begins with its first, and others are not held to account', (t) => {
  let nowMs = 1_000;
  const failures = createFailures({ perMinuteMax: 2, addressesMax: 10 }, () => nowMs);

  t.deepEqual([failures.add('a'), failures.add('a'), failures.add('a'), failures.add('b')], [0, 0, 60_000, 0]);
  nowMs += 59_999;
  t.is(failures.add('a'), 1);
  nowMs += 1;
  t.deepEqual([failures.add('a'), failures.add('a'), failures.add('a')], [0, 0, 60_000]);
});

test('of many addresses the oldest is forgotten', (t) => {
  const failures = createFailures({ perMinuteMax: 1, addressesMax: 3 }, () => 0);
  for (const address of ['a', 'b', 'c']) failures.add(address);

  t.deepEqual([failures.add('c'), failures.add('d'), failures.add('b'), failures.add('a')], [60_000, 0, 60_000, 0]);
});
