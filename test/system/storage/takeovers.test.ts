/** An admin that takes over more clusters than go into one transaction. */
import test from 'ava';
import { StoredTakeovers, TAKEN_AT_ONCE_MAX } from '../../../persistence/ownership/takeovers.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { openFixture } from '../../support/database/committer-fixture.ts';
import { storeAdmin } from '../../support/database/stored-rows.ts';

/** Of one node each. */
const CLUSTERS = 2 * TAKEN_AT_ONCE_MAX + 1;

/** Free clusters of one node each, and an admin with room for so many. */
async function free(t: Parameters<typeof openFixture>[0], clusters: number, room: number) {
  const fixture = await openFixture(t);
  const admin = await storeAdmin(fixture.database.pool, 'a');
  await fixture.rows('update admin set max_wireguard_peers = $1', [room]);
  const made = await fixture.rows<{ id: ClusterId }>(
    `with made as (
        insert into cluster (id, name, ipv4_range, ipv6_range, node_count, inserted_at, updated_at)
        select gen_random_uuid(), 'c' || i, ('10.' || i / 256 || '.' || i % 256 || '.0/24')::cidr, ('fd00:9:' || to_hex(i) || '::/64')::cidr, 1, now(), now()
        from generate_series(1, $1::int) i returning id)
      insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, null, 1, now() - interval '1 s' from made returning cluster_id as id`,
    [clusters],
  );
  return { fixture, admin, ids: made.map(({ id }) => id) };
}

test('of more clusters than one transaction takes an admin takes as many as it has room for, each once', async (t) => {
  const room = CLUSTERS - 1;
  const { fixture, admin, ids } = await free(t, CLUSTERS, room);

  const taken = await new StoredTakeovers(fixture.database.writes, null).take(admin, ids);

  t.is(new Set(taken.map(({ cluster }) => cluster)).size, room);
  t.deepEqual(
    await fixture.rows(
      'select admin_id = $1 as mine, epoch::int, count(*)::int from cluster_ownership group by 1, 2 order by 2',
      [admin],
    ),
    [
      { mine: null, epoch: 1, count: 1 },
      { mine: true, epoch: 2, count: room },
    ],
  );
});

test('where the database is lost between two transactions, the clusters of the first are told', async (t) => {
  const { fixture, admin, ids } = await free(t, CLUSTERS, CLUSTERS);
  const { writes } = fixture.database;
  let connections = 0;
  const lost = new Proxy(writes, {
    get: (real, name) =>
      name === 'connect'
        ? () => ((connections += 1) === 2 ? Promise.reject(new Error('Connection terminated')) : real.connect())
        : (Reflect.get(real, name) as unknown),
  });

  const taken = await new StoredTakeovers(lost, null).take(admin, ids);

  t.deepEqual([taken.length, connections], [TAKEN_AT_ONCE_MAX, 2]);
});

test('an admin that waits for its room goes on in the next round, before its leases run out', async (t) => {
  const { fixture, admin, ids } = await free(t, CLUSTERS, CLUSTERS);

  const taken = await new StoredTakeovers(fixture.database.writes, null, 1).take(admin, ids); // each takes longer

  t.is(taken.length, TAKEN_AT_ONCE_MAX);
});

test('a cluster into which somebody moves a node is not taken over before its size is known', async (t) => {
  const { fixture, admin, ids } = await free(t, 1, 1);
  const takeovers = new StoredTakeovers(fixture.database.writes, null);
  const moving = await fixture.holder('update cluster set node_count = node_count + 1 where id = $1', ids);

  const meanwhile = await takeovers.take(admin, ids);
  await moving.query('commit');
  const afterwards = await takeovers.take(admin, ids);
  await fixture.rows('update cluster set node_count = 1 where id = $1', ids);

  t.deepEqual([meanwhile, afterwards], [[], []]);
  t.deepEqual(await takeovers.take(admin, ids), [{ cluster: ids[0], epoch: 2 }]);
});
