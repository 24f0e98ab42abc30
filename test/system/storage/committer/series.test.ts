/** A series of statements: one round trip, all of it or nothing, and a connection that is as good as before. */
import test, { type ExecutionContext } from 'ava';
import { Pool, type PoolClient } from 'pg';
import { NothingWritten } from '../../../../actors/ports.ts';
import { isLost, isUnanswered } from '../../../../persistence/availability.ts';
import { CommitWitnesses } from '../../../../persistence/commit-witnesses.ts';
import { QUERY_MS_MAX } from '../../../../persistence/database.ts';
import { Series } from '../../../../persistence/series.ts';
import { inOneRoundTrip } from '../../../../persistence/transaction.ts';
import { hangAfter, patient } from '../../../support/busy.ts';
import { createDatabase } from '../../../support/database.ts';

const KEEP = { name: 'keep', text: 'insert into kept values ($1) returning n' };
const BEGIN = [{ text: 'begin' }];

/** A table, on connections of which there is one. */
async function openTable(t: ExecutionContext) {
  const pool = new Pool({ ...(await createDatabase(t, { schema: 'empty' })), max: 1, pipeline: true });
  pool.on('connect', (client) => client.on('error', () => undefined)); // one that was given up
  t.teardown(() => pool.end());
  await pool.query('create table kept (n int primary key deferrable initially deferred)');
  return {
    pool,
    kept: async () => (await pool.query<{ n: number }>('select n from kept order by n')).rows.map(({ n }) => n),
    store: (send: (client: Pick<PoolClient, 'query'>) => void) =>
      inOneRoundTrip(pool, 'keeping', async (client) => send(client), BEGIN, new CommitWitnesses()),
  };
}

test('all of a series is stored, and each statement has its answer', async (t) => {
  const { kept, store } = await openTable(t);
  const answers: Promise<unknown>[] = [];

  await store((client) => {
    for (const n of [1, 2]) answers.push(client.query({ ...KEEP, values: [n] }).then(({ rows }) => rows));
  });

  t.deepEqual(await Promise.all(answers), [[{ n: 1 }], [{ n: 2 }]]);
  t.deepEqual(await kept(), [1, 2]);
});

for (const [what, fault, code] of [
  ['a statement that is wrong', 'select 1 / (n - n) from kept', '22012'],
  ['what is not parsed', 'select from nowhere', '42P01'],
  ['what only the commit finds', 'insert into kept values (1)', '23505'],
] as const) {
  test(`${what} takes all of its series back, and the connection is as good as before`, async (t) => {
    const { kept, store } = await openTable(t);
    const answers: Promise<unknown>[] = [];

    const failed = await t.throwsAsync(
      store((client) => {
        answers.push(client.query({ ...KEEP, values: [1] }).catch(String));
        answers.push(client.query({ name: 'fault', text: fault }).catch(String));
        answers.push(client.query({ name: 'after', text: 'select count(*) from kept' }).catch(String));
      }),
    );
    await Promise.all(answers);

    t.is((failed as { readonly code?: unknown }).code, code);
    t.deepEqual(await kept(), []);
    // what was not parsed is parsed now, and what was is not parsed again
    await store((client) => {
      void client.query({ ...KEEP, values: [7] });
      void client.query({ name: 'after', text: 'select count(*) from kept' });
    });
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

  await t.throwsAsync(
    store((client) => {
      void client.query({ ...KEEP, values: [1] });
      void client.query({ ...KEEP, values: [hostile] });
      void client.query({ ...KEEP, values: [2] });
    }),
    { message: 'has no words' },
  );

  t.deepEqual(await kept(), []);
});

test('whoever cannot go on sending has nothing stored', async (t) => {
  const { pool, kept } = await openTable(t);
  const send = async (client: Pick<PoolClient, 'query'>): Promise<void> => {
    void client.query({ ...KEEP, values: [1] });
    throw new Error('lost the thread');
  };

  await t.throwsAsync(inOneRoundTrip(pool, 'keeping', send, BEGIN, new CommitWitnesses()), {
    message: 'lost the thread',
  });

  t.deepEqual(await kept(), []);
});

test('a server that is silent amid a series is given up after the patience with one statement', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 4));
  const { kept, store } = await openTable(t);
  const beganMs = performance.now();

  const failed = await t.throwsAsync(
    store((client) => {
      void client.query({ ...KEEP, values: [1] });
      void client.query('select pg_sleep(60)');
    }),
  );

  t.true(isLost(failed), 'nobody knows what became of it');
  t.false(failed instanceof NothingWritten);
  t.true(isUnanswered(failed?.cause), String(failed?.cause));
  t.true(performance.now() - beganMs < patient(QUERY_MS_MAX + 1_000));
  t.deepEqual(await kept(), []);
});

test('statements that each take less than that may take longer together', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 4));
  const { kept, store } = await openTable(t);

  await store((client) => {
    for (let count = 0; count < 3; count += 1) void client.query(`select pg_sleep(${QUERY_MS_MAX / 2_000})`);
    void client.query({ ...KEEP, values: [1] });
  });

  t.deepEqual(await kept(), [1]);
});

test('a connection that is lost amid a series ends it', async (t) => {
  const { pool, kept } = await openTable(t);
  const client = await pool.connect();
  const series = new Series(client);
  const began = series.client.query('begin');
  await began;
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();

  await t.throwsAsync(series.client.query({ ...KEEP, values: [1] }));
  await t.throwsAsync(series.end());
  client.release(true);

  t.deepEqual(await kept(), []);
});
