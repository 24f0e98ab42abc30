/** What goes on in the whole fleet, as rows have it: bounded, by indexes, each number for itself. */
import test, { type ExecutionContext } from 'ava';
import { Client, type Pool } from 'pg';
import type { Filter } from '../../../actors/filters.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { OVERVIEW_ADMINS_MAX, type Overview } from '../../../actors/resources/overview.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { keptOverview, readOverview } from '../../../persistence/overview.ts';
import { silentLog } from '../../support/log.ts';
import { openedDatabase, readsOf } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { storeAdmin, storeCluster, storeEvents } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { storeNodes } from './stored-nodes.ts';

/** Executions of a command of their own that were completed so long ago, as an interval. */
async function storeCompleted(pool: Pool, count: number, exitCode: number, ago: string): Promise<void> {
  await pool.query(
    `with made as (insert into command (id, command_text, targeting, inserted_at, updated_at) values (uuidv7(), $4, '{"type":"all"}', now(), now()) returning id)
     insert into command_execution (id, command_id, node_id, cluster_name, target_all, status, exit_code, sent_at, completed_at, finished_at, inserted_at, updated_at)
     select uuidv7(), id, gen_random_uuid(), 'c', true, 'completed', $2, at, at, at, at, at from made, generate_series(1, $1) n, lateral (select now() - $3::interval - n * interval '1 ms' as at) then_`,
    [count, exitCode, ago, `exit ${exitCode}`],
  );
}

/** So many that are not over, two of each command: every second one was sent. */
async function storeOpen(pool: Pool, count: number): Promise<void> {
  await pool.query(
    `insert into command_execution (id, command_id, node_id, cluster_name, target_all, status, sent_at, inserted_at, updated_at)
     select uuidv7(), md5((n / 2)::text)::uuid, gen_random_uuid(), 'c', true, case n % 2 when 0 then 'sent' else 'pending' end, case n % 2 when 0 then now() end, now(), now() from generate_series(1, $1) n`,
    [count],
  );
}

async function storeDeliveries(pool: Pool, count: number, status: string, ago = '0 s'): Promise<void> {
  await pool.query(
    `insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempts_max, inserted_at, updated_at)
     select gen_random_uuid(), '1', n, gen_random_uuid(), 'edge.core.test', gen_random_uuid(), $2, 3, now() - $3::interval, now() - $3::interval from generate_series(1, $1) n`,
    [count, status, ago],
  );
}

/** Once a busy machine has read all of it within its limits. */
function whole(pool: Pool): Promise<Overview> {
  return until('all numbers', async () => {
    const overview = await readOverview(pool);
    return Object.values(overview).includes(null) ? null : overview;
  });
}

test('everything is counted as the rows have it, what is older than an hour left out', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeCompleted(pool, 4, 0, '10 min');
  await storeCompleted(pool, 7, 2, '20 min');
  await storeCompleted(pool, 5, 2, '61 min');
  await storeOpen(pool, 3);
  await storeDeliveries(pool, 2, 'pending');
  await storeDeliveries(pool, 6, 'dropped', '59 min');
  await storeDeliveries(pool, 8, 'dropped', '61 min');
  await storeDeliveries(pool, 1, 'delivered');
  await storeEvents(pool, 9, '2 min');
  await storeEvents(pool, 3);
  await storeAdmin(pool, 'berlin');

  const { as_of: asOf, latest_failures: failures, admins, node_totals: _none, ...counts } = await whole(pool);

  t.deepEqual(counts, {
    counted_max: 100_000,
    commands_in_flight: 2,
    executions_in_flight: 3,
    executions_completed: 11,
    executions_failed: 7,
    deliveries_waiting: 2,
    deliveries_dropped: 6,
    events_stored: 3,
    webhooks_in_trouble: { waiting: 0, dropped: 0, deliveries_counted_max: 1_000, named: [] }, // they are of no webhook
  });
  t.is(new Date(asOf).toISOString(), asOf);
  t.deepEqual(
    admins?.map(({ name }) => name),
    ['berlin'],
  );
  t.is(failures?.length, 5);
  t.true(failures?.every(({ command_text: text, exit_code: code }) => text === 'exit 2' && code === 2));
  const times = failures?.map(({ completed_at: at }) => at);
  t.deepEqual(times, times?.toSorted().toReversed());
});

test('an empty fleet has zeros, and no number is missing', async (t) => {
  const { pool } = await openedDatabase(t);

  const { as_of: _now, ...counts } = await whole(pool);
  const none = { count: 0, recent: 0 };

  t.deepEqual(counts, {
    counted_max: 100_000,
    node_totals: { healthy: none, unhealthy: none, unreachable: none },
    commands_in_flight: 0,
    executions_in_flight: 0,
    executions_completed: 0,
    executions_failed: 0,
    latest_failures: [],
    deliveries_waiting: 0,
    deliveries_dropped: 0,
    events_stored: 0,
    admins: [],
    webhooks_in_trouble: { waiting: 0, dropped: 0, deliveries_counted_max: 1_000, named: [] },
  });
});

test('nodes are counted by status, with those that came to it within the hour', async (t) => {
  const { pool } = await openedDatabase(t);
  const cluster = (await storeCluster(pool, 'fleet', { nodes: 6 })) as ClusterId;
  const [now, soon, before] = await storeNodes({ pool }, cluster, 6);
  const left = (ids: readonly unknown[], ago: string) =>
    pool.query(`update node set status = 'unreachable', status_since = now() - $2::interval where id = any ($1)`, [
      ids,
      ago,
    ]);
  await left([now, soon], '59 min');
  await left([before], '61 min');

  t.deepEqual((await whole(pool)).node_totals, {
    healthy: { count: 3, recent: 0 },
    unhealthy: { count: 0, recent: 0 },
    unreachable: { count: 3, recent: 2 },
  });
});

test('a storm of events is counted, also behind one whose transaction began long before', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeEvents(pool, 20, '1 h');
  await storeEvents(pool, 12_000);
  await storeEvents(pool, 1, '5 min');
  await storeEvents(pool, 500);

  t.is((await whole(pool)).events_stored, 12_500);
});

/** Far more than an overview reads. */
const LONG_AGO = 40_000;

/** Rows of executions that an overview, or the list that it leads to, may read where the last hour has a handful. */
const READ_MAX = 5_000;

async function longHistory(t: ExecutionContext) {
  const opened = await openedDatabase(t);
  await storeCompleted(opened.pool, LONG_AGO, 0, '2 h');
  await storeCompleted(opened.pool, 200, 1, '3 h');
  await storeCompleted(opened.pool, 40, 0, '10 min');
  await storeCompleted(opened.pool, 20, 1, '5 min');
  await opened.pool.query('analyze command_execution');
  return { ...opened, ...countedReads(t, opened.pool), orm: opened.orm };
}

test('however many executions there were, it reads those of the last hour', async (t) => {
  const { pool, readBy } = await longHistory(t);

  const read = await readBy(async () => {
    const { executions_failed: failed, executions_completed: completed } = await whole(pool);
    t.deepEqual([failed, completed], [20, 60]);
  });

  t.true(read < READ_MAX, `${read} rows`);
});

/** Rows that the list reads, filtered so, by when they were completed; and how many it says there are. */
async function listed(opened: Awaited<ReturnType<typeof longHistory>>, filters: readonly Filter[]) {
  const reads = readsOf(opened);
  const since = { field: 'completed_at', op: 'gte', value: Date.now() - 3_600_000 } as const;
  const sort = [{ field: 'completed_at', descending: true }];
  const query = { filters: [...filters, since], sort, page: 1, pageSize: 50 };
  let count = 0;
  const read = await opened.readBy(async () => {
    count = (await reads.list('command_executions', query)).totalCount;
  });
  return { count, isFew: read < READ_MAX ? true : `${read} rows` };
}

const FAILED: readonly Filter[] = [
  { field: 'status', op: 'in', value: ['completed'] },
  { field: 'exit_code', op: 'gte', value: 1 },
];

test('a list by when executions were completed reads those of that time, and of those that failed no others', async (t) => {
  const opened = await longHistory(t);

  t.deepEqual(await listed(opened, []), { count: 60, isFew: true });
  await storeCompleted(opened.pool, LONG_AGO, 0, '20 min');
  await opened.pool.query('analyze command_execution');
  t.deepEqual(await listed(opened, FAILED), { count: 20, isFew: true });
});

test('a number that cannot be had leaves the others', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeCompleted(pool, 2, 1, '1 min');
  await storeEvents(pool, 3);
  const holder = new Client({ ...pool.options });
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('set idle_in_transaction_session_timeout = 0');
  await holder.query('begin; lock table webhook_delivery in access exclusive mode');

  // A busy machine may be late with the rest too.
  const overview = await until('the rest', async () => {
    const read = await readOverview(pool);
    const { deliveries_waiting: _locked, deliveries_dropped: _too, webhooks_in_trouble: _three, ...others } = read;
    return !Object.values(others).includes(null) && read;
  });

  t.deepEqual([overview.deliveries_waiting, overview.deliveries_dropped], [null, null]);
  t.is(overview.webhooks_in_trouble, null);
  t.like(overview, { executions_failed: 2, executions_completed: 2, executions_in_flight: 0, events_stored: 3 });
});

test('of more admins than it names, those with problems are among them', async (t) => {
  const { pool } = await openedDatabase(t);
  const names = Array.from({ length: OVERVIEW_ADMINS_MAX + 1 }, (_none, index) => `admin-${index + 10}`);
  for (const name of names) await storeAdmin(pool, name);
  await pool.query(
    `update admin set instance_id = id, problems = jsonb_build_object('instance', id, 'problems', '[{"check":"relay","problem":"down"}]'::jsonb) where name = $1`,
    [names.at(-1)],
  );

  const { admins } = await whole(pool);

  t.deepEqual(
    admins?.map(({ name }) => name),
    [...names.slice(0, -2), names.at(-1)],
  );
  t.deepEqual(admins?.at(-1)?.problems, [{ check: 'relay', problem: 'down' }]);
});

test('all who ask within some seconds get one reading', async (t) => {
  const { pool } = await openedDatabase(t);
  const overview = keptOverview(pool);

  const answers = await Promise.all(Array.from({ length: 1_000 }, () => overview()));

  t.is(new Set(answers).size, 1);
});

test('a database that is not there is away, and nothing is zero', async (t) => {
  const database = await openDatabase({
    connection: { host: '/nowhere', user: 'x', database: 'x' },
    poolMax: 4,
    log: silentLog,
  });
  t.teardown(() => database.close());

  await t.throwsAsync(readOverview(database.pool), { instanceOf: DatabaseUnavailable });
});
