/** Nodes whose cluster nobody owns. */
import test from 'ava';
import { markOwnerless, OWNERLESS_MS_MIN } from '../../../persistence/sweeps/ownerless.ts';
import { openStoredFleet } from './fixture.ts';
import { column } from '../../support/database/columns.ts';

test('nodes of a cluster without an owner for a while become unreachable, with one event each; all others stay', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const { pool, reads } = opened;
  const { cursor } = await reads.eventsAfter(null, 1);
  const clusters = [...new Set(fixture.nodes.map(({ cluster_name: name }) => name))].toSorted();
  await pool.query(
    `insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, null, 1, clock_timestamp() + interval '1 hour' from cluster on conflict (cluster_id) do update set lease_until = excluded.lease_until`,
  );
  await pool.query(`update node set status = 'healthy', status_reason = null`);
  const expire = (name: string | undefined, seconds: number) =>
    pool.query(
      `update cluster_ownership set lease_until = clock_timestamp() - $2 * interval '1 s' where cluster_id = (select id from cluster where name = $1)`,
      [name, seconds],
    );
  await expire(clusters[0], 60);
  await expire(clusters[1], 60);
  await expire(clusters[2], 10);
  const claiming = await pool.connect();
  await claiming.query('begin');
  await claiming.query(
    'select from cluster_ownership where cluster_id = (select id from cluster where name = $1) for update',
    [clusters[1]],
  );
  const epochs = async () =>
    (
      await pool.query<{ epoch: number }>(
        'select o.epoch::int from cluster_ownership o join cluster c on c.id = o.cluster_id where c.name = any($1) order by c.name',
        [clusters.slice(0, 3)],
      )
    ).rows.map(({ epoch }) => epoch);
  const before = await epochs();
  const mark = (unreachableAfterMs: number, watchedMs: number) =>
    markOwnerless(pool, { unreachableAfterMs, watchedMs }, 1_000);
  const unwatched = await mark(30_000, 29_999);
  const hasty = await mark(1_000, OWNERLESS_MS_MIN - 1);
  const marked = await mark(30_000, 30_000);
  const again = await mark(30_000, 30_000);
  await claiming.query('rollback');
  claiming.release();

  const ownerless = fixture.nodes
    .filter(({ cluster_name: name }) => name === clusters[0])
    .map(({ id }) => id)
    .toSorted();
  t.true(ownerless.length > 0);
  t.deepEqual([unwatched, hasty, [...marked].map(String).toSorted(), again], [[], [], ownerless, []]);
  t.deepEqual(
    (await epochs()).map((epoch, index) => epoch - (before[index] ?? 0)),
    [1, 0, 0],
  );
  const { rows } = await pool.query<{ id: string; status_reason: string }>(
    `select id, status_reason from node where status = 'unreachable' order by id`,
  );
  t.deepEqual(column(rows, 'id'), ownerless);
  t.regex(rows[0]?.status_reason ?? '', /^No admin has owned its cluster since \d{4}-/u);
  const { events } = await reads.eventsAfter(cursor, 1_000);
  t.deepEqual(
    events
      .map(
        ({ type, subject, data }) =>
          `${type} ${subject} ${String((data as { previous_status?: string }).previous_status)}`,
      )
      .toSorted(),
    ownerless.map((id) => `edge.node.status_changed ${id} healthy`),
  );
  const nameOf = new Map(fixture.nodes.map(({ id, name }) => [id, name]));
  t.true(fixture.nodes.some(({ id, aliases }) => ownerless.includes(id) && aliases.length > 0));
  t.deepEqual(
    events.map(({ data }) => data['name']),
    events.map(({ subject }) => nameOf.get(subject)),
  );
});
