/** Partitions of the events: made ahead, and dropped when all in them is kept no longer. */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import {
  makeRoomForBackup,
  PARTITION_LOCK_MS_MAX,
  readPartitions,
} from '../../../persistence/event-partitions/partitions.ts';
import { dropOldest, keepAhead, TRANSACTIONS_MIN } from '../../../persistence/event-partitions/upkeep.ts';
import { before, DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { sql } from '../../../persistence/reads/sql.ts';
import { scaled } from '../../support/busy.ts';
import { storeEvents } from '../../support/database/stored-rows.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { opened, WEEK } from './event-partitions-fixture.ts';

const WEEK_MS = WEEK * 86_400_000;

/** Somebody who reads the events in one transaction that stays open, such as a backup. */
async function reader(t: ExecutionContext, options: object): Promise<Client> {
  const client = new Client({ ...options });
  await client.connect();
  t.teardown(() => client.end());
  await client.query('set idle_in_transaction_session_timeout = 0; begin; select count(*) from event');
  return client;
}

test('a partition is made while there is half of one ahead, and none before that', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  t.true(await keepAhead(pool, WEEK));
  const [[, first] = [], ...none] = await partitions();
  t.deepEqual(none, []);

  await pass(600_000);
  for (let times = 0; times < 3; times += 1) t.true(await keepAhead(pool, WEEK));
  const [, [second, end] = [], ...others] = await partitions();
  t.deepEqual(others, []);
  t.is(second, first);

  await pass(1_100_000);
  t.true(await keepAhead(pool, WEEK));
  t.is((await partitions()).at(-1)?.[0], end);
});

test('a partition is for no more than four times what the one before was for, and several are made at once', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await storeEvents(pool, 1, '10 minutes');
  const { all, next } = (await readPartitions(pool))!;
  await pass(Number(all[0]!.to - next) - 40_000); // the server of all tests has counted some already

  await keepAhead(pool, WEEK);

  const [first, ...made] = await partitions();
  const widths = made.map(([from, to]) => Number(to - (from ?? 0n)));
  t.true(widths.length > 1);
  for (const [at, width] of widths.entries()) t.true(width <= 4 * (widths[at - 1] ?? 1_048_576), widths.join(', '));
  t.deepEqual(
    made.map(([from]) => from),
    [first?.[1], ...made.slice(0, -1).map(([, to]) => to)],
  );
});

test('a partition is for as many transactions as there lately were in its time', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await storeEvents(pool, 1, '6 hours');
  await pass(900_000);

  await keepAhead(pool, WEEK);

  const [from, to] = (await partitions()).at(-1) ?? [0n, 0n];
  t.true(Math.abs(Number(to - (from ?? 0n)) - 1_800_000) < 10_000, 'twelve hours of a week');
});

test('an admin that does next to nothing has small ones', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await storeEvents(pool, 1, '20 days');
  await pass(1_030_000);

  await keepAhead(pool, WEEK);

  const [from, to] = (await partitions()).at(-1) ?? [0n, 0n];
  t.is(Number(to - (from ?? 0n)), TRANSACTIONS_MIN);
});

test('events for which no partition was made are stored and read in order all the same', async (t) => {
  const { pool, reads, pass, counts } = await opened(t);
  const { cursor } = await reads.eventsAfter(null, 1);
  await storeEvents(pool, 2);
  await pass(5_000_000);
  await storeEvents(pool, 3);
  await keepAhead(pool, WEEK);
  await storeEvents(pool, 1);
  await pass(20_000);
  await storeEvents(pool, 4);

  const { rows } = await pool.query<{ id: string }>('select id from event order by seq');
  t.deepEqual(await counts(), [
    ['event_ahead', 4],
    ['event_before', 2],
    ['event_from_', 4],
  ]);
  const read = await reads.eventsAfter(cursor, 100);
  t.deepEqual(
    read.events.map(({ id }) => id),
    rows.map(({ id }) => id),
  );
});

test('the oldest partition is dropped once its newest event is kept no longer, with what it holds', async (t) => {
  const { pool, pass, counts } = await opened(t);
  await pass(600_000);
  await keepAhead(pool, WEEK);
  await storeEvents(pool, 3, '9 days');
  await storeEvents(pool, 2, '6 days');
  const keptFrom = before(DATABASE_NOW, WEEK_MS);
  t.false(await dropOldest(pool, keptFrom), 'more may be stored in it');
  await pass(500_000);
  await storeEvents(pool, 1);
  t.false(await dropOldest(pool, keptFrom), 'some are younger');
  await pool.query(`update event set stored_at = stored_at - interval '2 days'`);

  t.false(await dropOldest(pool, sql`null::timestamptz`), 'the clocks do not agree');
  t.true(await dropOldest(pool, keptFrom));

  t.deepEqual(await counts(), [['event_from_', 1]]);
  t.false(await dropOldest(pool, keptFrom));
});

test('a partition in which an open transaction may store something stays, however old it is', async (t) => {
  const { pool, pass, counts } = await opened(t);
  await pass(600_000);
  await keepAhead(pool, WEEK);
  await storeEvents(pool, 1, '9 days');
  await pass(440_000);
  const slow = await pool.connect();
  t.teardown(() => {
    slow.release(true);
  });
  await slow.query('set idle_in_transaction_session_timeout = 0; begin');
  await slow.query('select event_transaction()');
  // What goes by meanwhile are transactions of the server, which its own counter knows of.
  await pool.query(`update event_channel set txid = txid`);
  const [first] = (await readPartitions(pool))?.all ?? [];
  t.not(first, undefined);
  const next = (await readPartitions(pool))?.next ?? 0n;
  const left = Number((first?.to ?? 0n) - next);
  await pass(left + 2);

  t.false(await dropOldest(pool, before(DATABASE_NOW, WEEK_MS)));
  await slow.query('rollback');
  await pool.query('select event_transaction()');
  t.true(await dropOldest(pool, before(DATABASE_NOW, WEEK_MS)));
  t.deepEqual(await counts(), []);
});

test('nothing is made or dropped while somebody reads the events for long, and writers are not held up by the try', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await pass(600_000);
  await keepAhead(pool, WEEK);
  await storeEvents(pool, 1, '9 days');
  await pass(1_100_000);
  await pool.query(
    `insert into event_ahead select (txid::text::bigint + 3000000)::text::xid8, seq, gen_random_uuid(), type, subject, time, data from event`,
  );
  const backup = await reader(t, pool.options);
  const there = await partitions();

  for (const change of [
    () => keepAhead(pool, WEEK),
    () => keepAhead(pool, WEEK, { aheadBytesMax: 0 }),
    () => dropOldest(pool, before(DATABASE_NOW, WEEK_MS)),
  ]) {
    const tried = change();
    const beganMs = performance.now();
    await storeEvents(pool, 1);
    t.true(performance.now() - beganMs < scaled(PARTITION_LOCK_MS_MAX + 800));
    t.false(await tried);
  }
  t.deepEqual(await partitions(), there);

  await backup.query('rollback');
  t.true(await keepAhead(pool, WEEK));
  t.true((await partitions()).length > there.length);
});

test('a sweep drops partitions, and deletes what is older than two of them elsewhere', async (t) => {
  const { pool, pass, counts } = await opened(t);
  await pass(600_000);
  await keepAhead(pool, WEEK);
  await storeEvents(pool, 3, '8 days');
  await pass(500_000);
  await storeEvents(pool, 2, '9 days');
  await storeEvents(pool, 4, '7 days 1 hour');
  await storeEvents(pool, 1);
  const { events } = sweepsOf(pool).prunings;

  t.true((await events()).isFull);
  t.deepEqual(await counts(), [['event_from_', 7]]);
  t.like(await events(), { count: 2, isFull: false });
  t.deepEqual(await counts(), [['event_from_', 5]]);
});

test('all that a backup can hold lies in the first partition, and what comes after the restore behind it', async (t) => {
  const { pool, counts } = await opened(t);
  const client = new Client({ ...pool.options });
  await client.connect();
  t.teardown(() => client.end());

  await makeRoomForBackup(client);
  await pool.query("update database_incarnation set server = 'another'"); // an incarnation begins, as after any restore
  const { rows } = await pool.query<{ id: string }>('select event_transaction()::text as id');
  const highest = BigInt(rows[0]?.id ?? 0) - 2n ** 37n; // half a minute of the clock: a busy machine is slow
  await pool.query(
    `insert into event (txid, id, type, subject, time, data) select id::text::xid8, gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now(), '{}' from unnest($1::bigint[]) id`,
    [[1, 5_000_000_000, highest]],
  );
  await storeEvents(pool, 2);

  t.deepEqual(await counts(), [
    ['event_ahead', 2],
    ['event_before', 3],
  ]);
});
