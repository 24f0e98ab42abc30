/** An admin that is full makes room before it refuses a node, as long as another admin has some. */
import test from 'ava';
import { CLUSTER, startFleet } from '../../support/fleet.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

test('nodes come in while all admins together have room, as clusters move for them; then they are refused', async (t) => {
  const fleet = await startFleet(t, { admins: 2, env: { ADMIN_MAX_WIREGUARD_PEERS: '3' } }); // two nodes each
  await fleet.rest.post('/clusters', { name: 'other' });
  const keyOf = async (cluster: string): Promise<string> =>
    (await fleet.rest.post<{ key: string }>(`/clusters/${cluster}/enrollment_keys`)).key;
  const enrol = async (cluster: string) => {
    const body = enrollment(await keyOf(cluster));
    return settledAnswer(() => fleet.rest.call<{ node_id: string }>('POST', '/agents/enroll', { body }));
  };
  const first = await enrol(CLUSTER);
  t.is((await enrol('other')).status, 201);

  const came = await enrol(CLUSTER); // one owner of both is full
  const moved = await settledAnswer(() =>
    fleet.rest.call('POST', `/nodes/${first.data.node_id}/change_cluster`, { body: { cluster_name: 'other' } }),
  );
  const last = await enrol(CLUSTER);
  const refused = await enrol(CLUSTER);
  const owners = await until('both to be owned', async () => {
    const rows = await fleet.sql<{ clusters: number }>(
      'select count(*)::int as clusters from cluster_ownership where lease_until > clock_timestamp() group by admin_id',
    );
    return rows.reduce((sum, { clusters }) => sum + clusters, 0) === 2 ? rows : null;
  });

  t.deepEqual([came.status, moved.status, last.status], [201, 200, 201], [came.text, moved.text, last.text].join(' '));
  t.deepEqual([refused.status, refused.error?.code], [503, 'degraded_mode'], refused.text);
  t.deepEqual(owners, [{ clusters: 1 }, { clusters: 1 }]);
});
