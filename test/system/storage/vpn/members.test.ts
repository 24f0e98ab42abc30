/** Membership in VPNs as rows: who gets which address, and who is told. */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { VpnPlace } from '../../../../actors/records.ts';
import type { Write } from '../../../../actors/writes.ts';
import { VPN_MEMBER_CHANGES, vpnPlaces, readVpns, storeGateway } from '../../../../persistence/vpn/readings.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import {
  enrolled,
  enrolment,
  openFixture,
  type ClusterLease,
  type Fixture,
} from '../../../support/database/committer-fixture.ts';

function key(): string {
  return Buffer.from(v7().replaceAll('-', '')).toString('base64');
}

function place(more: Partial<VpnPlace> = {}): VpnPlace {
  return {
    publicKey: key(),
    listenPort: 51_820,
    endpoints: ['192.168.0.7:51820'],
    observed: null,
    isStable: null,
    relayRegion: null,
    ...more,
  };
}

function joins(
  node: NodeId,
  { cluster }: ClusterLease,
  at: VpnPlace = place(),
): Extract<Write, { kind: 'vpn-member-set' }> {
  return { kind: 'vpn-member-set', node, cluster, place: at, atMs: NOW_MS };
}

async function open(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const { pool } = fixture.database;
  const readingOf = async ({ cluster }: ClusterLease) => (await readVpns(pool, [cluster]))[0];
  return {
    fixture,
    pool,
    readingOf,
    /** The last numbers of the members' addresses. */
    addresses: async (lease: ClusterLease) =>
      (await readingOf(lease))?.members.map((member) => Number(member.ipv4.split('.')[3])) ?? [],
    /** What the owner stores of its gateway, under this epoch. */
    gateway: (lease: ClusterLease, at: Parameters<typeof storeGateway>[4], epoch = 1, adminId = fixture.adminId) =>
      storeGateway(pool, adminId, lease.cluster, epoch, at),
  };
}

const moved = (node: NodeId, from: ClusterLease, to: ClusterLease): Write => ({
  kind: 'node-moved',
  node,
  from: from.cluster,
  to: to.cluster,
  atMs: NOW_MS,
});

/** One after another: the first gets the first address that is free. */
async function members(fixture: Fixture, lease: ClusterLease, count: number): Promise<NodeId[]> {
  const nodes: NodeId[] = [];
  for (let made = 0; made < count; made += 1) {
    const node = await fixture.node(lease);
    await fixture.store(lease, joins(node, lease));
    nodes.push(node);
  }
  return nodes;
}

test('members that come at once get addresses of their own, from the second on, in both families', async (t) => {
  const { fixture, readingOf, addresses } = await open(t);
  const lease = await fixture.cluster({ ipv4Range: '100.64.9.0/24', ipv6Range: 'fd12:3456:789a:1::/64' });

  await Promise.all(Array.from({ length: 12 }, () => members(fixture, lease, 1)));

  t.deepEqual(
    await addresses(lease),
    Array.from({ length: 12 }, (_none, index) => index + 2),
  );
  const reading = await readingOf(lease);
  t.deepEqual(
    reading?.members.slice(0, 2).map(({ ipv4, ipv6 }) => [ipv4, ipv6]),
    [
      ['100.64.9.2', 'fd12:3456:789a:1::2'],
      ['100.64.9.3', 'fd12:3456:789a:1::3'],
    ],
  );
});

test('a member that says something new keeps its address', async (t) => {
  const { fixture, pool, readingOf } = await open(t);
  const lease = await fixture.cluster();
  const [node] = (await members(fixture, lease, 1)) as [NodeId];
  const before = (await readingOf(lease))?.members[0];
  const changed = place({ endpoints: [], relayRegion: 901 });

  t.deepEqual(
    await fixture.commit(lease, [
      joins(node, lease, changed),
      {
        kind: 'vpn-observed',
        node,
        publicKey: changed.publicKey,
        observed: '203.0.113.9:4000',
        isStable: true,
        atMs: NOW_MS,
      },
    ]),
    ['ok', 'ok'],
  );

  t.deepEqual((await readingOf(lease))?.members, [
    { ...before!, ...changed, observed: '203.0.113.9:4000', isStable: true },
  ]);
  t.deepEqual((await vpnPlaces(pool, [node])).get(node), { ...changed, observed: '203.0.113.9:4000', isStable: true });
});

test("an address that was given back is nobody's for a day", async (t) => {
  const { fixture, addresses } = await open(t);
  const lease = await fixture.cluster();
  const [first] = (await members(fixture, lease, 2)) as [NodeId];

  await fixture.commit(lease, [{ kind: 'node-deleted', node: first, atMs: NOW_MS }]);
  await members(fixture, lease, 1);
  t.deepEqual(await addresses(lease), [3, 4]);

  await fixture.rows("update mesh_released set released_at = released_at - interval '25 h'");
  await members(fixture, lease, 1);
  t.deepEqual(await addresses(lease), [2, 3, 4]);
});

test('a range that is full says so, and lets nobody in', async (t) => {
  const { fixture, addresses } = await open(t);
  const lease = await fixture.cluster({ ipv4Range: '100.64.7.0/29' });
  await members(fixture, lease, 5);
  const late = await fixture.node(lease);

  const [refused] = await fixture.committer.commit(lease, [{ write: joins(late, lease), events: [], notices: [] }]);

  t.is(refused?.refusal.code, 'conflict');
  t.regex(refused?.refusal.message ?? '', /^The network 100\.64\.7\.0\/29 of the cluster has no free address/u);
  t.deepEqual(await addresses(lease), [2, 3, 4, 5, 6]);
});

test('a key that another node has is refused: at enrolment, and when it is said', async (t) => {
  const { fixture } = await open(t);
  const lease = await fixture.cluster();
  const [one, other] = (await members(fixture, lease, 2)) as [NodeId, NodeId];
  const taken = place();
  await fixture.commit(lease, [joins(one, lease, taken)]);

  t.deepEqual(await fixture.commit(lease, [joins(other, lease, taken)]), ['conflict']);
  t.deepEqual(
    await fixture.commit(lease, [
      enrolled(
        enrolment(lease.cluster, await fixture.key(lease.cluster, null), { wireguardPublicKey: taken.publicKey }),
      ),
    ]),
    ['conflict'],
  );
});

test('a node that enrols with its key is a member from the first instant', async (t) => {
  const { fixture, readingOf } = await open(t);
  const lease = await fixture.cluster();
  const write = enrolment(lease.cluster, await fixture.key(lease.cluster, null), { wireguardPublicKey: key() });

  t.deepEqual(await fixture.commit(lease, [enrolled(write)]), ['ok']);

  t.like((await readingOf(lease))?.members[0], {
    node: write.node,
    publicKey: write.wireguardPublicKey,
    listenPort: null,
  });
});

test('a node that moves is in exactly one VPN: the new one, with an address of it; the move waits to be finished', async (t) => {
  const { fixture, pool, addresses } = await open(t);
  const [from, to] = [await fixture.cluster(), await fixture.cluster()];
  const [node] = (await members(fixture, from, 2)) as [NodeId];
  await members(fixture, to, 1);

  t.deepEqual(await fixture.commit(from, [moved(node, from, to)]), ['ok']);

  t.deepEqual([await addresses(from), await addresses(to)], [[3], [2, 3]]);
  t.deepEqual(await fixture.rows('select host_index from mesh_released where cluster_id = $1', [from.cluster]), [
    { host_index: 2 },
  ]);
  t.like(await fixture.rows('select node_id, step, from_cluster_id, to_cluster_id from mesh_move'), [
    { node_id: node, step: 'leave', from_cluster_id: from.cluster, to_cluster_id: to.cluster },
  ]);
  t.is((await vpnPlaces(pool, [node])).size, 1);
});

test('a move into a VPN that is full is refused, and nothing of it is done', async (t) => {
  const { fixture, addresses } = await open(t);
  const [from, to] = [await fixture.cluster(), await fixture.cluster({ ipv4Range: '100.64.6.0/30' })];
  await members(fixture, to, 1);
  const [node] = (await members(fixture, from, 1)) as [NodeId];

  t.deepEqual(await fixture.commit(from, [moved(node, from, to)]), ['conflict']);

  t.deepEqual(await addresses(from), [2]);
  t.deepEqual(await fixture.rows('select 1 from mesh_move'), []);
});

test('a gateway is where the owner says, under its epoch and under no other', async (t) => {
  const { fixture, readingOf, gateway } = await open(t);
  const lease = await fixture.cluster({ ipv4Range: '100.64.5.0/24' });
  const at = { publicKey: key(), listenPort: 51_820, endpoints: ['203.0.113.1:51820'], relayRegion: 900 };

  t.true(await gateway(lease, at));
  t.deepEqual((await readingOf(lease))?.gateway, {
    ...at,
    ipv4: '100.64.5.1',
    ipv6: (await readingOf(lease))?.gateway?.ipv6 ?? '',
  });
  t.false(await gateway(lease, null, 2));
  t.false(await gateway(lease, null, 1, v7()));
  t.not((await readingOf(lease))?.gateway, null);
  t.true(await gateway(lease, null));
  t.is((await readingOf(lease))?.gateway, null);
});

test('a node that says it has the key of a gateway is refused: at enrolment, and when it is said', async (t) => {
  const { fixture, gateway } = await open(t);
  const lease = await fixture.cluster();
  const [node] = (await members(fixture, lease, 1)) as [NodeId];
  const gatewayKey = key();
  await gateway(lease, { publicKey: gatewayKey, listenPort: 51_820, endpoints: [], relayRegion: null });

  t.deepEqual(await fixture.commit(lease, [joins(node, lease, place({ publicKey: gatewayKey }))]), ['conflict']);
  t.deepEqual(
    await fixture.commit(lease, [
      enrolled(enrolment(lease.cluster, await fixture.key(lease.cluster, null), { wireguardPublicKey: gatewayKey })),
    ]),
    ['conflict'],
  );
});

test('whoever listens hears which VPNs changed: by members, moves, aliases, gateways and deletions', async (t) => {
  const { fixture } = await open(t);
  const [one, other] = [await fixture.cluster(), await fixture.cluster()];
  const client = new Client({ ...fixture.connection });
  await client.connect();
  t.teardown(() => client.end());
  const heard: string[] = [];
  client.on('notification', ({ payload = '' }) => heard.push(payload));
  await client.query(`listen ${VPN_MEMBER_CHANGES}`);
  const tells = async (what: string, act: () => Promise<unknown>, clusters: readonly string[]): Promise<void> => {
    heard.length = 0;
    await act();
    await until(what, () => clusters.every((cluster) => heard.includes(cluster)));
    t.deepEqual([...new Set(heard)].toSorted(), [...clusters].toSorted(), what);
  };
  const node = await fixture.node(one);

  await tells('a member', () => fixture.commit(one, [joins(node, one)]), [one.cluster]);
  await tells(
    'an alias',
    () =>
      fixture.commit(one, [{ kind: 'alias-created', id: v7(), node, cluster: one.cluster, name: 'web', atMs: NOW_MS }]),
    [one.cluster],
  );
  await tells('a move', () => fixture.commit(one, [moved(node, one, other)]), [one.cluster, other.cluster]);
  await tells('a deletion', () => fixture.commit(other, [{ kind: 'node-deleted', node, atMs: NOW_MS }]), [
    other.cluster,
  ]);
});
