/** What the channel of the broker does when it is lost, given to others, paused or stopped (O1). */
import test from 'ava';
import { BATCH_EVENTS_MAX } from '../../../../actors/published-event.ts';
import { GIVE_WAY_AFTER_MS } from '../../../../supervisors/publishing/channel.ts';
import { GIVEN_MS, RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { LEASE_MS, settled } from './fixture.ts';
import { openBrokerChannel, upTo, open } from './broker-channel-fixture.ts';

test('an admin that loses the channel leaves the broker, and has no problem; it comes back when it gets it again', async (t) => {
  const { channel, connections, received, row, store, pass } = openBrokerChannel();
  await channel.start();
  store(1);
  await pass(100);
  row.holder = 'another';
  row.epoch += 1;

  await pass(RENEW_MS + 100);
  store(1);
  await pass(10_000);
  t.deepEqual([received, open(connections), channel.problem(), channel.holds()], [[1], 0, null, false]);
  row.holder = null;
  await pass(RENEW_MS + 100);

  t.deepEqual([received, open(connections), channel.problem()], [[1, 2], 1, null]);
});

test('an admin that cannot publish for a minute gives the channel to another one, and has no problem', async (t) => {
  const { channel, connections, received, row, store, trouble, pass } = openBrokerChannel();
  await channel.start();
  trouble.publish = () => Promise.reject(new Error('no way there from here'));
  trouble.hasPeers = true;
  store(1);

  await pass(GIVE_WAY_AFTER_MS - 1_000);
  t.is(row.holder, 'me');
  await passUntil(pass, () => row.holder === null);
  t.deepEqual([channel.holds(), channel.problem(), open(connections), row.calls.at(-1)], [false, null, 0, 'release']);
  row.holder = 'another';
  row.epoch += 1;
  trouble.publish = null;
  await pass(60_000);
  t.deepEqual([received, row.holder], [[], 'another']);
  row.holder = null;
  await pass(RENEW_MS + 100);

  t.deepEqual([received, channel.holds()], [[1], true]);
});

test('what is on its way to the broker when the admin is drained is stored as published before another goes on', async (t) => {
  const { channel, connections, received, row, standing, store, stored, trouble, pass } = openBrokerChannel();
  await channel.start();
  const sent = Promise.withResolvers<void>();
  trouble.publish = () => sent.promise;
  store(2);
  await pass(100);

  standing.takesTasks = false;
  await pass(2 * RENEW_MS);
  t.deepEqual([row.holder, stored.place], ['me', 0]);
  sent.resolve();
  await pass(100);
  store(1);
  await pass(10_000);

  t.deepEqual([received, stored.place, row.holder], [[1, 2], 2, null]);
  t.deepEqual([open(connections), channel.problem(), channel.counters.failures], [0, null, 0]);
});

test('a channel that nobody else takes comes back, and is given away once a minute at most', async (t) => {
  const { channel, row, trouble, pass } = openBrokerChannel();
  trouble.open = new Error('nobody listens');
  trouble.hasPeers = true;
  await channel.start();

  await passUntil(pass, () => row.holder === null);
  await pass(GIVEN_MS - RENEW_MS);
  t.is(row.holder, null);
  await pass(2 * RENEW_MS);
  t.is(row.holder, 'me');
  await pass(5 * GIVE_WAY_AFTER_MS);

  const given = row.calls.filter((call) => call === 'release').length;
  t.true(given >= 3 && given <= 6, `${given} times`);
});

test('an admin that is alone keeps the channel, however long it cannot publish', async (t) => {
  const { channel, row, trouble, pass } = openBrokerChannel();
  trouble.open = new Error('nobody listens');
  await channel.start();

  await pass(5 * GIVE_WAY_AFTER_MS);

  t.deepEqual([row.holder, row.epoch, channel.problem()], ['me', 1, 'nobody listens']);
});

test('an admin that gets a batch through now and then keeps the channel', async (t) => {
  const { channel, received, row, store, trouble, pass } = openBrokerChannel();
  trouble.hasPeers = true;
  let tries = 0;
  trouble.publish = () => {
    tries += 1;
    return tries % 4 === 0 ? Promise.resolve() : Promise.reject(new Error('it is busy'));
  };
  await channel.start();

  for (let minutes = 0; minutes < 5; minutes += 1) {
    store(1);
    await pass(60_000);
  }

  t.deepEqual([received, row.epoch], [upTo(5), 1]);
});

test('a paused admin publishes nothing of what it read before (O1)', async (t) => {
  const { channel, received, row, store, pause, trouble, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  trouble.publish = () => {
    trouble.publish = null;
    pause(LEASE_MS); // while the first batch is on its way
    row.holder = 'another';
    row.epoch += 1;
    return Promise.resolve();
  };
  store(3 * BATCH_EVENTS_MAX);
  await pass(5_000);

  t.deepEqual(received, upTo(BATCH_EVENTS_MAX));
});

test('stopping ends a publish that hangs, closes the connection, and gives the channel back', async (t) => {
  const { channel, clock, connections, row, store, trouble, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  let fail = (_reason: Error): void => {};
  trouble.publish = () =>
    new Promise((_, reject) => {
      fail = reject;
    });
  store(1);
  await pass(100);

  const stopping = channel.stop();
  await settled();
  t.is(open(connections), 0);
  fail(new Error('closed'));
  await stopping;

  t.deepEqual([row.holder, open(connections), clock.waiting()], [null, 0, 0]);
});

test('stopping closes a connection that was just being made', async (t) => {
  const { channel, connections, row } = openBrokerChannel();
  void channel.start();

  await channel.stop();

  t.deepEqual([row.holder, open(connections)], [null, 0]);
});

test('what was published last is stored before the channel is given back', async (t) => {
  const { channel, stored, received, store, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  let stopping: Promise<void> = Promise.resolve();
  stored.onAdvance = (to) => {
    if (to === 2 * BATCH_EVENTS_MAX) stopping = channel.stop();
  };
  store(5 * BATCH_EVENTS_MAX);
  await pass(100);
  await stopping;

  t.is(stored.place, received.at(-1) ?? 0);
});

/** Time goes by until something happened, within two minutes. */
async function passUntil(pass: (ms: number) => Promise<void>, happened: () => boolean): Promise<void> {
  for (let passedMs = 0; passedMs < 120_000 && !happened(); passedMs += 100) await pass(100);
}
