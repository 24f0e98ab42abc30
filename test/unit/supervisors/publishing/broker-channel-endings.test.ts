/** What the channel of the broker does when it is lost, paused or stopped (O1). */
import test from 'ava';
import { BATCH_EVENTS_MAX } from '../../../../actors/published-event.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
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
