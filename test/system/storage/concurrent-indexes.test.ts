/** Indexes that are made at a start, while other admins write. */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import type { ListQuery } from '../../../actors/filters.ts';
import { IndexBuilds } from '../../../persistence/concurrent-indexes.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { scaled } from '../../support/busy.ts';
import { recordingLog } from '../../support/log.ts';
import { openedDatabase, readsOf } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { until } from '../../support/until.ts';

const NAME = 'command_execution_of_node';

const ADD = `with made as (insert into command (id, command_text, targeting, inserted_at, updated_at) values (uuidv7(), 'true', '{"type":"all"}', now(), now()) returning id)
  insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at)
  select uuidv7(), id, ('00000000-0000-4000-8000-' || lpad(node::text, 12, '0'))::uuid, 'c', true, now(), now() from made, generate_series(1, 2000) node`;

async function opened(t: ExecutionContext) {
  const { pool, reads } = await openedDatabase(t);
  const client = async (): Promise<Client> => {
    const one = new Client({ ...pool.options });
    await one.connect();
    await one.query('set idle_in_transaction_session_timeout = 0'); // it stays open until the test has seen enough
    t.teardown(() => one.end());
    return one;
  };
  const isValid = async (): Promise<boolean | undefined> =>
    (
      await pool.query<{ valid: boolean }>(
        'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
        [NAME],
      )
    ).rows[0]?.valid;
  const builds = (log = recordingLog(), waitMsMax?: number): IndexBuilds => {
    const connect = () => new Client({ ...pool.options, pipeline: false });
    const made = new IndexBuilds({ pool, connect, clock: systemClock, log, ...(waitMsMax && { waitMsMax }) });
    t.teardown(() => made.stop());
    made.start();
    return made;
  };
  const waiting = () =>
    until('its wait', async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
  return { pool, reads, client, isValid, builds, waiting };
}

/** The index is missing, and somebody writes in a transaction that stays open. */
async function besideWriter(t: ExecutionContext) {
  const all = await opened(t);
  await all.pool.query(`drop index ${NAME}`);
  const writer = await all.client();
  // Without the triggers that count rows: one time in sixteen it would hold the count that others write too.
  await writer.query(`begin; set local session_replication_role = replica; ${ADD}`);
  return { ...all, writer };
}

test('a database has them from the beginning, and a start leaves them alone', async (t) => {
  const { builds, isValid } = await opened(t);
  const log = recordingLog();
  t.true(await isValid());

  await builds(log).settled();

  t.deepEqual(log.lines, []);
});

test('one that is missing, or was begun and not ended, is made, and executions of a node are read by it', async (t) => {
  const { pool, isValid, reads, builds } = await opened(t);
  for (let round = 0; round < 10; round += 1) await pool.query(ADD);
  await pool.query('analyze command_execution');
  for (const spoil of [
    `drop index ${NAME}`,
    `update pg_index set indisvalid = false where indexrelid = '${NAME}'::regclass`,
  ]) {
    await pool.query(spoil);
    t.not(await isValid(), true);

    await builds().settled();

    t.true(await isValid());
  }
  const node = '00000000-0000-4000-8000-000000000007';
  const filters = [{ field: 'node_id', op: 'in', value: [node] }] as const;
  const page = await reads.list('command_executions', { filters, sort: [], page: 1, pageSize: 5 });
  t.is(page.totalCount, 10);
  t.is(page.rows.length, 5);
  await until('its use', async () => {
    const { rows } = await pool.query<{ used: boolean }>(
      'select idx_scan > 0 as used from pg_stat_user_indexes where indexrelname = $1',
      [NAME],
    );
    return rows[0]?.used === true;
  });
});

test('a word is looked for in the scripts of a time alone, however many commands there were before', async (t) => {
  const { pool, orm } = await openedDatabase(t);
  for (const [count, age] of [
    [20_000, '30 days'],
    [30, '1 hour'],
  ])
    await pool.query(
      `insert into command (id, command_text, targeting, inserted_at, updated_at)
       select gen_random_uuid(), 'echo word ' || n, '{"type":"all"}', now() - $2::interval, now() from generate_series(1, $1::int) n`,
      [count, age],
    );
  await pool.query('analyze command');
  const counted = countedReads(t, pool, 'command');
  const reads = readsOf({ orm, pool: counted.pool });
  const sinceMs = Date.now() - 7 * 86_400_000;
  const filters = (word: string): ListQuery['filters'] => [
    { field: 'command_text', op: 'eq', value: `*${word}*` },
    { field: 'inserted_at', op: 'gte', value: sinceMs },
  ];
  const totals: number[] = [];

  const read = await counted.readBy(async () => {
    for (const word of ['nowhere', 'word', 'word 30'])
      totals.push(
        (await reads.list('commands', { filters: filters(word), sort: [], page: 1, pageSize: 20 })).totalCount,
      );
  });

  t.deepEqual(totals, [0, 30, 1]);
  t.true(read < 1_000, `${read} rows`);
});

test('it waits for a writer that began before; nobody else waits for it, and other admins leave it to this one', async (t) => {
  const { pool, writer, isValid, builds, waiting } = await besideWriter(t);

  const made = builds();
  await waiting();
  await pool.query(ADD);
  const log = recordingLog();
  await builds(log).settled();
  t.deepEqual(log.lines, []);
  t.not(await isValid(), true);
  await writer.query('commit');
  await made.settled();

  t.true(await isValid());
});

test('one that cannot be made in time is told in the log, with what is left of it, and the next start makes it', async (t) => {
  const { writer, isValid, builds } = await besideWriter(t);
  const log = recordingLog();

  await builds(log, scaled(50)).settled();
  await writer.query('commit');

  t.is(await isValid(), false);
  t.like(log.lines, [
    { level: 'warn', message: 'an index could not be made: what needs it is slow until it is, and it is tried again' },
  ]);
  t.regex(JSON.stringify(log.lines[0]), /lock timeout; what is left of it costs each write, and stays: /u);
  await builds(log).settled();
  t.true(await isValid());
});

test('a stop gives up what is being made, without a word', async (t) => {
  const { builds, waiting } = await besideWriter(t);
  const log = recordingLog();
  const made = builds(log);
  await waiting();

  await made.stop();

  t.deepEqual(log.lines, []);
});
