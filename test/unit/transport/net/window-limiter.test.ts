/** Counting by key, and by address. */
import test from 'ava';
import { createAddressLimiter, createWindowLimiter } from '../../../../transport/net/window-limiter.ts';

test('a window starts with the first count, says how long to wait beyond the limit, and ends', (t) => {
  let nowMs = 1_000;
  const limiter = createWindowLimiter({ perWindowMax: 2, windowMs: 100, keysMax: 10 }, { nowMs: () => nowMs });

  t.deepEqual([limiter.add('a'), limiter.add('a'), limiter.waitMs('b')], [0, 0, 0]);
  nowMs += 30;
  t.deepEqual([limiter.waitMs('a'), limiter.add('a'), limiter.add('b')], [70, 70, 0]);
  nowMs += 69;
  t.deepEqual([limiter.waitMs('a'), limiter.add('a')], [1, 1]);
  nowMs += 1;
  t.deepEqual([limiter.waitMs('a'), limiter.add('a'), limiter.add('a'), limiter.add('a')], [0, 0, 0, 100]);
});

test('more keys than it may remember push out the oldest window, not the newest', (t) => {
  const limiter = createWindowLimiter({ perWindowMax: 1, windowMs: 100, keysMax: 3 }, { nowMs: () => 0 });

  for (const key of ['a', 'b', 'c', 'a', 'd']) limiter.add(key);

  t.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => limiter.waitMs(key)),
    [0, 100, 100, 100],
  );
});

test('amounts count as so many, also the first of a window', (t) => {
  const limiter = createWindowLimiter({ perWindowMax: 10, windowMs: 100, keysMax: 3 }, { nowMs: () => 0 });

  t.deepEqual([limiter.add('a', 9), limiter.waitMs('a'), limiter.add('a', 1), limiter.waitMs('a')], [0, 0, 0, 100]);
  t.is(limiter.add('b', 11), 100);
});

test('what is taken back makes room in its window, and none in the next', (t) => {
  let nowMs = 0;
  const limiter = createWindowLimiter({ perWindowMax: 1, windowMs: 100, keysMax: 3 }, { nowMs: () => nowMs });

  limiter.add('a');
  limiter.takeBack('a');
  t.is(limiter.add('a'), 0);
  nowMs = 100;
  limiter.takeBack('a');
  limiter.takeBack('b');
  t.deepEqual([limiter.add('a'), limiter.add('a')], [0, 100]);
});

test('a clock that is set back holds nobody up for as long as that', (t) => {
  let nowMs = 3_600_000;
  const limiter = createWindowLimiter({ perWindowMax: 1, windowMs: 100, keysMax: 3 }, { nowMs: () => nowMs });

  limiter.add('a');
  nowMs = 0;
  t.deepEqual([limiter.waitMs('a'), limiter.add('a'), limiter.add('a')], [0, 0, 100]);
});

test('addresses of one machine are counted together: a /64 of IPv6, and IPv4 however a socket writes it', (t) => {
  const limiter = createAddressLimiter({ perWindowMax: 1, windowMs: 100, keysMax: 10 }, { nowMs: () => 0 });

  t.deepEqual(
    ['2001:db8::1', '2001:db8::ffff:2', '2001:db8:0:1::1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'].map(
      (address) => limiter.add(address),
    ),
    [0, 100, 0, 0, 100, 0],
  );
  limiter.takeBack('2001:db8::3');
  t.is(limiter.waitMs('2001:db8::4'), 100);
  t.is(limiter.waitMs('2001:db8:0:2::4'), 0);
});
