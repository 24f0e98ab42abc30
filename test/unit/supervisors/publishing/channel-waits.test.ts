/** When a channel works, sleeps and waits. */
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import {
  BACK_OFF_MS,
  BACK_OFF_MS_MAX,
  GATHER_MS,
  SAFETY_POLL_MS,
  SETTLE_MS,
  type Outcome,
} from '../../../../supervisors/publishing/channel.ts';
import { settled } from './fixture.ts';
import { openChannel } from './channel-fixture.ts';

const gaps = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

test('it takes the lease, works at once, and sleeps when there is nothing: renewals wake nobody', async (t) => {
  const { channel, row, works, worksIn } = openChannel();

  await channel.start();
  await settled();

  t.true(channel.holds());
  t.is(works.length, 1);
  t.is(await worksIn(SAFETY_POLL_MS - 1_000), 0);
  t.deepEqual(
    [row.calls.filter((call) => call === 'claim').length, row.calls.filter((call) => call === 'renew').length],
    [1, 29],
  );
  t.is(await worksIn(2_000), 1); // the safety poll
  t.is(works.length, 2);
});

test('news wakes it; what comes while it works, or gathers, is looked for right after', async (t) => {
  const { channel, next, works, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);

  channel.wake();
  t.is(await worksIn(1_000), 1);
  next.work = () => {
    channel.wake();
    next.work = () => 'none';
    return 'none';
  };
  channel.wake();
  t.is(await worksIn(1_000), 2);
  t.is(gaps(works).at(-1), GATHER_MS);
  for (let news = 0; news < 50; news += 1) channel.wake();
  t.is(await worksIn(1_000), 1);
});

test('more is worked off without a pause, and what is not settled after a short one', async (t) => {
  const { channel, next, works, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);
  const outcomes: Outcome[] = ['more', 'more', 'soon', 'soon', 'none'];
  next.work = () => outcomes.shift() ?? 'none';

  channel.wake();
  t.is(await worksIn(1_000), 5);

  t.deepEqual(gaps(works.slice(-5)), [0, 0, SETTLE_MS, SETTLE_MS]);
});

test('a channel waits longer after each failure, up to a maximum, whatever arrives, and starts anew after a success', async (t) => {
  const { channel, log, next, works, pass } = openChannel();
  next.work = () => Promise.reject(new Error('no broker'));
  await channel.start();

  await pass(200_000);
  channel.wake();
  t.deepEqual(gaps(works), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000]);
  t.deepEqual([BACK_OFF_MS, BACK_OFF_MS_MAX], [500, 30_000]);
  next.work = () => 'none';
  await pass(BACK_OFF_MS_MAX);
  next.work = () => Promise.reject(new Error('no broker'));
  channel.wake();
  await pass(1_000);

  t.is(gaps(works).at(-1), BACK_OFF_MS);
  t.is(log.lines.filter(({ level }) => level === 'warn').length, 2); // one an outage
});

test('waits have jitter between a half and the whole', async (t) => {
  for (const [random, first] of [
    [0, 250],
    [0.5, 380],
    [1, 500],
  ] as const) {
    // the clock of the test goes in steps of 10 ms
    const { channel, next, works, pass } = openChannel({ random });
    next.work = () => Promise.reject(new Error('no broker'));
    await channel.start();
    await pass(600);
    t.is(gaps(works)[0], first);
  }
});

test('while the database is away it looks again soon, however long that takes, and complains of nothing (L3)', async (t) => {
  const { channel, log, next, row, works, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);
  row.isAway = true;
  next.work = () => Promise.reject(new DatabaseUnavailable('away'));
  channel.wake();

  await pass(5_000);
  t.deepEqual(new Set(gaps(works.slice(1))), new Set([BACK_OFF_MS]));
  await pass(300_000);
  t.false(channel.holds());
  row.isAway = false;
  next.work = () => 'none';

  t.true((await worksIn(1_000)) > 0);
  t.true(channel.holds());
  t.deepEqual(
    log.lines.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
});
