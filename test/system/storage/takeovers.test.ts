/** An admin that takes over more clusters than go into one transaction. */
import test from 'ava';
import { StoredTakeovers, TAKEN_AT_ONCE_MAX } from '../../../persistence/ownership/takeovers.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { openFixture } from '../../support/database/committer-fixture.ts';
import { storeAdmin } from '../../support/database/stored-rows.ts';

/** Of one node each. */
const CLUSTERS = 2 * TAKEN_AT_ONCE_MAX + 1;

test('of more clusters than one transaction takes an admin takes as many as it has room for, each once', async (t) => {
  const fixture = await openFixture(t);
  const room = CLUSTERS - 1;
  const admin = await storeAdmin(fixture.database.pool, 'a');
  await fixture.rows('update admin set max_wireguard_peers = $1', [room]);
  const free = await fixture.rows<{ id: ClusterId }>(
    `with made as (
        insert into cluster (id, name, ipv4_range, ipv6_range, node_count, inserted_at, updated_at)
        select gen_random_uuid(), 'c' || i, ('10.' || i / 256 || '.' || i % 256 || '.0/24')::cidr, ('fd00:9:' || to_hex(i) || '::/64')::cidr, 1, now(), now()
        from generate_series(1, $1::int) i returning id)
      insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, null, 1, now() - interval '1 s' from made returning cluster_id as id`,
    [CLUSTERS],
  );

  const taken = await new StoredTakeovers(fixture.database.writes, null).take(
    admin,
    free.map(({ id }) => id),
  );

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
