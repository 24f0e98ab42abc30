/** What names many nodes by id is not read once for each of its executions, nor for each node. */
import test from 'ava';
import type { Pool } from 'pg';
import { NIL } from 'uuid';
import { PAGE_SIZE_MAX } from '../../../api/inputs/list-input.ts';
import { TARGET_NODES_MAX } from '../../../api/inputs/targeting-input.ts';
import { PAGE_TARGETING_BYTES_MAX } from '../../../persistence/reads/page-targetings.ts';
import { SWEEP_ROWS_MAX } from '../../../persistence/sweeps/sweeps.ts';
import { countAnsweredBytes } from '../../support/database/answered-bytes.ts';
import { LONG_WAITS, openedDatabase } from '../../support/database/opened.ts';
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

/** What stores rows of `targetings (n, targeting)`, the first as the newest. */
const STORED = {
  groups: `insert into node_group (id, name, targeting, inserted_at, updated_at)
    select uuidv7(), 'g' || n, targeting, $1::timestamptz - n * interval '1 s', $1 from targetings`,
  self_update_requests: `insert into self_update_request (id, targeting, health_timeout_ms, status, total, inserted_at, updated_at)
    select uuidv7(n * interval '-1 s'), targeting, 300000, 'pending', 0, $1, $1 from targetings`,
  commands: `insert into command (id, command_text, targeting, inserted_at, updated_at)
    select uuidv7(n * interval '-1 s'), 'uptime', targeting, $1, $1 from targetings`,
} as const;

/** A targeting of so many ids, made in the database. */
function made(ids: number): string {
  return `jsonb_build_object('type', 'nodes', 'node_ids', (select jsonb_agg('${NIL}'::text) from generate_series(1, ${ids})))`;
}

test('a page of what names tens of thousands of nodes holds what fits, and each is whole by itself (L2)', async (t) => {
  const { pool, reads } = await openedDatabase(t, LONG_WAITS);
  const targetings = `with many as materialized (select ${made(TARGET_NODES_MAX)} as targeting),
    targetings as (select n, case n when 1 then ${made(1)} else targeting end as targeting from many, generate_series(1, 20) n)`;
  const size = naming(TARGET_NODES_MAX).length + TARGET_NODES_MAX; // with white space behind each comma
  const fitting = Math.floor(PAGE_TARGETING_BYTES_MAX / size);

  for (const name of Object.keys(STORED) as (keyof typeof STORED)[]) {
    await pool.query(`${targetings} ${STORED[name]}`, [NOW]);
    const answered = countAnsweredBytes(pool);

    const { rows } = await reads.list(name, { filters: [], sort: [], page: 1, pageSize: PAGE_SIZE_MAX });

    t.deepEqual(
      rows.map(({ targeting }) => targeting.node_ids?.length ?? targeting),
      Array.from({ length: 20 }, (_, at) =>
        at === 0 ? 1 : at <= fitting ? TARGET_NODES_MAX : { type: 'nodes', withheld: true },
      ),
    );
    t.true(answered().most < PAGE_TARGETING_BYTES_MAX + 20_000, `${answered().most} bytes`);
    const last = rows.at(-1)!;
    const single = await reads.get(name, 'name' in last ? last.name : last.id);
    t.is(single?.targeting.node_ids?.length, TARGET_NODES_MAX);
  }
});
