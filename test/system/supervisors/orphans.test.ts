/** Admins with less room than there are nodes: trees on one database. */
import test from 'ava';
import { v7 } from 'uuid';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { HEALTHY, session } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import type { SupervisorsFixture } from './actors-fixture.ts';
import { startOwner, startSupervisors } from './fixture.ts';

const GIVEN_NONE = { balance: 0, room: 0, drain: 0, stop: 0 } as const;

test('a cluster that fits into no single admin is an orphan at all of them; one that is being taken over is not', async (t) => {
  const leaving = await startSupervisors(t);
  const [large] = await leaving.createNodes(3);
  const small = await leaving.createNode();
  const staying = [
    await startSupervisors(t, { connection: leaving.connection, maxWireguardPeers: 3 }),
    await startSupervisors(t, { connection: leaving.connection, maxWireguardPeers: 3 }),
  ];
  const orphans = () => staying.map(({ tree }) => tree.ownership.standing().orphans.map((orphan) => orphan.cluster));
  t.deepEqual(orphans(), [[], []]);

  await leaving.stop();
  await until('both know', () => orphans().every((known) => known.length > 0));
  await until('the other cluster has an owner', () => staying.some(({ tree }) => tree.held.holds(small.cluster)));

  await until('both say why', () => staying.every(({ tree }) => tree.ownership.standing().kind === 'fragmented'));
  const { cluster } = large ?? small;
  t.deepEqual(
    staying.map(({ tree }) => [tree.held.holds(cluster), tree.ownership.standing().kind]),
    [
      [false, 'fragmented'],
      [false, 'fragmented'],
    ],
  );
  t.deepEqual(orphans(), [[cluster], [cluster]]);
  const refused = await staying[0]?.ask('cluster', cluster, { type: 'limit', nodeLimit: 5 });
  t.like(refused, { ok: false, refusal: { code: 'service_unavailable' } });
  t.regex(
    refused?.ok === false ? refused.refusal.message : '',
    /^No admin has room for the cluster \w+ \(3 nodes; the largest room is [12]\)\. Add an admin or raise ADMIN_MAX_WIREGUARD_PEERS\.$/u,
  );
  for (const { log } of staying)
    t.like(
      log.lines.findLast(({ message }) => message === 'the admins do not have room for everything'),
      { level: 'warn', fields: { degraded: true, clusters: 1, nodes: 3 } },
    );
});

test('a cluster that fits nowhere has an owner once a smaller one has moved to where there is room for it', async (t) => {
  const leaving = await startOwner(t);
  const [orphan] = await leaving.createNodes(4);
  const beside = { connection: leaving.connection, maxWireguardPeers: 6 }; // of which one is the other's
  const fuller = await startOwner(t, beside);
  const [stays] = await fuller.createNodes(3);
  const emptier = await startOwner(t, beside);
  const [moves] = await emptier.createNodes(2);
  const placed = [orphan, stays, moves].map((one) => one!.cluster);
  const [large, , small] = placed as [ClusterId, ClusterId, ClusterId];
  const holds = ({ tree }: SupervisorsFixture) => placed.map((cluster) => tree.held.holds(cluster));

  await leaving.stop();
  await until('the small one to move', () => fuller.tree.held.holds(small));
  await until('the large one to have an owner', () => emptier.tree.held.holds(large));
  const both = [fuller, emptier];
  await until('all to be whole', () => both.every(({ tree }) => tree.ownership.standing().kind === 'whole'));

  t.deepEqual(
    [holds(fuller), holds(emptier)],
    [
      [false, true, true],
      [true, false, false],
    ],
  );
  t.deepEqual(
    both.map(({ tree }) => tree.ownership.handOvers().given),
    [GIVEN_NONE, { ...GIVEN_NONE, room: 1 }],
  );
  t.deepEqual(
    await fuller.rows('select cluster_id as cluster, epoch::int from cluster_ownership order by owned_since'),
    [
      { cluster: stays!.cluster, epoch: 1 },
      { cluster: small, epoch: 2 },
      { cluster: large, epoch: 2 },
    ],
  );
});

test('an agent that is connected here for a node of a cluster that nobody has room for is sent away by what it says', async (t) => {
  const before = await startSupervisors(t);
  const [orphan] = await before.createNodes(2);
  await before.stop();
  const after = await startSupervisors(t, { connection: before.connection, maxWireguardPeers: 1 });
  await until('it is an orphan', () => after.tree.ownership.orphaned(orphan!.cluster) !== null);

  after.tell('node', orphan!.node, { type: 'agent-reported', session: session(1), report: HEALTHY });
  await until('it is hung up', () => after.sessions.hungUp.length > 0);

  t.deepEqual(after.sessions.hungUp, [{ session: session(1), node: null, code: 4010 }]);
});

test('an admin that restarts with less room takes up the largest clusters that fit, and leaves the rest to another', async (t) => {
  const before = await startSupervisors(t, { name: 'shrunk' });
  const [large] = await before.createNodes(3);
  const [small] = await before.createNodes(2);
  await before.stop();
  const after = await startSupervisors(t, { name: 'shrunk', connection: before.connection, maxWireguardPeers: 4 });
  const holds = ({ tree }: SupervisorsFixture) => [large, small].map((placed) => tree.held.holds(placed!.cluster));
  t.deepEqual([holds(after), after.tree.ownership.standing().kind], [[true, false], 'overfull']);

  const other = await startSupervisors(t, { connection: before.connection, maxWireguardPeers: 3 });
  await until('the other has the rest', () => holds(other)[1] === true);
  await until('it is whole', () => after.tree.ownership.standing().kind === 'whole');

  t.deepEqual(
    [holds(after), holds(other)],
    [
      [true, false],
      [false, true],
    ],
  );
});

test('a cluster that a full admin creates is taken by one that has room, and the creator is done with it', async (t) => {
  const full = await startSupervisors(t, { maxWireguardPeers: 2 });
  await full.createNode();
  const roomy = await startSupervisors(t, { connection: full.connection });
  await until('it knows the other', () => roomy.tree.ownership.watchedMs() > 0);

  const cluster = v7() as ClusterId;
  const ranges = { ipv4Range: '10.250.0.0/24', ipv6Range: 'fd00:250::/64' };
  await full.must('cluster', cluster, {
    type: 'create',
    id: cluster,
    name: 'new',
    ...ranges,
    nodeLimit: null,
    idempotency: null,
  });
  await until('the other holds it', () => roomy.tree.held.holds(cluster));
  await until('its actor is gone', () => !full.tree.directory.isLocal({ kind: 'cluster', id: cluster }));

  t.false(full.tree.held.holds(cluster));
  await roomy.must('cluster', cluster, { type: 'limit', nodeLimit: 3 });
});
