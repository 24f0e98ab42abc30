/** A series of statements: one round trip, all of it or nothing, and a connection that is as good as before. */
import { once, type EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { QueryConfig } from 'pg';
import { NothingWritten } from '../../../../actors/ports.ts';
import { isLost, isUnanswered, isUnavailable } from '../../../../persistence/connections/availability.ts';
import { beginOf } from '../../../../persistence/committer/batch-begin.ts';
import { BATCH_TIMEOUTS } from '../../../../persistence/committer/isolation.ts';
import { CommitWitnesses } from '../../../../persistence/incarnations/commit-witnesses.ts';
import { QUERY_MS_MAX } from '../../../../persistence/connections/database.ts';
import { Series } from '../../../../persistence/connections/series.ts';
import { inOneRoundTrip } from '../../../../persistence/connections/transaction.ts';
import { hangAfter, scaled } from '../../../support/busy.ts';
import { createDatabase } from '../../../support/database/database.ts';
import { openPool } from '../../../support/database/pool.ts';

/** Statements that take longer together than one of them may. */
const SLEEPS = 12;

const BEGIN: QueryConfig = { text: 'begin' };
const COUNT: QueryConfig = { name: 'count', text: 'select count(*) from kept' };
const keep = (n: unknown): QueryConfig => ({
  name: 'keep',
  text: 'insert into kept values ($1) returning n',
  values: [n],
});

/** A table, on connections of which there is one. */
async function openTable(t: ExecutionContext) {
  const pool = openPool(t, { ...(await createDatabase(t, { schema: 'empty' })), max: 1, pipeline: true });
  await pool.query('create table kept (n int primary key deferrable initially deferred)');
  return {
    pool,
    kept: async () => (await pool.query<{ n: number }>('select n from kept order by n')).rows.map(({ n }) => n),
    store: (...statements: readonly QueryConfig[]) =>
      inOneRoundTrip(pool, 'keeping', [BEGIN, ...statements], new CommitWitnesses()),
  };
}

test('all of a series is stored, and each statement has its answer', async (t) => {
  const { pool, kept } = await openTable(t);
  const client = await pool.connect();
  const series = new Series(client);

  const answers = [keep(1), keep(2)].map((statement) => series.client.query(statement));
  await series.end();
  client.release();

  t.deepEqual(
    (await Promise.all(answers)).map(({ rows }) => rows as unknown),
    [[{ n: 1 }], [{ n: 2 }]],
  );
  t.deepEqual(await kept(), [1, 2]);
});

test('nothing is sent before the end: an admin that stands still amid a series holds no lock', async (t) => {
  const { pool } = await openTable(t);
  const client = await pool.connect();
  const series = new Series(client);
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  const sentBefore = stream.bytesWritten - stream.writableLength;

  for (const statement of [BEGIN, keep(1)]) void series.client.query(statement);
  await setImmediate();
  t.is(stream.bytesWritten - stream.writableLength, sentBefore);
  await series.end();

  t.true(stream.bytesWritten > sentBefore);
  await client.query('rollback');
  client.release();
});

for (const [what, fault, code] of [
  ['a statement that is wrong', 'select 1 / (n - n) from kept', '22012'],
  ['what is not parsed', 'select from nowhere', '42P01'],
  ['what only the commit finds', 'insert into kept values (1)', '23505'],
] as const) {
  test(`${what} takes all of its series back, and the connection is as good as before`, async (t) => {
    const { kept, store } = await openTable(t);

    const failed = await t.throwsAsync(store(keep(1), { name: 'fault', text: fault }, COUNT));

    t.is((failed as { readonly code?: unknown }).code, code);
    t.deepEqual(await kept(), []);
    await store(keep(7), COUNT); // what was not parsed is parsed now, and what was is not parsed again
    t.deepEqual(await kept(), [7]);
  });
}

test('what cannot be made into a value takes all of its series back', async (t) => {
  const { kept, store } = await openTable(t);
  const hostile = {
    toPostgres: () => {
      throw new Error('has no words');
    },
  };

  await t.throwsAsync(store(keep(1), keep(hostile), keep(2)), { message: 'has no words' });

  t.deepEqual(await kept(), []);
});

test('a server that is silent amid a series is given up after the timeout of one statement', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 4));
  const { kept, store } = await openTable(t);
  const beganMs = performance.now();

  const failed = await t.throwsAsync(store(keep(1), { text: 'select pg_sleep(60)' }));

  t.true(isLost(failed), 'nobody knows what became of it');
  t.false(failed instanceof NothingWritten);
  t.true(isUnanswered(failed?.cause), String(failed?.cause));
  t.true(performance.now() - beganMs < scaled(QUERY_MS_MAX + 1_000));
  t.deepEqual(await kept(), []);
});

test('a server that is silent once it has done all is given up as well', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 4));
  const { pool } = await openTable(t);
  const client = await pool.connect();
  const { connection } = client as unknown as { readonly connection: EventEmitter };
  connection.removeAllListeners('readyForQuery'); // the last word of a series does not come

  const series = new Series(client);
  void series.client.query(keep(1));
  const failed = await t.throwsAsync(series.end());
  client.release(true);

  t.true(isUnanswered(failed), String(failed));
});

test('of a batch that stops coming amid its sending the server keeps no lock', async (t) => {
  const { pool } = await openTable(t);
  await pool.query('insert into kept values (1)');
  const client = await pool.connect();
  await client.query(`set idle_in_transaction_session_timeout = ${scaled(500)}`); // a busy server needs that for the rest
  const series = new Series(client);
  const begun = [...beginOf(BATCH_TIMEOUTS), { text: 'select n from kept for update' }].map((statement) =>
    series.client.query(statement),
  );
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;

  stream.uncork(); // all but the end is at the server
  await Promise.all(begun);
  await once(stream, 'close');

  const failed = await t.throwsAsync(series.end());
  t.true(isUnavailable(failed), String(failed));
  client.release(true);
  await pool.query('select n from kept for update nowait');
});

test('statements that each take less than that may take longer together', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 4));
  const { kept, store } = await openTable(t);
  // many short ones: each leaves a busy machine most of the time that it has
  const sleeps = Array.from({ length: SLEEPS }, () => ({
    text: `select pg_sleep(${(1.2 * QUERY_MS_MAX) / 1_000 / SLEEPS})`,
  }));

  await store(...sleeps, keep(1));

  t.deepEqual(await kept(), [1]);
});

test('a connection that is lost amid a series ends it', async (t) => {
  const { pool, kept } = await openTable(t);
  const client = await pool.connect();
  const series = new Series(client);
  const stored = series.client.query(keep(1));
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream.destroy();

  await t.throwsAsync(series.end());
  await t.throwsAsync(stored);
  client.release(true);

  t.deepEqual(await kept(), []);
});

test('a statement that was given is as it was', async (t) => {
  const { store } = await openTable(t);
  const statement = keep(1);

  await store(statement);

  t.deepEqual(statement, keep(1));
});
