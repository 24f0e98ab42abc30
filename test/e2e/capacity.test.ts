/** More nodes than an admin has room for: what would make it worse is refused, what ends it is not. */
import test from 'ava';
import { CLUSTER, FLEET_KEYS, startFleet } from '../support/fleet.ts';
import { enrollRaw } from '../support/fleet/raw-agent.ts';
import { restClient } from '../support/fleet/rest.ts';
import { until } from '../support/until.ts';

test('in degraded mode nodes are moved out and deleted, and that ends it', async (t) => {
  const fleet = await startFleet(t, { env: { ADMIN_MAX_WIREGUARD_PEERS: '2' } });
  const { rest } = fleet;
  await rest.post('/clusters', { name: 'elsewhere' });
  const nodes = [await enrollRaw(t, fleet), await enrollRaw(t, fleet), await enrollRaw(t, fleet)].map(({ node_id: id }) => id);
  const isDegraded = async (): Promise<boolean> => (await rest.get<{ degraded: boolean }>('/admins/my_admin_cluster')).degraded;
  await until('degraded mode', isDegraded);

  const refused = await rest.call('POST', '/clusters', { body: { name: 'one-more' } });
  const moved = await rest.call('POST', `/nodes/${nodes[0]}/change_cluster`, { body: { cluster_name: 'elsewhere' } });
  const deleted = await rest.call('DELETE', `/nodes/${nodes[1]}`);

  t.deepEqual([refused.status, refused.headers.get('retry-after') !== null, moved.status, deleted.status], [503, true, 200, 204]);
  await until('room again', async () => !(await isDegraded()));
  t.is((await rest.call('POST', '/clusters', { body: { name: 'one-more' } })).status, 201);
});

test('a cluster that no admin has room for after a restart is listed as an orphan', async (t) => {
  const fleet = await startFleet(t, { env: { ADMIN_MAX_WIREGUARD_PEERS: '1' } });
  const [admin] = fleet.admins;
  if (admin === undefined) throw new Error('no admin');
  const nodes = [await enrollRaw(t, fleet), await enrollRaw(t, fleet)].map(({ node_id: id }) => id);

  await admin.kill();
  await admin.start();
  await fleet.sql(`update cluster_ownership set admin_id = null, lease_until = clock_timestamp() - interval '1 s'`); // it takes up what was its own; nobody else would
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  const orphans = await until('an orphan', async () => {
    const listed = await rest.get<Record<string, readonly string[]>>('/admins/orphaned_clusters');
    return CLUSTER in listed ? listed : null;
  });

  t.deepEqual(Object.keys(orphans), [CLUSTER]);
  t.is(orphans[CLUSTER]?.length, nodes.length);
  t.true((await rest.get<{ degraded: boolean }>('/admins/my_admin_cluster')).degraded);
});
