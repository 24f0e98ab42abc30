import test from 'ava';
import * as fc from 'fast-check';
import { LISTS, type ListName } from '../../../actors/filters.ts';
import { PAGE_OUTPUT_BYTES_MAX } from '../../../persistence/reads/executions.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { modelList } from './model.ts';
import { keyBlob } from './entities.ts';
import { openStorageFixture, openStoredFleet } from './fixture.ts';
import { queryOf } from './list-queries.ts';

const NAMES = Object.keys(LISTS) as ListName[];
for (const name of NAMES) {
  test(`${name}: any filters, order and page give what plain JavaScript gives`, async (t) => {
    const { opened, fixture } = await openStoredFleet(t);

    await fc.assert(
      fc.asyncProperty(queryOf(fixture, name), async (query) => {
        const { rows, totalCount } = await opened.reads.list(name, query);

        const expected = modelList(fixture, name, query);
        t.deepEqual({ rows, totalCount } as unknown, {
          rows: expected.slice((query.page - 1) * query.pageSize, query.page * query.pageSize),
          totalCount: expected.length,
        });
      }),
      { numRuns: 250 },
    );
  });
}

test('every page of a long list, from both ends, is the slice of the whole', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const expected = modelList(fixture, 'command_executions', { filters: [], sort: [] }).map(({ id }) => id);

  for (const pageSize of [1, 7, 48, 100]) {
    const ids: string[] = [];
    for (let page = 1; page <= Math.ceil(expected.length / pageSize) + 1; page += 1) {
      const { rows } = await opened.reads.list('command_executions', { filters: [], sort: [], page, pageSize });
      ids.push(...rows.map(({ id }) => id));
    }
    t.deepEqual(ids, expected);
  }
});

test('the total follows inserts and deletes, also those rolled back', async (t) => {
  const opened = await openedDatabase(t);
  const { pool, reads } = opened;
  await openStorageFixture(opened);
  const total = async () =>
    (await reads.list('command_executions', { filters: [], sort: [], page: 1, pageSize: 1 })).totalCount;
  const before = await total();

  const { rowCount } = await pool.query(`delete from command_execution where status = 'completed'`);
  t.is(await total(), before - (rowCount ?? 0));
  const client = await pool.connect();
  await client.query('begin');
  await client.query('delete from command_execution');
  await client.query('rollback');
  client.release();
  t.is(await total(), before - (rowCount ?? 0));
  await pool.query('delete from command_execution');
  t.is(await total(), 0);
});

test('the counts of a command follow its executions, also when finished ones are deleted', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const id = fixture.commands[0]!.id;
  const summary = async () => (await opened.reads.get('commands', id))!.summary;
  const { total, pending, sent, completed, failed, expired } = await summary();

  await opened.pool.query(
    `update command_execution set status = 'expired', finished_at = now() where command_id = $1 and finished_at is null`,
    [id],
  );
  t.like(await summary(), { total, pending: 0, sent: 0, expired: expired + pending + sent });
  t.like(await summary(), { total, completed });
  await opened.pool.query(
    `delete from command_execution where command_id = $1 and status = 'completed' and exit_code = 0`,
    [id],
  );
  t.like(await summary(), { total: total - completed + failed, completed: failed, succeeded: 0, failed });
});

test('a page of large outputs shows those within its budget, and marks the others as withheld, not as cut', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const { pool, reads } = opened;
  const ran = fixture.command_executions.filter(({ status }) => status === 'completed').map(({ id }) => id);
  const size = PAGE_OUTPUT_BYTES_MAX / 4;
  await pool.query(
    `update command_execution set output = repeat('é', $1::int), output_truncated = false where id = any($2)`,
    [size / 2, ran],
  );

  const { rows } = await reads.list('command_executions', {
    filters: [{ field: 'status', op: 'in', value: ['completed'] }],
    sort: [],
    page: 1,
    pageSize: 100,
  });

  t.deepEqual(
    rows.map(({ output, output_truncated, output_withheld }) => [
      output?.length ?? null,
      output_truncated,
      output_withheld,
    ]),
    rows.map((_, index) => (index < 4 ? [size / 2, false, false] : [null, false, true])),
  );
  const single = await reads.get('command_executions', rows.at(-1)!.id);
  t.deepEqual([single?.output?.length, single?.output_withheld], [size / 2, false]);
});

test('single reads carry what lists leave out, and null for what is not there', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const { reads } = opened;
  const cluster = fixture.clusters.find(({ node_count }) => node_count > 0)!;
  const key = fixture.enrollment_keys[0]!;

  const nodes = modelList(fixture, 'nodes', {
    filters: [{ field: 'cluster_name', op: 'eq', value: cluster.name }],
    sort: [],
  });
  t.deepEqual(await reads.get('clusters', cluster.name), {
    ...cluster,
    nodes: nodes.map(({ id, status, vpn_hostname, enrollment_key_id }) => ({
      id,
      status,
      vpn_hostname,
      enrollment_key_id,
    })),
  });
  t.deepEqual(await reads.get('enrollment_keys', key.id), { ...key, key: keyBlob(key.id) });
  t.deepEqual(await reads.get('nodes', fixture.nodes[3]!.id), fixture.nodes[3]!);
  t.deepEqual(await reads.get('aliases', fixture.aliases[3]!.id), fixture.aliases[3]!);
  t.deepEqual(await reads.get('commands', fixture.commands[3]!.id), fixture.commands[3]!);
  t.deepEqual(await reads.get('command_executions', fixture.command_executions[3]!.id), fixture.command_executions[3]!);
  const request = fixture.self_update_requests[2]!;
  const results = modelList(fixture, 'self_update_results', {
    filters: [{ field: 'id', op: 'eq', value: request.id }],
    sort: [],
  });
  const progress = { waiting: 0, triggered: 0, failed: 0, skipped: 0, updated: 0, rolled_back: 0 };
  for (const { status } of results) progress[status] += 1;
  t.true(results.length > 0);
  const {
    wave_count: count,
    waves = [],
    next: _next,
    ...single
  } = (await reads.get('self_update_requests', request.id))!;
  t.deepEqual(single, { ...request, progress });
  t.is(count, waves.length);
  for (const wave of waves) {
    const { waiting, under_way, done, failed, skipped } = wave;
    const of = results.filter((result) => result.wave === wave.wave);
    t.is(waiting + under_way + done + failed + skipped, of.length);
    t.is(failed, of.filter(({ status }) => status === 'failed' || status === 'rolled_back').length);
  }
  for (const name of NAMES) {
    for (const missing of ['00000000-0000-0000-0000-000000000000', 'no-such', '\0', ''])
      t.is(await reads.get(name, missing), null);
  }
});
