/** Names, facts and labels of real agents, on every surface that shows or takes them. */
import { hostname } from 'node:os';
import test from 'ava';
import type { GroupResource } from '../../../actors/resources/group.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { PROTOCOL_VERSION, PROTOCOL_VERSION_FACTS } from '../../../transport/protocol/version.ts';
import { FACTS } from '../../support/actors.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 1, agentEnv: { AGENT_LABELS: 'env=dev,zone=a' } });
const scope = createScope();
test.after.always('sessions end', () => scope.end());

test('an agent tells what its machine is, and its node is called and found by it', async (t) => {
  const { rest, agents } = fleet();
  const { id, name, facts, labels } = await fleet().node(agents[0]);

  t.is(name, hostname());
  t.is(facts?.hostname, hostname());
  t.true((facts?.cpu_count ?? 0) > 0 && (facts?.memory_bytes ?? 0) > 0);
  t.deepEqual(labels, { env: 'dev', zone: 'a' });
  const found = async (query: string) =>
    (await rest.get<readonly NodeResource[]>(`/nodes?node_id__in=${id}&${query}`)).length;
  t.is(await found(`os=${facts?.os}&arch=${facts?.arch}&hostname=${hostname().slice(0, 2)}*`), 1);
  t.is(await found(`os__in=plan9,${facts?.os}`), 1);
  t.is(await found('os=plan9'), 0);
  t.is(await found('version__gte=0.0.1&version__lte=99'), 1);
  t.is(await found('version__gte=99'), 0);
});

test('the labels of a key come before those of the machine, and a recovery keeps what operators made of them', async (t) => {
  const { rest } = fleet();
  const made = await fleet().key({ labels: { env: 'prod' }, uses_remaining: 2 });
  const agent = await fleet().addAgent({ ENROLLMENT_KEY: made.key });
  await agent.live();
  t.deepEqual((await fleet().node(agent)).labels, { env: 'prod', zone: 'a' });

  await rest.call('PATCH', `/nodes/${agent.node}/labels`, { body: { labels: { zone: 'b' } } });
  const { recovery_key: recoveryKey } = await rest.post<{ recovery_key: string }>(`/nodes/${agent.node}/recovery_key`);
  await agent.kill();
  const again = await fleet().addAgent({ ENROLLMENT_KEY: made.key, RECOVERY_KEY: recoveryKey });
  await again.live();

  t.is(again.node, agent.node);
  t.deepEqual((await fleet().node(again)).labels, { env: 'prod', zone: 'b' });
  t.deepEqual((await rest.get<{ labels: object }>(`/enrollment_keys/${made.id}`)).labels, { env: 'prod' });
  const changed = await rest.call<{ labels: object; uses_remaining: number }>('PATCH', `/enrollment_keys/${made.id}`, {
    body: { labels: { site: 'hall-3' } },
  });
  t.deepEqual([changed.status, changed.data.labels], [200, { site: 'hall-3' }]);
  t.deepEqual((await rest.get<{ labels: object }>(`/enrollment_keys/${made.id}`)).labels, { site: 'hall-3' });
});

test('a change of its machine is stored and told while the agent is connected; an older agent has no facts', async (t) => {
  const { rest } = fleet();
  const agent = await enrollRaw(scope, fleet());
  const read = () => rest.get<NodeResource>(`/nodes/${agent.node_id}`);
  await agent.connect({ protocol: PROTOCOL_VERSION_FACTS - 1 });
  t.deepEqual([(await read()).facts, (await read()).name], [null, agent.node_id.slice(0, 8)]);

  const session = await agent.connect({ protocol: PROTOCOL_VERSION });
  session.send({ type: 'facts-changed', facts: FACTS });
  await until('the facts', async () => (await read()).facts !== null);

  t.deepEqual((await read()).facts, FACTS);
  await rest.post(`/nodes/${agent.node_id}/aliases`, { name: 'press' });
  t.is((await read()).name, 'press');
  const [event] = await fleet().sql<{ data: Record<string, unknown> }>(
    `select data from event where subject = $1 and type = 'edge.node.reregistered' order by txid desc, seq desc limit 1`,
    [agent.node_id],
  );
  t.deepEqual([event?.data['name'], event?.data['facts'], event?.data['labels']], [FACTS.hostname, FACTS, {}]);
});

test('what is no label, no selector and no group is refused in a sentence under its field', async (t) => {
  const { rest, agents } = fleet();
  const labels = `/nodes/${agents[0]!.node}/labels`;
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, '']));
  const all = { type: 'all' };
  for (const [method, path, body, status, details] of [
    ['PATCH', labels, {}, 422, { labels: ['is required'] }],
    ['PATCH', labels, { labels: {} }, 422, { labels: ['must not be empty'] }],
    [
      'PATCH',
      labels,
      { labels: { '-x': '', env: 'pr od' } },
      422,
      {
        'labels.-x': [
          'must be a label key: up to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends, and in front of it, where wanted, a domain name and "/"',
        ],
        'labels.env': [
          'must be a label value: empty, or up to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends',
        ],
      },
    ],
    ['PATCH', labels, { labels: many }, 422, { labels: ['must be at most 64 labels'] }],
    [
      'PATCH',
      labels,
      { labels: Object.fromEntries(Object.entries(many).slice(0, 64)) },
      422,
      { labels: ['the node would have 66 labels; it may have at most 64'] },
    ],
    ['POST', '/nodes/labels', { targeting: all }, 422, { set: ['is required where remove is not given'] }],
    ['POST', '/nodes/labels', { targeting: all, set: {} }, 422, { set: ['must not be empty'] }],
    ['POST', '/nodes/labels', { targeting: all, remove: [] }, 422, { remove: ['must have at least 1 entry'] }],
    [
      'POST',
      '/targeting/preview',
      { targeting: { ...all, labels: 'env=x y' } },
      422,
      { 'targeting.labels': ['character 7: a comma or the end should stand here, not "y"'] },
    ],
    [
      'POST',
      '/targeting/preview',
      { targeting: { type: 'group' } },
      422,
      { 'targeting.group': ['is required when type is group'] },
    ],
    [
      'POST',
      '/targeting/preview',
      { targeting: { ...all, group: 'web' } },
      422,
      { 'targeting.group': ['is only for type group'] },
    ],
    [
      'POST',
      '/targeting/preview',
      { targeting: { type: 'group', group: 'no-such' } },
      422,
      { 'targeting.group': ['there is no group no-such'] },
    ],
    [
      'POST',
      '/groups',
      { name: 'nested', targeting: { type: 'group', group: 'web' } },
      422,
      { 'targeting.type': ['must be one of all, nodes, clusters'], targeting: ['group: is not known'] },
    ],
    [
      'GET',
      '/nodes?labels=,',
      undefined,
      400,
      { labels: ['character 1: the key of a label should stand here, not ","'] },
    ],
    ['GET', '/nodes?os__gte=a', undefined, 400, { os__gte: ['is not known'] }],
  ] as const) {
    const answer = await rest.call(method, path, body === undefined ? {} : { body });

    t.is(answer.status, status, `${method} ${path}`);
    const given = answer.error?.details as Record<string, unknown>;
    for (const [field, messages] of Object.entries(details))
      if (field !== 'targeting') t.deepEqual(given[field], messages, `${method} ${path}: ${answer.text}`);
  }
  t.is((await rest.call('DELETE', `${labels}/no-such`)).status, 404);
  t.is((await rest.call('DELETE', `${labels}/${encodeURIComponent('-x')}`)).status, 400);
});

test('a group is created once, changed, listed, used and deleted', async (t) => {
  const { rest } = fleet();
  const targeting = { type: 'clusters', cluster_names: [CLUSTER], labels: 'env=dev' } as const;
  const headers = { 'idempotency-key': 'group-1' };
  const body = { name: 'dev', description: 'Machines to try on', targeting };

  const made = await rest.call<GroupResource>('POST', '/groups', { body, headers });
  const again = await rest.call<GroupResource>('POST', '/groups', { body, headers });
  const taken = await rest.call('POST', '/groups', { body });

  t.deepEqual([made.status, again.status, taken.status], [201, 201, 409]);
  t.deepEqual(again.data, made.data);
  t.deepEqual(await rest.get('/groups/dev'), made.data);
  const changed = await rest.call<GroupResource>('PATCH', '/groups/dev', { body: { description: null } });
  t.deepEqual([changed.status, changed.data.description, changed.data.targeting], [200, null, made.data.targeting]);
  t.deepEqual(
    (await rest.get<readonly GroupResource[]>('/groups?name=de*')).map(({ name }) => name),
    ['dev'],
  );
  t.is((await rest.call('PATCH', '/groups/no-such', { body: { description: 'x' } })).status, 404);
  t.is((await rest.call('DELETE', '/groups/dev')).status, 204);
  t.is((await rest.call('GET', '/groups/dev')).status, 404);
});

test("Prometheus finds a node's name, machine and labels", async (t) => {
  const { admins, agents } = fleet();
  const { facts } = await fleet().node(agents[0]);
  const answer = await fetch(`${admins[0]!.url}/api/v1/nodes/metrics/host/discovery?node_id__in=${agents[0]!.node}`, {
    headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
  });
  const [entry] = (await answer.json()) as { labels: Record<string, string> }[];

  t.like(entry?.labels, {
    name: hostname(),
    hostname: hostname(),
    os: facts?.os,
    arch: facts?.arch,
    label_env: 'dev',
    label_zone: 'a',
  } as Record<string, string>);
});
