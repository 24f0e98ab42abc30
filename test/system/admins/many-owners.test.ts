/** Clusters of two admins, and an operation that is about nodes of both. */
import test from 'ava';
import type { LabelledNodesResource } from '../../../actors/resources/labelled-nodes.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { hangAfter, isCrowded } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** Nodes of each cluster. */
const NODES = 5;

const CLUSTERS = ['one', 'two', 'three', 'four'];

const scope = createScope();
let fleet: Fleet;
/** The admin of each cluster. */
let owners: ReadonlyMap<string, AdminProgram>;

test.before('two admins start, and own some clusters with nodes each', async () => {
  fleet = await startFleet(scope, { admins: 2 });
  for (const [place, name] of CLUSTERS.entries()) {
    // Whoever creates a cluster owns it.
    const rest = at(fleet.admin(place % 2));
    await rest.post('/clusters', { name });
    const { key } = await rest.post<{ key: string }>(`/clusters/${name}/enrollment_keys`, { uses_remaining: NODES });
    for (let node = 0; node < NODES; node += 1) await rest.post('/agents/enroll', enrollment(key));
  }
  owners = new Map(
    await Promise.all(
      CLUSTERS.map(async (name) => {
        const { admin } = await until(`an owner of ${name}`, () => fleet.owner(name));
        return [name, admin] as const;
      }),
    ),
  );
});
test.after.always('they end', () => scope.end());

test.serial('label_nodes labels the nodes of all owners, wherever it is asked', async (t) => {
  t.timeout(hangAfter(60_000));
  t.is(new Set(owners.values()).size, 2, 'each admin owns some');
  for (const admin of fleet.admins) {
    const answer = await until('an answer for which there was time', async () => {
      const { failed, ...counts } = await labelled(at(admin), { asked: admin.name });
      return failed.length > 0 && failed.every(({ code }) => code === 'service_unavailable')
        ? null
        : { ...counts, failed };
    });

    t.deepEqual(answer, { node_count: 20, labelled_count: 20, failed_count: 0, failed: [] });
    t.deepEqual(new Set((await nodes()).map(({ labels }) => labels['asked'])), new Set([admin.name]));
  }
});

test.serial('with one of the owners frozen each node is labelled or named, and then all are', async (t) => {
  t.timeout(hangAfter(120_000));
  const frozen = owners.get('two');
  const awake = fleet.admins.find((admin) => admin !== frozen);
  if (frozen === undefined || awake === undefined) throw new Error('one of two is frozen');
  await freeze(frozen.program);

  const answer = await labelled(at(awake), { during: 'yes' });
  const failed = new Set(answer.failed.map(({ node_id: id }) => id));

  t.is(answer.labelled_count + answer.failed_count, 20);
  for (const { id, labels, cluster_name: cluster } of await nodes(awake)) {
    if (owners.get(cluster) === awake && !isCrowded()) t.is(labels['during'], 'yes', cluster);
    else t.true(labels['during'] === 'yes' || failed.has(id), `${id} of ${cluster}`);
  }
  const again = await until('an answer for all', async () => {
    const second = await labelled(at(awake), { after: 'yes' });
    return second.failed_count === 0 ? second : null;
  });
  t.is(again.labelled_count, 20);
  frozen.program.resume();
  await frozen.program.logged('a cluster is not owned by this admin any more');
  t.true((await nodes(awake)).every(({ labels }) => labels['after'] === 'yes'));
});

function at({ url }: AdminProgram): Rest {
  return restClient(() => url, FLEET_KEYS.MASTER_KEY);
}

async function labelled(rest: Rest, set: Readonly<Record<string, string>>): Promise<LabelledNodesResource> {
  const { data, text } = await rest.call<LabelledNodesResource | undefined>('POST', '/nodes/labels', {
    body: { targeting: { type: 'clusters', cluster_names: CLUSTERS }, set },
  });
  if (data === undefined) throw new Error(text);
  return data;
}

function nodes(admin: AdminProgram = fleet.admin()): Promise<readonly NodeResource[]> {
  return at(admin).get<readonly NodeResource[]>('/nodes?page_size=100');
}
