/** What names many nodes by id is not read once for each of its executions, nor for each node. */
import test from 'ava';
import type { Pool } from 'pg';
import { NIL } from 'uuid';
import { SWEEP_ROWS_MAX } from '../../../persistence/sweeps/sweeps.ts';
import { countAnsweredBytes } from '../../support/database/answered-bytes.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const NOW = new Date(NOW_MS);

/** The same id so many times: it takes little room in the rows, and all of it in an answer. */
function naming(ids: number): string {
  return JSON.stringify({ type: 'nodes', node_ids: Array.from({ length: ids }, () => NIL) });
}

/** A command that names nodes by id, with so many executions, which are due. */
async function storeDue(pool: Pool, ids: number, executions: number): Promise<void> {
  await pool.query(
    `with c as (
        insert into command (id, command_text, targeting, expired_at, inserted_at, updated_at)
        values (uuid_v7(), 'uptime', $1, $2::timestamptz - interval '1 minute', $2, $2) returning id, expired_at)
      insert into command_execution (id, command_id, node_id, cluster_name, target_all, expired_at, inserted_at, updated_at)
      select uuid_v7(), id, uuid_v7(), 'c', false, expired_at, $2, $2 from c, generate_series(1, $3)`,
    [naming(ids), NOW, executions],
  );
}

test('executions of a command that names 20,000 nodes by id expire and are pruned, a thousand at a time (C8)', async (t) => {
  const { pool } = await openedDatabase(t);
  const sweeps = sweepsOf(pool, { nowMs: NOW_MS });
  await storeDue(pool, 20_000, SWEEP_ROWS_MAX);
  const answered = countAnsweredBytes(pool);

  const { executions } = await sweeps.expireDue();
  await pool.query(`update command_execution set finished_at = expired_at - interval '31 days'`);
  const { count } = await sweeps.prunings.executions();

  t.deepEqual([executions.length, count], [SWEEP_ROWS_MAX, SWEEP_ROWS_MAX]);
  t.true(answered().most < 1_000 * SWEEP_ROWS_MAX, `${answered().most} bytes`);
  const { rows } = await pool.query(
    `select type, data ->> 'target_all' as all, count(*)::int from event group by 1, 2 order by 1`,
  );
  t.deepEqual(rows, [
    { type: 'edge.command_execution.expired', all: 'false', count: SWEEP_ROWS_MAX },
    { type: 'edge.command_execution.pruned', all: 'false', count: SWEEP_ROWS_MAX },
  ]);
});
