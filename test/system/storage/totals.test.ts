import test from 'ava';
import { Client, type Pool } from 'pg';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from '../../../persistence/publishing/names.ts';
import { readTotals, TOTAL_MS_MAX, type Totals } from '../../../persistence/totals.ts';
import { createDatabase } from '../../support/database/database.ts';
import { silentLog } from '../../support/log.ts';
import { openedDatabase, scaledLimits } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { until } from '../../support/until.ts';
import { openStoredFleet } from './fixture.ts';
import { scaled } from '../../support/busy.ts';
import { storeEvents } from '../../support/database/stored-rows.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 0, 1, 0, 30);

/** Id of an admin that owns nothing. */
const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

/** The totals, once a busy machine has counted all of them within their limits. */
function counted(pool: Pool, hasBroker: boolean): Promise<Totals> {
  return until('all totals', async () => {
    const totals = await readTotals(pool, hasBroker, NOBODY);
    const { brokerBacklog: _mayBeNull, ...others } = totals;
    return Object.values(others).includes(null) ? null : totals;
  });
}

test('nodes and open executions are counted by status, as the rows have them', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const nodes = (status: string) => fixture.nodes.filter((node) => node.status === status).length;
  const executions = (status: string) =>
    fixture.command_executions.filter((execution) => execution.status === status).length;

  const totals = await counted(opened.pool, false);

  t.deepEqual(totals.nodes, {
    healthy: nodes('healthy'),
    unhealthy: nodes('unhealthy'),
    unreachable: nodes('unreachable'),
  });
  t.deepEqual(totals.executions, { pending: executions('pending'), sent: executions('sent') });
  t.true(executions('pending') > 0 && executions('sent') > 0 && nodes('healthy') > 0);
});

test('an empty database has zeros, and no backlog of a broker that is not configured', async (t) => {
  const { pool } = await openedDatabase(t);

  t.deepEqual(await counted(pool, false), {
    nodes: { healthy: 0, unhealthy: 0, unreachable: 0 },
    executions: { pending: 0, sent: 0 },
    webhooksBacklog: 0,
    brokerBacklog: null,
    deliveriesPending: 0,
    consoleSessions: 0,
    releases: { expiresAtMs: null, storedBytes: 0 },
    selfUpdates: {
      requests: { pending: 0, processing: 0, completed: 0 },
      nodes: { waiting: 0, due: 0, triggered: 0, updated: 0, rolled_back: 0, failed: 0, skipped: 0 },
      overdueS: 0,
    },
    tasks: [
      { task: 'reconciler', admin: null },
      { task: 'self-updates', admin: null },
      { task: 'sweeps', admin: null },
      { task: 'webhooks', admin: null },
    ],
    admins: [],
    owned: [],
  });
});

test('events wait for the channels that have not taken them, and for webhooks only while there is one', async (t) => {
  const { pool } = await openedDatabase(t);
  for (const channel of [WEBHOOKS_CHANNEL, BROKER_CHANNEL])
    await pool.query(
      `insert into event_channel (name, txid, seq, epoch) values ($1, '0', 0, 0) on conflict (name) do update set txid = '0', seq = 0`,
      [channel],
    );
  await storeEvents(pool, 3);

  const without = await counted(pool, true);
  await pool.query(
    `insert into webhook (id, url, sealed_secret, sealed_headers, subscribed_events, inserted_at, updated_at) values (gen_random_uuid(), 'http://x', 'x', 'x', '{edge.core.test}', now(), now())`,
  );
  const withOne = await counted(pool, true);
  await pool.query(
    `update event_channel set (txid, seq) = (select txid, seq from event order by txid desc, seq desc limit 1) where name = '${BROKER_CHANNEL}'`,
  );
  const published = await counted(pool, true);

  t.deepEqual([without.webhooksBacklog, without.brokerBacklog], [0, 3]);
  t.deepEqual([withOne.webhooksBacklog, withOne.brokerBacklog], [3, 3]);
  t.deepEqual([published.webhooksBacklog, published.brokerBacklog], [3, 0]);
});

test('a self-update request is late when what must come next has not come in its time', async (t) => {
  const { pool } = await openedDatabase(t);
  const seconds = async (request: object, ...nodes: readonly object[]): Promise<number | undefined> => {
    await pool.query('truncate self_update_request, self_update_node');
    const row = { batch_size: null, health_timeout_ms: 100_000, status: 'processing', since: 500, ...request };
    await pool.query(
      `insert into self_update_request (id, targeting, batch_size, health_timeout_ms, status, total, inserted_at, updated_at)
       select gen_random_uuid(), '{}', batch_size, health_timeout_ms, status, 0, now(), now() - since * interval '1 s'
       from json_to_record($1) as r(batch_size int, health_timeout_ms int, status text, since int)`,
      [JSON.stringify(row)],
    );
    await pool.query(
      `insert into self_update_node (request_id, node_id, cluster_name, state, due_at, triggered_at, judged_at, finished_at)
       select r.id, gen_random_uuid(), 'c', n.state, now() - n.due * interval '1 s', now() - n.triggered * interval '1 s', now() - n.judged * interval '1 s', now() - n.finished * interval '1 s'
       from self_update_request r, json_to_recordset($1) as n(state text, due int, triggered int, judged int, finished int)`,
      [JSON.stringify(nodes)],
    );
    const { selfUpdates } = await counted(pool, false);
    return selfUpdates === null ? undefined : Math.floor(selfUpdates.overdueS / 20) * 20; // and what passed meanwhile
  };
  const due = { state: 'due', due: 400 };
  const triggered = { state: 'triggered', due: 300, triggered: 300 };

  t.is(await seconds({}, { state: 'waiting' }), 500, 'nobody gives the next node its turn');
  t.is(await seconds({ since: 0 }, { state: 'waiting' }), 0);
  t.is(await seconds({}, due), 340, '60 s after the turn of that node');
  t.is(await seconds({}, { ...due, due: 40 }), 0);
  t.is(await seconds({}, triggered), 300, 'without batches it is over once all are triggered');
  t.is(await seconds({ batch_size: 1 }, triggered, { state: 'waiting' }), 200, '100 s after the trigger');
  t.is(await seconds({ batch_size: 2 }, triggered, { state: 'waiting' }), 300, 'the batch has room');
  t.is(await seconds({ batch_size: 1, health_timeout_ms: 900_000 }, triggered, { state: 'waiting' }), 0);
  t.is(await seconds({ batch_size: 1 }, { ...triggered, judged: 20, finished: 20 }, { state: 'waiting' }), 20);

  const { selfUpdates } = await counted(pool, false);
  t.like(selfUpdates, { requests: { processing: 1, completed: 0 }, nodes: { waiting: 1, triggered: 1, due: 0 } });
});

test('what takes too long to count is not known, and the rest is', async (t) => {
  const connection = await createDatabase(t);
  const { connectMs } = scaledLimits();
  const database = await openDatabase({ connection, poolMax: 4, log: silentLog, limits: { connectMs } });
  t.teardown(() => database.close());
  await database.migrate();
  const holder = new Client(connection);
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('begin');
  await holder.query('lock table node in access exclusive mode');

  // A busy machine may be late with the rest too.
  const { totals, tookMs } = await until('the rest', async () => {
    const beganMs = performance.now();
    const read = await readTotals(database.pool, false, NOBODY);
    const isKnown = read.executions !== null && read.deliveriesPending !== null;
    return isKnown && { totals: read, tookMs: performance.now() - beganMs };
  });

  t.is(totals.nodes, null);
  t.deepEqual([totals.executions, totals.deliveriesPending], [{ pending: 0, sent: 0 }, 0]);
  t.true(tookMs < scaled(TOTAL_MS_MAX + 1_000), `${tookMs} ms`);
});

test('a database that is not there is away, and not empty', async (t) => {
  const database = await openDatabase({
    connection: { host: '/nowhere', user: 'x', database: 'x' },
    poolMax: 4,
    log: silentLog,
  });
  t.teardown(() => database.close());

  await t.throwsAsync(readTotals(database.pool, false, NOBODY), { instanceOf: DatabaseUnavailable });
});

test('self-update requests go when they were completed long ago, their nodes first and in batches, open ones never', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const sweeps = sweepsOf(opened.pool, { nowMs: NOW_MS });
  const { pool } = opened;
  const ids = async () =>
    (await pool.query<{ id: string }>('select id from self_update_request order by id')).rows.map(({ id }) => id);
  const over = fixture.self_update_requests.filter(({ status }) => status === 'completed').map(({ id }) => id);
  const [young = '', ...old] = over;
  await pool.query('update self_update_request set completed_at = $1 where completed_at is not null', [
    new Date(NOW_MS - 31 * DAY_MS),
  ]);
  await pool.query('update self_update_request set completed_at = $1 where id = $2', [
    new Date(NOW_MS - 29 * DAY_MS),
    young,
  ]);
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from self_update_node where request_id = any($1)',
    [old],
  );

  const { selfUpdateNodes } = sweeps.prunings;
  const batches = [];
  for (let batch = await selfUpdateNodes(3); batch.count > 0; batch = await selfUpdateNodes(3))
    batches.push(batch.count);

  t.true(batches.length > 1 && batches.every((nodes) => nodes <= 3), String(batches));
  t.is(
    batches.reduce((sum, nodes) => sum + nodes, 0),
    rows[0]?.count ?? -1,
  );
  const left = fixture.self_update_requests.map(({ id }) => id).filter((id) => !old.includes(id));
  t.deepEqual(await ids(), left.toSorted());
});
