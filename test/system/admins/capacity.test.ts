/** More nodes than an admin has room for: what would make it worse is refused, what ends it is not. */
import test from 'ava';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { enrollment, enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient, settledAnswer } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

/** Starts the admins again with less room than they have nodes. */
async function shrunk({ admins }: Fleet, peersMax: number): Promise<void> {
  await Promise.all(admins.map((admin) => admin.kill()));
  await Promise.all(admins.map((admin) => admin.start({ ADMIN_MAX_WIREGUARD_PEERS: String(peersMax) })));
}

test('deleting and moving nodes ends degraded mode, and then the cluster admits as many agents as there is room for', async (t) => {
  const fleet = await startFleet(t);
  const { rest } = fleet;
  await rest.post('/clusters', { name: 'elsewhere' });
  const { key } = await fleet.key({ uses_remaining: 2 });
  const nodes = [await enrollRaw(t, fleet), await enrollRaw(t, fleet), await enrollRaw(t, fleet)].map(
    ({ node_id: id }) => id,
  );
  await shrunk(fleet, 2);
  const isDegraded = async (): Promise<boolean> =>
    (await rest.get<{ degraded: boolean }>('/admins/my_admin_cluster')).degraded;
  await until('degraded mode', isDegraded);

  const asked = (method: string, path: string, body?: object) =>
    settledAnswer(() => rest.call(method, path, body === undefined ? {} : { body }));
  const refused = await asked('POST', '/clusters', { name: 'one-more' });
  const moved = await asked('POST', `/nodes/${nodes[0]}/change_cluster`, { cluster_name: 'elsewhere' });
  const deleted = await asked('DELETE', `/nodes/${nodes[1]}`);

  t.deepEqual(
    [refused.status, refused.headers.get('retry-after') !== null, moved.status, deleted.status],
    [503, true, 200, 204],
  );
  await until('room again', async () => !(await isDegraded()));
  t.is((await asked('POST', '/clusters', { name: 'one-more' })).status, 201);

  const enrol = () => rest.call('POST', '/agents/enroll', { body: enrollment(key) });
  const full = await until('the owner to refuse', async () => {
    const answer = await enrol();
    return answer.text.includes('degraded_mode') && answer; // or nobody owns the cluster yet
  });
  t.is((await asked('DELETE', `/nodes/${nodes[0]}`)).status, 204);
  t.deepEqual(
    [full.status, full.headers.get('retry-after') !== null, (await settledAnswer(enrol)).status],
    [503, true, 201],
  );
});

test('health, metrics, the log and the list of orphans name a cluster that no admin has room for after a restart', async (t) => {
  const fleet = await startFleet(t);
  const [admin] = fleet.admins as [AdminProgram];
  const nodes = [await enrollRaw(t, fleet), await enrollRaw(t, fleet)].map(({ node_id: id }) => id);

  await shrunk(fleet, 1);
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  const orphans = await until('an orphan', async () => {
    const listed = await rest.get<Record<string, readonly string[]>>('/admins/orphaned_clusters');
    return CLUSTER in listed ? listed : null;
  });

  t.deepEqual(Object.keys(orphans), [CLUSTER]);
  t.is(orphans[CLUSTER]?.length, nodes.length);
  t.true((await rest.get<{ degraded: boolean }>('/admins/my_admin_cluster')).degraded);
  const { ownership: own } = await rest.get<{ ownership: { degraded: boolean } }>('/admins/me/metrics');
  t.true(own.degraded);
  await admin.program.logged('the admins do not have room for everything');
  t.regex(
    await (await fetch(`${admin.url}/health/cluster`)).text(),
    /there are more nodes than the admins have room for/u,
  );
});

/** Whether the cluster has an owner now, and its epoch. */
async function ownership(fleet: Fleet): Promise<{ readonly isOwned: boolean; readonly epoch: number }> {
  const [row] = await fleet.sql<{ isOwned: boolean; epoch: number }>(
    `select o.lease_until > clock_timestamp() as "isOwned", o.epoch::int as epoch from cluster_ownership o join cluster c on c.id = o.cluster_id where c.name = '${CLUSTER}'`,
  );
  if (row === undefined) throw new Error('no such cluster');
  return row;
}

/** Waits until this admin knows that the cluster is an orphan. */
async function orphaned(admin: AdminProgram): Promise<void> {
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  await until(
    'an orphan',
    async () => CLUSTER in (await rest.get<Record<string, unknown>>('/admins/orphaned_clusters')),
  );
}

test('a cluster that no admin has room for allows only that its nodes are deleted or moved, until it has an owner', async (t) => {
  const fleet = await startFleet(t);
  const [admin] = fleet.admins as [AdminProgram];
  await fleet.rest.post('/clusters', { name: 'elsewhere' });
  const agents = [await enrollRaw(t, fleet), await enrollRaw(t, fleet), await enrollRaw(t, fleet)];
  const [first, second, third] = agents.map(({ node_id: id }) => id);
  await shrunk(fleet, 2);
  await orphaned(admin);
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  const before = await ownership(fleet);

  const refused = await rest.call('POST', `/nodes/${first}/aliases`, { body: { name: 'one-more' } });
  const deleted = await rest.call('DELETE', `/nodes/${first}`);
  const lent = await ownership(fleet);
  const agent = await (await agents[2]!.connect({ greets: false })).closed;
  const moved = await rest.call('POST', `/nodes/${second}/change_cluster`, { body: { cluster_name: 'elsewhere' } });
  const after = await until('an owner', async () => {
    const now = await ownership(fleet);
    return now.isOwned && now.epoch > lent.epoch ? now : null;
  });

  t.deepEqual(
    [refused.status, refused.headers.get('retry-after') !== null, deleted.status, moved.status],
    [503, true, 204, 200],
  );
  t.true(refused.text.includes(`No admin has room for the cluster ${CLUSTER} (3 nodes; the largest room is 2).`));
  t.deepEqual(
    [before.isOwned, lent, agent],
    [false, { isOwned: true, epoch: before.epoch + 1 }, { code: 4010, reason: '' }],
  ); // its agents belong nowhere meanwhile
  t.true(after.epoch >= lent.epoch + 1);
  t.deepEqual(
    await fleet.sql('select n.id, c.name from node n join cluster c on c.id = n.cluster_id order by c.name'),
    [
      { id: second, name: 'elsewhere' },
      { id: third, name: CLUSTER },
    ],
  );
  t.deepEqual(await fleet.sql(`select subject from event where type = 'edge.node.cluster_changed'`), [
    { subject: second },
  ]);
  t.is((await rest.call('POST', `/nodes/${third}/aliases`, { body: { name: 'one-more' } })).status, 201);
});

test('two admins asked to delete nodes of a cluster without an owner take turns, and delete each node once', async (t) => {
  const fleet = await startFleet(t, { admins: 2 });
  const nodes: string[] = [];
  for (let index = 0; index < 6; index += 1) nodes.push((await enrollRaw(t, fleet)).node_id);
  await shrunk(fleet, 5);
  for (const admin of fleet.admins) await orphaned(admin);

  const rests = fleet.admins.map((admin) => restClient(() => admin.url, FLEET_KEYS.MASTER_KEY));
  const statuses = await Promise.all(
    nodes.map((node, index) => {
      let tries = index;
      return until('it to be deleted', async () => {
        tries += 1;
        const answer = await rests[tries % rests.length]?.call('DELETE', `/nodes/${node}`);
        // the other admin has it just now
        return answer?.status === 503 && answer.headers.get('retry-after') !== null ? null : answer?.status;
      });
    }),
  );

  t.deepEqual(
    statuses,
    nodes.map(() => 204),
  );
  await until('an owner', async () => (await ownership(fleet)).isOwned);
  t.deepEqual(await fleet.sql(`select node_count from cluster where name = '${CLUSTER}'`), [{ node_count: 0 }]);
});
