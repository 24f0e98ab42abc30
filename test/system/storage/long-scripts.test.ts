/** Sweeps of executions with long scripts, which stand in the event of each. */
import test from 'ava';
import type { Pool } from 'pg';
import { SWEEP_SCRIPT_BYTES_MAX } from '../../../persistence/sweeps/execution-batch.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

/** Executions that are due, one a command with a script of each of these lengths, in this order. */
async function storeExecutions(pool: Pool, lengths: readonly number[]): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `with c as (
        insert into command (id, command_text, targeting, expired_at, inserted_at, updated_at)
        select uuid_v7(), repeat('x', length), '{"type":"all"}', $2::timestamptz - interval '1 minute' + n * interval '1 s', $2, $2 from unnest($1::int[]) with ordinality as v(length, n)
        returning id, expired_at)
      insert into command_execution (id, command_id, node_id, cluster_name, target_all, expired_at, inserted_at, updated_at)
      select uuid_v7(), id, uuid_v7(), 'c', true, expired_at, $2, $2 from c order by expired_at returning id`,
    [lengths, new Date(NOW_MS)],
  );
  return rows.map(({ id }) => id);
}

/** Subjects of the events of a type, each with the length of its script. */
async function typed(pool: Pool, type: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ told: string }>(
    `select subject || ' ' || length(data ->> 'command_text') as told from event where type = $1`,
    [type],
  );
  return rows.map(({ told }) => told).toSorted();
}

test('executions with long scripts expire and are pruned in batches of bounded length, an oversized one by itself', async (t) => {
  const { pool } = await openedDatabase(t);
  const sweeps = sweepsOf(pool, { nowMs: NOW_MS });
  const lengths = [SWEEP_SCRIPT_BYTES_MAX + 1, ...Array.from({ length: 7 }, () => SWEEP_SCRIPT_BYTES_MAX / 4), 1];
  const ids = await storeExecutions(pool, lengths);
  const inBatches = async (sweep: () => Promise<{ readonly size: number; readonly isFull: boolean }>) => {
    const sizes = [];
    for (let isFull = true; isFull;) {
      const batch = await sweep();
      sizes.push(batch.size);
      ({ isFull } = batch);
    }
    return sizes;
  };

  const expired = await inBatches(async () => {
    const { executions, isFull } = await sweeps.expireDue();
    return { size: executions.length, isFull };
  });
  await pool.query(`update command_execution set finished_at = expired_at - interval '31 days'`);
  const pruned = await inBatches(async () => {
    const { count, isFull } = await sweeps.prunings.executions();
    return { size: count, isFull };
  });

  t.deepEqual(expired, [1, 4, 4]);
  t.deepEqual(pruned, [1, 4, 4]);
  for (const type of ['expired', 'pruned'])
    t.deepEqual(
      await typed(pool, `edge.command_execution.${type}`),
      ids.map((id, index) => `${id} ${lengths[index]}`).toSorted(),
    );
});
