/**
 * The channel of the broker over outages of the broker and of the database: in order, at least once, and never a busy
 * loop.
 */
import test from 'ava';
import { BATCH_EVENTS_MAX } from '../../../../actors/published-event.ts';
import { CONNECTED_MS_MIN } from '../../../../supervisors/publishing/broker-channel.ts';
import { BACK_OFF_MS, BACK_OFF_MS_MAX } from '../../../../supervisors/publishing/channel.ts';
import { LEASE_MS, settled } from './fixture.ts';
import { openBrokerChannel, upTo, open } from './broker-channel-fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('what is stored is published in order, over one connection, and the place is kept', async (t) => {
  const { channel, stored, received, connections, store, pass } = openBrokerChannel();
  await channel.start();
  store(3);
  await pass(100);
  store(3 * BATCH_EVENTS_MAX + 7);
  await pass(1_000);

  t.deepEqual(received, upTo(stored.count));
  t.is(stored.place, stored.count);
  t.deepEqual(
    [
      connections.length,
      channel.counters.published,
      channel.counters.connects,
      channel.counters.failures,
      channel.problem(),
    ],
    [1, stored.count, 1, 0, null],
  );
});

test('while the broker cannot be reached events wait, health says why, and nothing is read in vain', async (t) => {
  const { channel, received, trouble, stored, store, pass } = openBrokerChannel();
  trouble.open = new Error('nobody listens');
  await channel.start();
  store(5);

  await pass(60_000);
  t.deepEqual([channel.problem(), received, stored.reads], ['nobody listens', [], 0]);
  trouble.open = null;
  await pass(30_000);

  t.deepEqual([channel.problem(), received, channel.counters.connects], [null, upTo(5), 1]);
});

test('a broker that takes connections and confirms nothing is a problem until it confirms again, and told of once', async (t) => {
  const { channel, clock, log, received, trouble, store, pass } = openBrokerChannel();
  trouble.publish = () =>
    new Promise((_, reject) => {
      clock.after(10_000, () => reject(new Error('it has not confirmed')));
    });
  await channel.start();
  await pass(100);
  t.is(channel.problem(), null);
  store(5);
  await pass(10_100);

  const problems = new Set<string | null>();
  for (let seconds = 0; seconds < 120; seconds += 1) {
    await pass(1_000);
    problems.add(channel.problem());
  }
  t.deepEqual([[...problems], received], [['it has not confirmed'], []]);
  t.deepEqual(logged(log), ['the broker is reached', 'events cannot be published now: they wait']);
  trouble.publish = null;
  await pass(BACK_OFF_MS_MAX);

  t.deepEqual([channel.problem(), received], [null, upTo(5)]);
  t.is(logged(log).at(-1), 'the broker is reached');
});

test('what a broker refused until it was too old is no problem any more once nothing waits', async (t) => {
  const { channel, stored, trouble, store, pass } = openBrokerChannel();
  trouble.publish = () => Promise.reject(new Error('it refuses'));
  await channel.start();
  store(5);
  await pass(5_000);
  t.is(channel.problem(), 'it refuses');

  stored.oldUntil = 5;
  await pass(BACK_OFF_MS_MAX);

  t.deepEqual([channel.problem(), channel.counters.tooOld], [null, 5]);
});

test('a connection that is lost after it took an event is opened again at once', async (t) => {
  const { channel, log, connections, received, store, pass } = openBrokerChannel();
  await channel.start();
  store(1);
  await pass(1_000);

  connections[0]?.break('the server went away');
  await settled();
  store(1);
  await pass(100);

  t.deepEqual([received, connections.length, open(connections), channel.problem()], [[1, 2], 2, 1, null]);
  t.is(log.lines.filter(({ level }) => level === 'warn').length, 1);
});

test('a connection that is lost before it took an event is opened again at once if it had lasted', async (t) => {
  const { channel, connections, pass } = openBrokerChannel();
  await channel.start();
  await pass(CONNECTED_MS_MIN);

  connections[0]?.break('the server went away');
  await pass(100);

  t.deepEqual([connections.length, open(connections), channel.problem(), channel.counters.failures], [2, 1, null, 0]);
});

test('a broker that accepts the connection and hangs up is dialled after longer and longer waits, and told of once', async (t) => {
  const { channel, log, connections, received, trouble, store, pass } = openBrokerChannel();
  trouble.opened = (connection) => void settled().then(() => connection.break('it hung up'));
  await channel.start();

  await pass(60_000);
  t.deepEqual(
    [connections.length, open(connections), channel.problem(), channel.counters.failures],
    [7, 0, 'it hung up', 7],
  ); // 0.5 s, 1 s, … 30 s
  t.is(log.lines.filter(({ level }) => level === 'warn').length, 1);
  trouble.opened = null;
  store(2);
  await pass(BACK_OFF_MS_MAX);

  t.deepEqual([received, connections.length, open(connections), channel.problem()], [upTo(2), 8, 1, null]);
});

test('a connection that is lost while it is made is not kept', async (t) => {
  const { channel, connections, trouble, pass } = openBrokerChannel();
  trouble.opened = (connection) => {
    trouble.opened = null;
    connection.break('it hung up');
  };
  await channel.start();

  await pass(2 * BACK_OFF_MS);

  t.deepEqual([connections.length, open(connections), channel.problem(), channel.counters.failures], [2, 1, null, 1]);
});

test('a batch that failed is halved until it gets through, and grows again', async (t) => {
  const { channel, received, trouble, store, pass } = openBrokerChannel();
  const sizes: number[] = [];
  trouble.publish = async (events) => {
    sizes.push(events.length);
    if (events.length > 150) throw new Error('too slow');
    await settled();
  };
  await channel.start();

  store(600);
  await pass(60_000);

  // 125 was read ahead before the first got through
  t.deepEqual(sizes.slice(0, 5), [BATCH_EVENTS_MAX, 250, 125, 125, 250]);
  t.deepEqual([...new Set(received)], upTo(600));
});

test('a failed batch is published again, whole and in order, on a new connection, and later batches are read anew', async (t) => {
  const { channel, stored, received, connections, trouble, store, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  let publishes = 0;
  trouble.publish = (events) => {
    publishes += 1;
    if (publishes !== 2) return Promise.resolve();
    received.push(Number(events[0]?.id)); // part of it arrived
    return Promise.reject(new Error('it broke'));
  };
  store(3 * BATCH_EVENTS_MAX);

  await pass(100);
  t.deepEqual([channel.counters.failures, channel.problem(), open(connections)], [1, 'it broke', 0]);
  await pass(BACK_OFF_MS);

  t.deepEqual(received, [...upTo(BATCH_EVENTS_MAX), BATCH_EVENTS_MAX + 1, ...upTo(stored.count, BATCH_EVENTS_MAX + 1)]);
  t.deepEqual([stored.place, channel.problem(), open(connections)], [stored.count, null, 1]);
});

test('the database going away closes no connection to the broker, and loses nothing', async (t) => {
  const { channel, stored, received, connections, row, store, pass } = openBrokerChannel();
  await channel.start();
  store(2);
  await pass(100);
  stored.isAway = true;
  row.isAway = true;
  store(2);

  await pass(3 * LEASE_MS);
  t.deepEqual([received, open(connections)], [upTo(2), 1]);
  stored.isAway = false;
  row.isAway = false;
  await pass(BACK_OFF_MS + 100);

  t.deepEqual([received, stored.place, connections.length, open(connections)], [upTo(4), 4, 1, 1]);
});

test('a place that could not be stored is published once more', async (t) => {
  const { channel, stored, received, connections, store, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  store(2);
  stored.isRefused = true;
  await pass(100);
  stored.isRefused = false;
  await pass(1_000);

  t.true(received.length >= 4);
  t.deepEqual([new Set(received), stored.place, open(connections)], [new Set(upTo(2)), 2, 1]);
});

test('a place that is refused in the middle of a backlog holds up nothing after the next claim', async (t) => {
  const { channel, stored, received, store, row, pass } = openBrokerChannel();
  await channel.start();
  await pass(100);
  stored.isRefused = true;
  store(4 * BATCH_EVENTS_MAX);
  for (let turns = 0; turns < 5; turns += 1) await settled();
  stored.isRefused = false;
  await pass(1_000);

  t.is(stored.place, stored.count);
  t.deepEqual(received.slice(-BATCH_EVENTS_MAX), upTo(stored.count, stored.count - BATCH_EVENTS_MAX + 1));
  t.true(row.epoch <= 4);
});

test('events that are too old are skipped and counted, and the place goes on', async (t) => {
  const { channel, log, stored, received, store, pass } = openBrokerChannel();
  stored.oldUntil = BATCH_EVENTS_MAX + 3;
  await channel.start();
  store(BATCH_EVENTS_MAX + 5);
  await pass(1_000);

  t.deepEqual(
    [received, stored.place, channel.counters.tooOld, channel.counters.published],
    [upTo(stored.count, stored.oldUntil + 1), stored.count, stored.oldUntil, 2],
  );
  t.deepEqual(
    column(
      log.lines.filter(({ level }) => level === 'warn'),
      'fields',
    ),
    [{ events: BATCH_EVENTS_MAX }, { events: 3 }],
  );
});

/** What is told an operator, in order. */
const logged = ({ lines }: ReturnType<typeof openBrokerChannel>['log']): readonly string[] =>
  column(
    lines.filter(({ level }) => level !== 'debug'),
    'message',
  );
