/** What a channel does with its lease: takes it, loses it, and gives it back when it stops. */
import test from 'ava';
import { Channel } from '../../../../supervisors/publishing/channel.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { channelFixture, LEASE_MS, settled } from './fixture.ts';
import { openChannel } from './channel-fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('an admin without the lease does not work; it takes over when the other lets go, and works at once', async (t) => {
  const { channel, losses, row, worksIn } = openChannel();
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
  const { channel, losses, row, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);

  row.holder = 'another';
  row.epoch += 1;
  await pass(RENEW_MS);
  channel.wake();

  t.is(await worksIn(60_000), 0);
  t.is(losses.length, 1);
});

test('a channel paused beyond its lease does nothing on waking, and resumes in a new epoch if nobody took over (O1)', async (t) => {
  const { channel, losses, next, pause, pass, worksIn } = openChannel();
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
  const { channel, losses, pause, row, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);

  pause(LEASE_MS);
  row.holder = 'another';

  t.is(await worksIn(60_000), 0);
  t.is(losses.length, 1);
});

test('a renewal that came only after the lease had run out begins a new epoch', async (t) => {
  const { channel, row, pass } = openChannel();
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
  const { channel, losses, next, row, worksIn, pass } = openChannel();
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
    mayGiveWay: () => false,
    lease: {
      ...fixture.ports.lease,
      claim: () => (isBroken ? Promise.reject(new Error('a bug')) : fixture.ports.lease.claim()),
    },
  });
  await channel.start();
  t.deepEqual(column(fixture.log.lines, 'level'), ['error']);
  isBroken = false;

  await fixture.pass(RENEW_MS);

  t.true(channel.holds());
});

test('stopped, it ends what is under way, gives the lease back, and no timer stays', async (t) => {
  const { channel, clock, next, row, pass } = openChannel();
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
    const { channel, clock, next, row, pass } = openChannel();
    if (work === 'failing') next.work = () => Promise.reject(new Error('no broker'));
    row.holder = holder;
    await channel.start();
    await pass(1_000);

    await channel.stop();

    t.deepEqual([row.holder, clock.waiting()], [holder, 0], work);
  }
});

test('what was being claimed when it was stopped is given back', async (t) => {
  const { channel, clock, row } = openChannel();
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
  const { channel, log, row, pass } = openChannel();
  await channel.start();
  await pass(1_000);
  row.isAway = true;

  await t.notThrowsAsync(channel.stop());

  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('a drained admin leaves its channel to the others once its work is over, claims it no more, and goes on when it may', async (t) => {
  const { channel, losses, next, row, standing, works, worksIn, pass } = openChannel();
  await channel.start();
  await pass(1_000);
  const work = Promise.withResolvers<void>();
  next.work = async () => {
    await work.promise;
    return 'more' as const;
  };
  channel.wake();
  await pass(100);

  standing.takesTasks = false;
  await pass(2 * RENEW_MS);
  t.deepEqual([row.holder, channel.holds(), losses.length], ['me', false, 0]);
  const before = works.length;
  work.resolve();
  await pass(100);
  t.deepEqual([row.holder, row.calls.at(-1), losses.length, works.length], [null, 'release', 1, before]);
  const calls = row.calls.length;
  channel.wake();
  t.is(await worksIn(60_000), 0);
  t.is(row.calls.length, calls);
  standing.takesTasks = true;
  next.work = () => 'none';

  t.is(await worksIn(RENEW_MS + 100), 1);
  t.deepEqual([channel.holds(), row.epoch, losses.length], [true, 2, 1]);
});

test('a drained admin whose work does not end in time does not keep others from it: its lease runs out', async (t) => {
  const { channel, losses, next, row, standing, pass } = openChannel();
  await channel.start();
  await pass(1_000);
  const work = Promise.withResolvers<void>();
  next.work = async () => {
    await work.promise;
    return 'more' as const;
  };
  channel.wake();
  await pass(100);

  standing.takesTasks = false;
  await pass(RENEW_MS);
  row.calls.length = 0;
  await pass(2 * LEASE_MS);
  t.deepEqual(row.calls, []); // it is not renewed
  row.holder = 'another';
  row.epoch += 1;
  work.resolve();
  await pass(100);

  t.deepEqual([row.holder, channel.holds(), losses.length], ['another', false, 1]);
});
