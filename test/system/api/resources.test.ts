/** Every resource through a whole admin: created, read, listed, changed, deleted, and refused. */
import ava from 'ava';
import type { z } from 'zod';
import { AdminResource } from '../../../actors/resources/admin.ts';
import { ClusterResource } from '../../../actors/resources/cluster.ts';
import { CommandResource, type CommandSummary, ExecutionResource } from '../../../actors/resources/command.ts';
import { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { AliasResource, NodeResource, RecoveryKeyResource } from '../../../actors/resources/node.ts';
import { until } from '../../support/until.ts';
import { startFleet } from './fleet.ts';
import { column } from '../../support/database/columns.ts';

const { serial: test } = ava; // an admin each

const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

/** Whether a value has the fields of its view: all of them, and no others. */
function is(view: z.ZodType, value: unknown): boolean {
  return (view as z.ZodObject).strict().safeParse(value).success;
}

test('a cluster is made, read, limited and deleted; conflicting names, ranges, limits and deletions are refused', async (t) => {
  const { request, cluster } = await startFleet(t);

  const made = await request('POST', '/clusters', {
    name: 'one',
    ipv4_range: '10.1.0.0/24',
    ipv6_range: 'fd00:1::/64',
    node_limit: 5,
  });
  t.is(made.status, 201);
  t.like(made.data, {
    name: 'one',
    network_name: 'cluster-one',
    vpn_domain: 'one.edge.internal',
    ipv4_range: '10.1.0.0/24',
    ipv6_range: 'fd00:1::/64',
    node_limit: 5,
    node_count: 0,
  });
  t.true(is(ClusterResource, made.data));

  t.is((await request('POST', '/clusters', { name: 'one' })).error?.code, 'conflict');
  t.is((await request('POST', '/clusters', { name: 'overlap', ipv4_range: '10.1.0.0/16' })).status, 409);
  t.is((await request('POST', '/clusters', { name: 'overlap', ipv6_range: 'fd00:1::/64' })).status, 409);

  const changed = await request('PATCH', '/clusters/one', { node_limit: null });
  t.deepEqual([changed.status, changed.data['node_limit']], [200, null]);
  const nodes = await cluster('two', 3);
  t.is((await request('PATCH', '/clusters/two', { node_limit: 2 })).status, 409);
  const read = await request('GET', '/clusters/two');
  t.true(is(ClusterResource, read.data));
  t.deepEqual(
    (read.data['nodes'] as readonly { readonly id: string }[]).map(({ id }) => id).toSorted(),
    nodes.toSorted(),
  );
  t.is((await request('DELETE', '/clusters/two')).status, 409);

  t.is((await request('DELETE', '/clusters/one')).status, 202);
  t.is((await request('GET', '/clusters/one')).status, 404);
  t.is((await request('PATCH', '/clusters/one', { node_limit: 1 })).status, 404);
  t.is((await request('DELETE', '/clusters/one')).status, 404);
});

test('clusters created at the same time without ranges get different ones', async (t) => {
  const { request } = await startFleet(t);

  const made = await Promise.all(
    Array.from({ length: 12 }, (_, index) => request('POST', '/clusters', { name: `c${index}` })),
  );

  t.deepEqual(
    column(made, 'status'),
    made.map(() => 201),
  );
  t.is(new Set(made.map(({ data }) => data['ipv4_range'])).size, made.length);
  t.is(new Set(made.map(({ data }) => data['ipv6_range'])).size, made.length);
});

test('an enrolment key is made, read, changed, spent and deleted, and a list does not show its text', async (t) => {
  const { request, enroll } = await startFleet(t, { DEFAULT_CLUSTER_NAME: 'main' });
  await request('POST', '/clusters', { name: 'main' });

  const made = await request('POST', '/clusters/default/enrollment_keys', { name: 'line 3' });
  t.is(made.status, 201);
  t.like(made.data, { cluster_name: 'main', name: 'line 3', uses_remaining: 1, expired_at: null, last_used_at: null });
  t.true(is(EnrollmentKeyResource, made.data));
  const path = `/enrollment_keys/${String(made.data['id'])}`;
  t.deepEqual((await request('GET', path)).data, made.data);
  t.not((await request('GET', '/enrollment_keys')).rows[0]?.['key'], made.data['key']);

  const changed = await request('PATCH', path, { name: null, uses_remaining: 2, expired_at: '2099-01-01T00:00:00Z' });
  t.like(changed.data, {
    key: made.data['key'],
    name: null,
    uses_remaining: 2,
    expired_at: '2099-01-01T00:00:00.000Z',
  });
  t.deepEqual((await request('PATCH', path, {})).data, changed.data);

  t.is((await enroll(String(made.data['key']), { node_id: crypto.randomUUID() })).status, 201);
  t.is((await request('GET', path)).data['uses_remaining'], 1);
  t.is((await request('POST', '/clusters/nope/enrollment_keys')).status, 404);
  t.is((await request('POST', '/clusters/default/enrollment_keys/public')).status, 403);
  t.is((await request('DELETE', path)).status, 204);
  t.is((await request('GET', path)).status, 404);
  t.is((await request('PATCH', path, { name: 'x' })).status, 404);
  t.is((await request('DELETE', path)).status, 404);
});

test('a public key lets one node in, without a credential', async (t) => {
  const { request, enroll } = await startFleet(t, {
    DEFAULT_CLUSTER_NAME: 'main',
    PUBLIC_ENROLLMENT_KEY_ENABLED: 'true',
  });
  t.is(
    (await request('POST', '/clusters/default/enrollment_keys/public', undefined, { authorization: '' })).status,
    404,
  );
  await request('POST', '/clusters', { name: 'main' });

  const { status, data } = await request('POST', '/clusters/default/enrollment_keys/public', undefined, {
    authorization: '',
  });

  t.is(status, 201);
  t.is((await enroll(String(data['key']), { node_id: crypto.randomUUID() })).data['cluster_name'], 'main');
  t.is((await enroll(String(data['key']), { node_id: crypto.randomUUID() })).error?.code, 'key_spent');
});

test('a node is read, gets and loses aliases and a recovery key, moves to another cluster, and is deleted', async (t) => {
  const { request, cluster } = await startFleet(t);
  const [id = ''] = await cluster('one', 2);
  await cluster('two', 0);

  const node = await request('GET', `/nodes/${id}`);
  t.true(is(NodeResource, node.data));
  t.like(node.data, {
    cluster_name: 'one',
    status: 'unreachable',
    vpn_hostname: `node-${id}.one.edge.internal`,
    aliases: [],
  });
  t.deepEqual((await request('GET', `/nodes?node_id__in=${id}`)).rows, [node.data]);

  const alias = await request('POST', `/nodes/${id}/aliases`, { name: 'press-4' });
  t.is(alias.status, 201);
  t.true(is(AliasResource, alias.data));
  t.is((await request('POST', `/nodes/${id}/aliases`, { name: 'press-4' })).status, 409);
  t.is((await request('POST', `/nodes/${NOBODY}/aliases`, { name: 'press-5' })).status, 404);
  t.deepEqual((await request('GET', `/aliases/${String(alias.data['id'])}`)).data, alias.data);
  t.deepEqual((await request('GET', '/aliases?name=press*')).rows, [alias.data]);
  t.deepEqual(((await request('GET', `/nodes/${id}`)).data['aliases'] as readonly object[])[0], {
    id: alias.data['id'],
    name: 'press-4',
    vpn_hostname: 'press-4.one.edge.internal',
  });
  t.is((await request('DELETE', `/aliases/${String(alias.data['id'])}`)).status, 204);
  t.is((await request('DELETE', `/aliases/${String(alias.data['id'])}`)).status, 404);

  const recovery = await request('POST', `/nodes/${id}/recovery_key`);
  t.is(recovery.status, 201);
  t.true(is(RecoveryKeyResource, recovery.data));
  t.is((await request('DELETE', `/nodes/${id}/recovery_key`)).status, 204);
  t.is((await request('POST', `/nodes/${NOBODY}/recovery_key`)).status, 404);

  t.is((await request('POST', `/nodes/${id}/change_cluster`, { cluster_name: 'nope' })).status, 422);
  const moved = await request('POST', `/nodes/${id}/change_cluster`, { cluster_name: 'two' });
  t.is(moved.status, 200);
  t.true(is(NodeResource, moved.data));
  t.like(moved.data, { cluster_name: 'two', vpn_hostname: `node-${id}.two.edge.internal` });
  t.is((await request('GET', '/clusters/two')).data['node_count'], 1);

  t.is((await request('DELETE', `/nodes/${id}`)).status, 204);
  t.is((await request('GET', `/nodes/${id}`)).status, 404);
  t.is((await request('DELETE', `/nodes/${id}`)).status, 404);
});

test('a lost installation takes its node up again with the recovery key, once', async (t) => {
  const { request, cluster, enroll } = await startFleet(t);
  const [id = ''] = await cluster('one', 1);
  const {
    data: { key },
  } = await request('POST', '/clusters/one/enrollment_keys', { uses_remaining: null });
  const {
    data: { recovery_key },
  } = await request('POST', `/nodes/${id}/recovery_key`);

  t.is((await enroll(String(key), { node_id: id, recovery_key: `${id}.wrong` })).status, 409);
  t.is((await enroll(String(key), { node_id: id, recovery_key })).status, 201);
  t.is((await enroll(String(key), { node_id: id, recovery_key })).status, 409);
});

test('a command reaches the nodes that it names; it and its executions can be read, cancelled, and deleted once over', async (t) => {
  const { request, cluster } = await startFleet(t);
  const nodes = await cluster('one', 3);
  await cluster('two', 1);

  const made = await request('POST', '/commands', {
    command_text: 'true',
    targeting: { type: 'clusters', cluster_names: ['one', 'one'] },
    timeout: 1_000,
  });
  t.is(made.status, 201);
  t.true(is(CommandResource, made.data));
  t.like(made.data, {
    targeting: { type: 'clusters', cluster_names: ['one'] },
    timeout: 1_000,
    summary: { total: 3, pending: 3 },
  });
  const path = `/commands/${String(made.data['id'])}`;
  t.deepEqual((await request('GET', path)).data, made.data);
  t.deepEqual((await request('GET', '/commands')).rows, [made.data]);

  const executions = await request('GET', `/command_executions?command_id__in=${String(made.data['id'])}`);
  t.deepEqual(executions.rows.map((row) => String(row['node_id'])).toSorted(), nodes.toSorted());
  const [first] = executions.rows;
  const execution = `/command_executions/${String(first?.['id'])}`;
  t.true(is(ExecutionResource, (await request('GET', execution)).data));
  t.is((await request('DELETE', execution)).status, 409);
  t.is((await request('DELETE', path)).status, 409);

  const cancelled = await request('POST', `${execution}/cancel`);
  t.deepEqual([cancelled.status, cancelled.data['status']], [200, 'cancelled']);
  t.is((await request('POST', `${execution}/cancel`)).status, 409);
  t.is((await request('DELETE', execution)).status, 204);
  t.is((await request('POST', `${execution}/cancel`)).status, 404);

  const ended = await request('POST', `${path}/cancel`);
  t.is(ended.status, 202);
  t.true(is(CommandResource, ended.data));
  await until('its end', async () => ((await request('GET', path)).data['summary'] as CommandSummary).pending === 0);
  t.is((await request('DELETE', path)).status, 204);
  t.is((await request('GET', path)).status, 404);
  t.is((await request('POST', `${path}/cancel`)).status, 404);
  t.is((await request('GET', '/command_executions')).total, 0);
});

test('a targeting that matches nothing makes a command with no execution; an expiry must lie ahead', async (t) => {
  const { request, cluster } = await startFleet(t);
  await cluster('one', 1);

  const none = await request('POST', '/commands', {
    command_text: 'true',
    targeting: { type: 'nodes', node_ids: [NOBODY] },
  });
  const past = await request('POST', '/commands', {
    command_text: 'true',
    targeting: { type: 'all' },
    expired_at: '2020-01-01T00:00:00Z',
  });

  t.like(none.data, { summary: { total: 0 } });
  t.deepEqual([past.status, past.error?.details], [422, { expired_at: ['must be in the future'] }]);
});

test('a retried create answers the first answer, also when both come at once', async (t) => {
  const { request, cluster } = await startFleet(t);
  await cluster('one', 2);
  const body = { command_text: 'true', targeting: { type: 'all' } };

  const twins = await Promise.all(
    Array.from({ length: 5 }, () => request('POST', '/commands', body, { 'idempotency-key': 'k' })),
  );
  const clusters = await Promise.all(
    Array.from({ length: 3 }, () => request('POST', '/clusters', { name: 'twin' }, { 'idempotency-key': 'k' })),
  );
  const keys = await Promise.all(
    Array.from({ length: 3 }, () => request('POST', '/clusters/one/enrollment_keys', {}, { 'idempotency-key': 'k' })),
  );

  for (const replies of [twins, clusters, keys]) {
    t.deepEqual(
      column(replies, 'status'),
      replies.map(() => 201),
    );
    t.is(new Set(replies.map(({ data }) => JSON.stringify(data))).size, 1);
  }
  t.is((await request('GET', '/commands')).total, 1);
  t.is(
    (await request('POST', '/commands', { ...body, command_text: 'false' }, { 'idempotency-key': 'k' })).error?.code,
    'idempotency_conflict',
  );
});

test('an admin tells who it is and that it is well, and makes a test event', async (t) => {
  const { request, admin } = await startFleet(t);

  t.true(is(AdminResource, (await request('GET', '/admins/me')).data));
  // a check that a busy machine made late is red for a moment
  await until('it to be well', async () => (await fetch(`${admin.url}/healthz`)).status === 200);
  t.is((await request('POST', '/events/test')).data['type'], 'edge.core.test');
});
