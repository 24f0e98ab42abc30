/** Room for nodes at an admin, as the rows decide it: at enrolment, at moves, at creation and at takeover. */
import test from 'ava';
import * as fc from 'fast-check';
import { v7 } from 'uuid';
import { edgeCapacity } from '../../../../actors/edge-capacity.ts';
import { EDGE_CAPACITY, ROOM_LOCK } from '../../../../persistence/committer/capacity.ts';
import { StoredTakeovers } from '../../../../persistence/ownership/takeovers.ts';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS } from '../../../support/actors.ts';
import {
  enrolled,
  enrolment,
  openFixture,
  type ClusterLease,
  type Fixture,
} from '../../../support/database/committer-fixture.ts';
import { LONG_WAITS } from '../../../support/database/opened.ts';

/** An admin that may have so many peers. Nobody checks in here: it is there for an hour, or is gone. */
async function admin(fixture: Fixture, peersMax: number, id: string = v7(), isLive = true): Promise<string> {
  await fixture.rows(
    `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in)
      values ($1::uuid, $1::text, '', 'default', '1', $2, now(), now() + $3 * interval '1 hour')`,
    [id, peersMax, isLive ? 1 : -1],
  );
  return id;
}

/** An agent that comes into this cluster by a key with one use: the outcome, and uses that are left. */
async function enrol(
  fixture: Fixture,
  lease: ClusterLease,
): Promise<{ readonly node: NodeId; readonly outcome: string }> {
  const write = enrolment(lease.cluster, await fixture.key(lease.cluster, 1));
  const [outcome = ''] = await fixture.commit(lease, [enrolled(write)]);
  return { node: write.node, outcome };
}

const move = (node: NodeId, from: ClusterLease, to: ClusterLease) =>
  ({ kind: 'node-moved', node, from: from.cluster, to: to.cluster, atMs: NOW_MS }) as const;

test('of many agents at once an admin admits as many as it has room for; refused ones spend no use of their key', async (t) => {
  const fixture = await openFixture(t);
  await admin(fixture, 6, fixture.adminId);
  await admin(fixture, 100); // one of the six is this one
  const leases = [await fixture.cluster(), await fixture.cluster()];

  const outcomes = await Promise.all(
    Array.from({ length: 9 }, (_, index) => enrol(fixture, leases[index % 2] as ClusterLease)),
  );

  t.deepEqual(outcomes.map(({ outcome }) => outcome).toSorted(), [
    ...Array<string>(4).fill('degraded_mode'),
    ...Array<string>(5).fill('ok'),
  ]);
  t.deepEqual(
    await fixture.rows(
      'select (select sum(node_count)::int from cluster) as counted, (select count(*)::int from node) as nodes, (select sum(uses_remaining)::int from enrollment_key) as uses',
    ),
    [{ counted: 5, nodes: 5, uses: 4 }],
  );
});

test('an agent that comes while another one takes the last place waits for what becomes of that one', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  await admin(fixture, 1, fixture.adminId);
  const [one, other] = [await fixture.cluster(), await fixture.cluster()];
  const writes = [
    enrolment(one.cluster, await fixture.key(one.cluster, 1)),
    enrolment(other.cluster, await fixture.key(other.cluster, 1)),
  ] as const;
  const holder = await fixture.holder('lock table event in share row exclusive mode'); // neither can end
  const enrolling = [fixture.commit(one, [enrolled(writes[0])]), fixture.commit(other, [enrolled(writes[1])])];
  await fixture.waiting(2);

  await holder.query('rollback');

  t.deepEqual((await Promise.all(enrolling)).flat().toSorted(), ['degraded_mode', 'ok']);
});

test('a machine that is enrolled already needs no room to come again', async (t) => {
  const fixture = await openFixture(t);
  await admin(fixture, 1, fixture.adminId);
  const lease = await fixture.cluster();
  const first = enrolment(lease.cluster, await fixture.key(lease.cluster, null));
  await fixture.store(lease, enrolled(first));
  await fixture.rows('update cluster set node_count = 2'); // and has lost room since

  const again = { ...first, existing: { type: 'retry', machineSecretHash: null }, spendsUse: false } as const;

  t.deepEqual(await fixture.commit(lease, [enrolled(again)]), ['ok']);
});

test('a node moves within an admin, to an ownerless cluster, and where the owner has room, never to a full admin', async (t) => {
  const fixture = await openFixture(t);
  const [full, roomy] = [await admin(fixture, 3), await admin(fixture, 4)];
  await admin(fixture, 4, fixture.adminId);
  const [mine, mineToo, ofFull, ofRoomy, ofNobody] = [
    await fixture.cluster(),
    await fixture.cluster(),
    await fixture.cluster(),
    await fixture.cluster(),
    await fixture.cluster(),
  ];
  const nodes = [(await enrol(fixture, mine)).node, (await enrol(fixture, mine)).node] as const;
  const give = (lease: ClusterLease, id: string | null, count: number) =>
    Promise.all([
      fixture.rows('update cluster set node_count = $2 where id = $1', [lease.cluster, count]),
      fixture.rows(
        `update cluster_ownership set admin_id = $2::uuid, lease_until = now() + case when $2::uuid is null then -1 else 1 end * interval '1 hour' where cluster_id = $1`,
        [lease.cluster, id],
      ),
    ]);
  await give(ofFull, full, 1);
  await give(ofRoomy, roomy, 1);
  await give(ofNobody, null, 50);

  t.deepEqual(
    [
      await fixture.commit(mine, [move(nodes[0], mine, ofFull)]),
      await fixture.commit(mine, [move(nodes[0], mine, ofRoomy)]),
      await fixture.commit(mine, [move(nodes[1], mine, mineToo)]),
      await fixture.commit(mineToo, [move(nodes[1], mineToo, ofNobody)]),
    ],
    [['degraded_mode'], ['ok'], ['ok'], ['ok']],
  );
});

test('a node goes out of a cluster for which its admin has no room, to where there is room beside it only', async (t) => {
  const fixture = await openFixture(t);
  await admin(fixture, 3, fixture.adminId);
  const [beyond, small] = [await fixture.cluster(), await fixture.cluster()];
  const nodes = [(await enrol(fixture, beyond)).node, (await enrol(fixture, beyond)).node] as const;
  await fixture.rows('update cluster set node_count = 5 where id = $1', [beyond.cluster]);
  await fixture.rows('update cluster set node_count = 2 where id = $1', [small.cluster]);

  t.deepEqual(
    [
      await fixture.commit(beyond, [move(nodes[0], beyond, small)]),
      await fixture.commit(beyond, [move(nodes[1], beyond, small)]),
    ],
    [['ok'], ['degraded_mode']],
  );
});

test('an admin owns what it creates; without room for a first node it leaves that to an admin with room, if any', async (t) => {
  const fixture = await openFixture(t);
  await admin(fixture, 2, fixture.adminId);
  const created = async (): Promise<unknown> => {
    const { cluster } = await fixture.cluster();
    return fixture.notices.find((notice) => notice.type === 'cluster-created' && notice.cluster === cluster);
  };
  const first = await fixture.cluster();
  await enrol(fixture, first);
  await enrol(fixture, first);

  const alone = await created();
  const other = await admin(fixture, 1, v7(), false);
  const besideDead = await created();
  await fixture.rows(
    `update admin set last_checked_in = now() + interval '1 hour', max_wireguard_peers = 1 where id = $1`,
    [other],
  );
  const besideFull = await created();
  await fixture.rows(`update admin set max_wireguard_peers = 2 where id = $1`, [other]);
  const beside = await created();

  t.like(alone, { epoch: 1 });
  t.like(besideDead, { epoch: 1 });
  t.like(besideFull, { epoch: 1 });
  t.like(beside, { epoch: null });
  t.deepEqual(
    (
      await fixture.rows<{ admin: string | null }>(
        'select admin_id as admin from cluster_ownership order by cluster_id',
      )
    ).map(({ admin: id }) => id),
    [...Array<string>(4).fill(fixture.adminId), null],
  );
});

test('the database and the code mean the same by the capacity of an admin', async (t) => {
  const fixture = await openFixture(t);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.nat(6), fc.nat(2), async (peersMax, others, gone) => {
      await fixture.rows('delete from admin');
      const id = await admin(fixture, peersMax);
      for (let index = 0; index < others; index += 1) await admin(fixture, 1);
      for (let index = 0; index < gone; index += 1) await admin(fixture, 1, v7(), false);

      const [row] = await fixture.rows(`select ${EDGE_CAPACITY} as capacity from admin a where a.id = $1`, [id]);

      t.deepEqual(row, { capacity: edgeCapacity(peersMax, others + 1) });
    }),
    { numRuns: 30 },
  );
});

/** Clusters of so many nodes that nobody owns any more. */
async function freed(fixture: Fixture, ...sizes: readonly number[]): Promise<readonly ClusterId[]> {
  const clusters: ClusterId[] = [];
  for (const nodes of sizes) {
    const { cluster } = await fixture.cluster();
    await fixture.rows(
      `with sized as (update cluster set node_count = $2 where id = $1)
        update cluster_ownership set lease_until = now() - interval '1 s' where cluster_id = $1`,
      [cluster, nodes],
    );
    clusters.push(cluster);
  }
  return clusters;
}

/** Whoever else has the room of this admin in a transaction of its own, and brings a node into this cluster. */
async function entering(fixture: Fixture, { cluster }: ClusterLease) {
  const holder = await fixture.holder(`select pg_advisory_xact_lock(${ROOM_LOCK}, hashtext($1::uuid::text))`, [
    fixture.adminId,
  ]);
  await holder.query('update cluster set node_count = node_count + 1 where id = $1', [cluster]);
  return holder;
}

test('of what fitted as an admin looked it takes over, the smallest first, what fits beside nodes that enrolled since', async (t) => {
  const fixture = await openFixture(t);
  await admin(fixture, 6, fixture.adminId);
  const takeovers = new StoredTakeovers(fixture.database.writes, null);
  const mine = await fixture.cluster();
  const [large, none, small] = (await freed(fixture, 3, 0, 2)) as [ClusterId, ClusterId, ClusterId];
  const { admins } = await fixture.leases.survey();
  t.like(admins, [{ capacity: 6, nodes: 0 }]); // all of it fits

  t.is((await enrol(fixture, mine)).outcome, 'ok');
  t.is((await enrol(fixture, mine)).outcome, 'ok');
  const taken = await takeovers.take(fixture.adminId, [large, none, small]);
  for (const { cluster } of taken) await fixture.hold(cluster);
  const later = await takeovers.take(fixture.adminId, [large]);
  await fixture.rows('update cluster set node_count = 2 where id = $1', [large]);

  t.deepEqual(new Set(taken.map(({ cluster }) => cluster)), new Set([none, small]));
  t.deepEqual(later, []);
  t.deepEqual(await takeovers.take(fixture.adminId, [large]), [{ cluster: large, epoch: 2 }]);
});

test('a takeover waits for who comes in at that moment; a renewal of the old lease waits for it, and finds it taken (O1)', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  await admin(fixture, 4, fixture.adminId);
  const takeovers = new StoredTakeovers(fixture.database.writes, null, LONG_WAITS.lockMs);
  const mine = await fixture.cluster();
  const [small, large] = (await freed(fixture, 1, 3)) as [ClusterId, ClusterId];
  const holder = await entering(fixture, mine);

  const taking = takeovers.take(fixture.adminId, [small, large]);
  await fixture.waiting(1);
  const renewing = fixture.leases.renew(fixture.adminId, [{ cluster: small, epoch: 1 }]);
  await fixture.waiting(2);
  await holder.query('commit');

  t.deepEqual(await taking, [{ cluster: small, epoch: 2 }]);
  t.deepEqual(await renewing, []);
});

test('where its room or a row is held for long, an admin leaves what it cannot take to the next round', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  await admin(fixture, 4, fixture.adminId);
  const mine = await fixture.cluster();
  const [one, other] = (await freed(fixture, 1, 1)) as [ClusterId, ClusterId];
  const room = await entering(fixture, mine);

  const whileRoomIsHeld = await new StoredTakeovers(fixture.database.writes, null, 1).take(fixture.adminId, [one]);
  await room.query('rollback');
  const row = await fixture.holder('select 1 from cluster_ownership where cluster_id = $1 for update', [one]);
  const whileRowIsHeld = await new StoredTakeovers(fixture.database.writes, null).take(fixture.adminId, [one, other]);
  await row.query('rollback');

  t.deepEqual([whileRoomIsHeld, whileRowIsHeld], [[], [{ cluster: other, epoch: 2 }]]);
  t.deepEqual(await new StoredTakeovers(fixture.database.writes, v7()).take(fixture.adminId, [one]), []); // another process
});

test('at a restart an admin takes up the clusters that it names, and frees the rest under an epoch it never had', async (t) => {
  const fixture = await openFixture(t);
  const [kept, left] = [await fixture.cluster({ name: 'kept' }), await fixture.cluster({ name: 'left' })];

  t.deepEqual(
    (await fixture.leases.mine(fixture.adminId)).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    [
      { cluster: kept.cluster, name: 'kept', nodes: 0 },
      { cluster: left.cluster, name: 'left', nodes: 0 },
    ],
  );
  t.deepEqual(await fixture.leases.retake(fixture.adminId, [kept.cluster]), [{ cluster: kept.cluster, epoch: 2 }]);
  await fixture.hold(kept.cluster);
  t.deepEqual(await fixture.leases.renew(fixture.adminId, [kept, left]), []);
  t.deepEqual(
    (await fixture.leases.survey()).free.map(({ cluster }): ClusterId => cluster),
    [left.cluster],
  );
});
