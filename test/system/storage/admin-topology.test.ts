/** Admins and what they own, out of the rows. */
import test from 'ava';
import { StoredAdminTopology } from '../../../persistence/reads/admin-topology.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { forgetGoneAdmins } from '../../../persistence/sweeps/gone-admins.ts';
import { DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { registryOf } from '../../support/admin-registry.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeCluster } from '../../support/database/stored-rows.ts';

test('topology, owners and orphans are what the rows say', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const admit = async (name: string, adminClusterName: string, maxWireguardPeers: number): Promise<string> => {
    // Of two groups only one is let in while the other runs.
    await pool.query(`update admin set last_checked_in = '2026-01-01'`);
    return registryOf(database, name, {
      url: `http://${name}.example.com:44000`,
      adminClusterName,
      maxWireguardPeers,
    }).checkIn();
  };
  const ids = {
    one: await admit('one', 'east', 100),
    two: await admit('two', 'east', 50),
    far: await admit('far', 'west', 10),
    late: await admit('late', 'east', 10),
  };
  await pool.query(
    `update admin set last_checked_in = case name when 'late' then '2026-01-02T03:04:05.678Z'::timestamptz else now() + interval '1 minute' end`,
  );
  const cluster = async (
    name: string,
    index: number,
    owner: string,
    leaseSeconds: number,
    nodes: number,
  ): Promise<readonly string[]> => {
    const id = await storeCluster(pool, name, { number: index, nodes });
    await pool.query(
      `insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) values ($1, $2, 1, now() + $3 * interval '1 second')`,
      [id, owner, leaseSeconds],
    );
    const { rows } = await pool.query<{ id: string }>(
      `insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, status_since, inserted_at, updated_at)
      select gen_random_uuid(), $1, 'healthy', '1', 'persistent', 1, 2, 3, 4, 5, 6, false, sha256(gen_random_uuid()::text::bytea), '', now(), now(), now() from generate_series(1, $2::int) returning id`,
      [id, nodes],
    );
    return rows.map((node) => `node-${node.id}.${name}.vpn.test`).toSorted();
  };
  const alpha = await cluster('alpha', 1, ids.one, 60, 2);
  const beta = await cluster('beta', 2, ids.two, 60, 0);
  const gamma = await cluster('gamma', 3, ids.far, 60, 1);
  const orphan = await cluster('orphan', 4, ids.late, -60, 1);

  const topology = new StoredAdminTopology(pool, { adminClusterName: 'east', domain: 'vpn.test' });

  const entry = (name: 'one' | 'two', max: number) => ({
    name,
    max_wireguard_peers: max,
    admin_peer_count: 2,
    edge_node_capacity: max - 2,
    erlang_node_name: `${name}@${name}.example.com`,
    vpn_host_id: ids[name],
    vpn_hostname: null,
  });
  t.deepEqual(await topology.mine(), {
    name: 'east',
    total_admins: 2,
    total_edge_capacity: 146,
    total_nodes: 4,
    topology: [entry('one', 100), entry('two', 50)],
    edge_clusters: { alpha: 'one', beta: 'two' },
  });
  t.deepEqual(await topology.edgeClusters(), { far: { gamma }, one: { alpha }, two: { beta } });
  t.deepEqual(
    await topology.ownerless(
      (await pool.query<{ id: ClusterId }>(`select id from cluster where name in ('alpha', 'orphan')`)).rows.map(
        ({ id }) => id,
      ),
    ),
    { orphan },
  );
  const groups = await topology.adminClusters();
  t.deepEqual(
    groups.map(({ name, admin_count: count }) => [name, count]),
    [
      ['east', 3],
      ['west', 1],
    ],
  );
  t.deepEqual(
    groups[0]?.admins.map(({ name, vpn_host_id: id, status }) => [name, id, status]),
    [
      ['late', ids.late, 'gone'],
      ['one', ids.one, 'healthy'],
      ['two', ids.two, 'healthy'],
    ],
  );
  t.is(groups[0]?.admins[0]?.last_checked_in, '2026-01-02T03:04:05.678Z');
});

test('an admin that has not checked in for so long is removed by another, and nobody else', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  for (const name of ['one', 'two', 'gone']) await registryOf(database, name).checkIn();
  await pool.query(
    `update admin set last_checked_in = clock_timestamp() - case name when 'two' then interval '50 seconds' else interval '70 seconds' end where name <> 'one'`,
  );

  const forgottenBy = (mine: string) => forgetGoneAdmins(pool, DATABASE_NOW, mine, 60_000);
  t.deepEqual([await forgottenBy('gone'), await forgottenBy('one'), await forgottenBy('one')], [0, 1, 0]);
  t.deepEqual((await pool.query('select name from admin order by name')).rows, [{ name: 'one' }, { name: 'two' }]);
});
