/** Recordings that are kept no longer are deleted in batches that end in the time of a statement, each however long. */
import test from 'ava';
import { PRUNED_RECORDING_BYTES_MAX, pruneRecordings } from '../../../persistence/sweeps/pruned.ts';
import { sql } from '../../../persistence/reads/sql.ts';
import { column } from '../../support/database/columns.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { openStoredFleet } from './fixture.ts';

test('long recordings are pruned as many at once as their bytes allow, the first one always, and the sweep goes on', async (t) => {
  const { opened } = await openStoredFleet(t);
  const { pool } = opened;
  const stored = await pool.query<{ id: string }>(
    `update ssh_recording set content = repeat('x', 100)::bytea, inserted_at = '2026-01-01' returning id`,
  );
  const ids = column(stored.rows, 'id').toSorted();
  await pool.query(`update ssh_recording set content = repeat('x', 300)::bytea where id = $1`, [ids[2]]);
  const left = async () =>
    column((await pool.query<{ id: string }>('select id from ssh_recording')).rows, 'id').toSorted();
  const batch = async () => {
    const { count, isFull } = await pruneRecordings(pool, sql`now()`, 5, 200);
    return [count, isFull, await left()];
  };

  t.true(ids.length > 5);
  t.deepEqual(await batch(), [2, true, ids.slice(2)]);
  t.deepEqual(await batch(), [1, true, ids.slice(3)]);
  t.deepEqual(await batch(), [2, true, ids.slice(5)]);
});

test('a batch has less than the next recording would make too much', async (t) => {
  const { opened } = await openStoredFleet(t);
  const { pool } = opened;
  await pool.query(`update ssh_recording set inserted_at = '2026-01-01'`);
  await pool.query(
    `update ssh_recording set content = repeat('x', $1)::bytea where id in (select id from ssh_recording order by id limit 2)`,
    [PRUNED_RECORDING_BYTES_MAX / 2 + 1],
  );
  const { recordings } = sweepsOf(pool).prunings;

  const first = await recordings();

  t.deepEqual([first.count, first.isFull], [1, true]);
});
