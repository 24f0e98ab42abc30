/** Statements of batches are planned once: for tables that were empty then, and hold for full ones. */
import test from 'ava';
import type { Write } from '../../../../actors/writes.ts';
import { finish, openFixture, well, type Fixture } from '../../../support/database/committer-fixture.ts';
import { NOW_MS } from '../../../support/actors.ts';

/** Rows that come once everything was planned: reading them all is seen, and takes no time. */
const ROWS = 5_000;

/**
 * How often each of these tables was read from end to end. The connection of the batches is asked for its part first.
 */
async function wholeReads(fixture: Fixture): Promise<Readonly<Record<string, number>>> {
  for (const pool of [fixture.database.writes, fixture.database.pool])
    await pool.query('select pg_stat_force_next_flush()');
  const tables = ['command', 'command_execution', 'node', 'node_labels', 'cluster_ownership', 'execution_output_part'];
  const rows = await fixture.rows<{ relname: string; reads: number }>(
    'select relname, seq_scan::int as reads from pg_stat_user_tables where relname = any($1) order by relname',
    [tables],
  );
  return Object.fromEntries(rows.map(({ relname, reads }) => [relname, reads]));
}

test('no statement of a batch reads a whole table, however much it has grown since it was planned', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const oneOfEach = async (): Promise<void> => {
    const execution = await fixture.execution(node);
    const cancelled = await fixture.execution(node);
    const writes: readonly Write[] = [
      { kind: 'execution-sent', execution: cancelled, atMs: NOW_MS },
      { kind: 'execution-cancel-requested', execution: cancelled, atMs: NOW_MS },
      { kind: 'output-part', execution, part: 0, text: 'x' },
      finish(execution),
      well(node),
      { kind: 'node-labelled', node, labels: { site: 'a' }, atMs: NOW_MS },
    ];
    t.deepEqual(new Set(await fixture.commit(lease, writes)), new Set(['ok']));
  };
  await oneOfEach();
  await fixture.rows('analyze');
  await oneOfEach(); // planned, with tables that are known to have two rows
  await fixture.rows(
    `insert into command (id, command_text, targeting, inserted_at, updated_at) select uuidv7(), 'x', '{"type":"all"}', now(), now() from generate_series(1, $1)`,
    [ROWS],
  );
  await fixture.rows(
    `insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at) select uuidv7(), id, $1, 'c', true, now(), now() from command where command_text = 'x'`,
    [node],
  );
  const before = await wholeReads(fixture);

  for (let count = 0; count < 3; count += 1) await oneOfEach();

  t.deepEqual(await wholeReads(fixture), before);
});
