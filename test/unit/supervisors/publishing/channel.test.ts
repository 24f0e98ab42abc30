/** When a channel works, sleeps, waits, and lets go. */
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import {
  BACK_OFF_MS,
  BACK_OFF_MS_MAX,
  Channel,
  GATHER_MS,
  RENEW_MS,
  SAFETY_POLL_MS,
  SETTLE_MS,
  type Outcome,
} from '../../../../supervisors/publishing/channel.ts';
import { channelFixture, LEASE_MS, settled } from './fixture.ts';

/** A channel whose work comes to what a test says. */
function scene({ random = 1 } = {}) {
  const fixture = channelFixture();
  const works: number[] = [];
  const losses: number[] = [];
  const next: { work: (epoch: number) => Outcome | Promise<Outcome> } = { work: () => 'none' };
  const channel = new Channel({
    ...fixture.ports,
    name: 'tests',
    random: () => random,
    work: async (epoch) => {
      works.push(fixture.clock.nowMs());
      return next.work(epoch);
    },
    lost: () => {
      losses.push(fixture.clock.nowMs());
    },
  });
  /** How often it worked in that time. */
  const worksIn = async (ms: number): Promise<number> => {
    const before = works.length;
    await fixture.pass(ms);
    return works.length - before;
  };
  return { ...fixture, channel, works, losses, next, worksIn };
}

const gaps = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

test('it takes the lease, works at once, and sleeps when there is nothing: renewals wake nobody', async (t) => {
  const { channel, row, works, worksIn } = scene();

  await channel.start();
  await settled();

  t.true(channel.holds());
  t.is(works.length, 1);
  t.is(await worksIn(SAFETY_POLL_MS - 1_000), 0);
  t.deepEqual(
    [row.calls.filter((call) => call === 'claim').length, row.calls.filter((call) => call === 'renew').length],
    [1, 9],
  );
  t.is(await worksIn(2_000), 1); // the safety poll
  t.is(works.length, 2);
});

test('news wakes it; what comes while it works, or gathers, is looked for right after', async (t) => {
  const { channel, next, works, worksIn, pass } = scene();
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
  const { channel, next, works, worksIn, pass } = scene();
  await channel.start();
  await pass(1_000);
  const outcomes: Outcome[] = ['more', 'more', 'soon', 'soon', 'none'];
  next.work = () => outcomes.shift() ?? 'none';

  channel.wake();
  t.is(await worksIn(1_000), 5);

  t.deepEqual(gaps(works.slice(-5)), [0, 0, SETTLE_MS, SETTLE_MS]);
});

test('after a failure it waits longer each time, up to the longest, no news shortens that, and it begins anew after a success', async (t) => {
  const { channel, log, next, works, pass } = scene();
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
    const { channel, next, works, pass } = scene({ random });
    next.work = () => Promise.reject(new Error('no broker'));
    await channel.start();
    await pass(600);
    t.is(gaps(works)[0], first);
  }
});

test('while the database is away it looks again soon, however long that takes, and complains of nothing (L3)', async (t) => {
  const { channel, log, next, row, works, worksIn, pass } = scene();
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

test('an admin without the lease does not work; it takes over when the other lets go, and works at once', async (t) => {
  const { channel, losses, row, worksIn } = scene();
  row.holder = 'another';

  await channel.start();
  channel.wake();
  t.is(await worksIn(60_000), 0);
  t.false(channel.holds());
  row.holder = null;

  t.is(await worksIn(RENEW_MS + 50), 1);
  t.true(channel.holds());
  t.deepEqual(losses, []); // it never had it
});

test('one that loses its lease says so once, and stops', async (t) => {
  const { channel, losses, row, worksIn, pass } = scene();
  await channel.start();
  await pass(1_000);

  row.holder = 'another';
  row.epoch += 1;
  await pass(RENEW_MS);
  channel.wake();

  t.is(await worksIn(60_000), 0);
  t.is(losses.length, 1);
});

test('one that was paused beyond its lease does nothing when it wakes, and goes on under a new epoch if nobody took over (O1)', async (t) => {
  const { channel, losses, next, pause, pass, worksIn } = scene();
  const epochs: number[] = [];
  next.work = (epoch) => {
    epochs.push(epoch);
    return 'none';
  };
  await channel.start();
  await pass(1_000);

  pause(LEASE_MS);
  channel.wake();
  t.false(channel.holds());
  await settled();
  t.deepEqual(epochs, [1]);

  t.is(await worksIn(RENEW_MS), 1);
  t.deepEqual([epochs, losses], [[1, 2], []]);
});

test('one that was paused while another took over is told that it lost', async (t) => {
  const { channel, losses, pause, row, worksIn, pass } = scene();
  await channel.start();
  await pass(1_000);

  pause(LEASE_MS);
  row.holder = 'another';

  t.is(await worksIn(60_000), 0);
  t.is(losses.length, 1);
});

test('a renewal that came only after the lease had run out begins a new epoch', async (t) => {
  const { channel, row, pass } = scene();
  await channel.start();
  await pass(1_000);

  row.delayMs = LEASE_MS;
  await pass(RENEW_MS);
  row.delayMs = 0;
  await pass(LEASE_MS);

  t.true(channel.holds());
  t.is(row.epoch, 2);
});

test('work that finds the channel taken asks the lease: lost, or held anew', async (t) => {
  const { channel, losses, next, row, worksIn, pass } = scene();
  await channel.start();
  await pass(1_000);
  next.work = (epoch) => (epoch === 1 ? 'lost' : 'none');

  channel.wake();
  t.is(await worksIn(100), 2);
  t.deepEqual([row.epoch, losses.length], [2, 0]);
  next.work = () => 'lost';
  row.holder = 'another';
  channel.wake();
  t.is(await worksIn(60_000), 1);

  t.is(losses.length, 1);
  t.false(channel.holds());
});

test('what goes wrong with a lease is logged and tried again', async (t) => {
  const fixture = channelFixture();
  let isBroken = true;
  const channel = new Channel({
    ...fixture.ports,
    name: 'tests',
    work: async () => 'none',
    lost: () => {},
    lease: {
      ...fixture.ports.lease,
      claim: () => (isBroken ? Promise.reject(new Error('a bug')) : fixture.ports.lease.claim()),
    },
  });
  await channel.start();
  t.deepEqual(
    fixture.log.lines.map(({ level }) => level),
    ['error'],
  );
  isBroken = false;

  await fixture.pass(RENEW_MS);

  t.true(channel.holds());
});

test('stopped, it ends what is under way, gives the lease back, and no timer stays', async (t) => {
  const { channel, clock, next, row, pass } = scene();
  await channel.start();
  await pass(1_000);
  let finish = (): void => {};
  next.work = () =>
    new Promise((resolve) => {
      finish = () => resolve('more');
    });
  channel.wake();
  await pass(100);

  const stopping = channel.stop();
  await settled();
  t.is(row.holder, 'me');
  finish();
  await stopping;

  t.deepEqual([row.holder, row.calls.at(-1), channel.holds(), clock.waiting()], [null, 'release', false, 0]);
});

test('it can be stopped while it sleeps, waits after a failure, or never held anything', async (t) => {
  for (const [work, holder] of [
    ['none', null],
    ['failing', null],
    ['none', 'another'],
  ] as const) {
    const { channel, clock, next, row, pass } = scene();
    if (work === 'failing') next.work = () => Promise.reject(new Error('no broker'));
    row.holder = holder;
    await channel.start();
    await pass(1_000);

    await channel.stop();

    t.deepEqual([row.holder, clock.waiting()], [holder, 0], work);
  }
});

test('what was being claimed when it was stopped is given back', async (t) => {
  const { channel, clock, row } = scene();
  row.delayMs = 100;
  const starting = channel.start();
  await settled();

  const stopping = channel.stop();
  clock.pass(100);
  await settled();
  clock.pass(100);
  await Promise.all([starting, stopping]);

  t.is(row.holder, null);
});

test('a lease that cannot be given back does not keep it from stopping: it runs out', async (t) => {
  const { channel, log, row, pass } = scene();
  await channel.start();
  await pass(1_000);
  row.isAway = true;

  await t.notThrowsAsync(channel.stop());

  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});
