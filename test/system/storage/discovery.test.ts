/** Complete lists of nodes: one snapshot, as fast as they are taken, and never half. */
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Filter } from '../../../actors/filters.ts';
import { insertNodes } from '../../../bench/fleet/nodes.ts';
import { createDiscovery } from '../../../persistence/reads/discovery.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { until } from '../../support/until.ts';
import { openStoredFleet } from './fixture.ts';
import { column } from '../../support/database/columns.ts';

interface DiscoveredNode {
  readonly id: string;
  readonly cluster_name: string;
  readonly status: string;
  readonly version: string;
}

async function allOf(pieces: AsyncGenerator<string, void, void>, before = ''): Promise<DiscoveredNode[]> {
  let text = before;
  for await (const piece of pieces) text += piece;
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [id = '', cluster = '', status = '', version = ''] = line.split('\t');
      return { id, cluster_name: JSON.parse(cluster) as string, status, version: JSON.parse(version) as string };
    });
}

/** A fleet of bench nodes. */
async function fleetOf(t: ExecutionContext, count: number) {
  const opened = await openedDatabase(t);
  const client = await opened.pool.connect();
  t.teardown(() => client.release());
  await insertNodes(client, count);
  return { ...opened, client, discovery: createDiscovery(opened.pool) };
}

test('every filter of the list of nodes finds the same nodes here', async (t) => {
  const {
    opened,
    fixture: { nodes },
  } = await openStoredFleet(t);
  const discovery = createDiscovery(opened.pool);
  const one = nodes[3] ?? nodes[0];
  const filters: readonly Filter[] = [
    { field: 'status', op: 'in', value: ['healthy'] },
    { field: 'status', op: 'in', value: ['unhealthy', 'unreachable'] },
    { field: 'cluster_name', op: 'eq', value: 'pro*' },
    { field: 'cluster_name', op: 'in', value: ['prod', 'a'] },
    { field: 'node_id', op: 'in', value: [one?.id ?? '', randomUUID()] },
    { field: 'version', op: 'eq', value: '1.*' },
    { field: 'self_update_enabled', op: 'eq', value: true },
    { field: 'has_enrollment_key', op: 'eq', value: false },
    { field: 'last_seen_at', op: 'gte', value: Date.UTC(2026, 0, 1, 0, 30) },
    { field: 'inserted_at', op: 'lte', value: Date.UTC(2026, 0, 1, 0, 0, 0, 40) },
  ];

  for (const given of [[], ...filters.map((filter) => [filter]), filters.slice(0, 3)]) {
    const wanted = await opened.reads.list('nodes', { filters: given, sort: [], page: 1, pageSize: 100 });
    const found = await allOf(discovery.pieces(given));

    t.deepEqual(
      found,
      wanted.rows
        .map(({ id, cluster_name: clusterName, status, version }) => ({
          id,
          cluster_name: clusterName,
          status,
          version,
        }))
        .toSorted((left, right) => (left.id < right.id ? -1 : 1)),
      JSON.stringify(given),
    );
  }
});

test('names and versions come through with whatever they hold', async (t) => {
  const { discovery, client } = await fleetOf(t, 1);
  const version = 'a\tb\nc\\d"e\u0001ü€😀';
  await client.query('update node set version = $1', [version]);

  t.deepEqual(column(await allOf(discovery.pieces([])), 'version'), [version]);
});

test('a list is of one moment, whatever comes and goes while it is taken', async (t) => {
  const { discovery, client } = await fleetOf(t, 4_500);
  const pages = discovery.pieces([]);
  const first = await pages.next();
  await client.query(`delete from node where id > '00000000-0000-4000-8000-000000001000'`);
  await client.query(`update node set status = 'healthy'`);

  const nodes = await allOf(pages, first.value ?? '');

  t.deepEqual(
    [nodes.length, new Set(nodes.map(({ id }) => id)).size, new Set(nodes.map(({ status }) => status))],
    [4_500, 4_500, new Set(['unreachable'])],
  );
});

test('whoever stops early gives the connection back, and so does one that is done', async (t) => {
  const { discovery, pool, client } = await fleetOf(t, 2_500);
  for (let round = 0; round < 5; round += 1) {
    const pages = discovery.pieces([]);
    await pages.next();
    await pages.return();
    await allOf(discovery.pieces([]));
  }

  const { rows } = await client.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`,
  );

  t.deepEqual([rows, pool.waitingCount, pool.totalCount <= 3], [[{ n: 0 }], 0, true]);
});

test('a list whose connection is lost in the middle fails, and the next one comes', async (t) => {
  const { discovery, client } = await fleetOf(t, 6_500);
  const pages = discovery.pieces([]);
  await pages.next();
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );

  await t.throwsAsync(() => allOf(pages), { instanceOf: DatabaseUnavailable });
  t.is(await until('the next one', async () => (await allOf(discovery.pieces([]))).length), 6_500);
});

test('two lists are taken at once; the next waits for one of them, and not for ever', async (t) => {
  const { discovery } = await fleetOf(t, 2_500);
  const slow = [discovery.pieces([]), discovery.pieces([])];
  for (const pages of slow) await pages.next();

  await t.throwsAsync(() => allOf(discovery.pieces([])), {
    instanceOf: DatabaseUnavailable,
    message: /other lists take too long/u,
  });
  let [held] = slow;
  // A busy server may be late to take the end of the other one: then it is waited for again.
  const count = await until('a list that waited, and had its turn in time', async () => {
    const waiting = allOf(discovery.pieces([])).then(
      (nodes) => nodes.length,
      () => null,
    );
    await held?.return();
    if ((await waiting) === null) await (held = discovery.pieces([])).next();
    return waiting;
  });
  t.is(count, 2_500);
  await slow[1]?.return();
});

test('an abandoned list and a list that takes too long fail, and both return their semaphore permits', async (t) => {
  const { pool } = await fleetOf(t, 6_500);
  const lying = createDiscovery(pool, { pageMsMax: 1_000 });
  const long = createDiscovery(pool, { listMsMax: 0 });
  const pages = [lying.pieces([]), lying.pieces([])];
  for (const one of pages) await one.next();

  await until(
    'the server to end the transactions',
    async () =>
      (
        await pool.query(
          `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
        )
      ).rowCount === 0,
  );

  for (const one of pages) await t.throwsAsync(() => allOf(one), { instanceOf: DatabaseUnavailable });
  for (const _ of [1, 2, 3])
    await t.throwsAsync(() => allOf(long.pieces([])), { instanceOf: DatabaseUnavailable, message: /too long/u });
  // on a busy machine this list may be left lying too
  t.is(await until('a list', async () => (await allOf(lying.pieces([]))).length), 6_500);
});
