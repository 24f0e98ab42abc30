/** Machines that come back with a recovery key: the rows decide who is in (E1, E2). */
import test from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { enrolment, openFixture } from '../../../support/database/committer-fixture.ts';
import { retryOf, told, toldAtOnce } from './enrollment-fixture.ts';

test('of several that come with one recovery key one wins, and it is gone (E2)', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const key = await fixture.key(lease.cluster, 9);
  const keyHash = Buffer.alloc(32, 5);
  await fixture.commit(lease, [{ kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash, atMs: NOW_MS }]);

  const writes = Array.from({ length: 6 }, () =>
    enrolment(lease.cluster, key, { node, existing: { type: 'recovery', keyHash } }),
  );
  t.deepEqual(await toldAtOnce([fixture, other], lease, writes), [...Array<string>(5).fill('conflict'), 'ok']);
  t.deepEqual(
    await fixture.rows(
      'select uses_remaining, (select count(*)::int from recovery_key) as keys, (select node_count from cluster) as nodes from enrollment_key where id = $1',
      [key],
    ),
    [{ uses_remaining: 8, keys: 0, nodes: 1 }],
  );
});

test('a recovery key of another node, another cluster or another secret consumes nothing (E2)', async (t) => {
  const fixture = await openFixture(t);
  const [lease, elsewhere] = [await fixture.cluster(), await fixture.cluster()];
  const [node, neighbour] = [await fixture.node(lease), await fixture.node(lease)];
  const [key, foreignKey] = [await fixture.key(lease.cluster, 9), await fixture.key(elsewhere.cluster, 9)];
  const keyHash = Buffer.alloc(32, 5);
  await fixture.commit(lease, [{ kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash, atMs: NOW_MS }]);
  const before = await fixture.rows('select * from node order by id');

  const recovery = (cluster: ClusterId, by: string, who: NodeId, shown: Buffer) =>
    enrolment(cluster, by, { node: who, existing: { type: 'recovery', keyHash: shown } });
  t.deepEqual(
    [
      ...(await told(fixture, lease, recovery(lease.cluster, key, node, Buffer.alloc(32, 6)))),
      ...(await told(fixture, lease, recovery(lease.cluster, key, neighbour, keyHash))),
      ...(await told(fixture, elsewhere, recovery(elsewhere.cluster, foreignKey, node, keyHash))),
    ],
    ['conflict', 'conflict', 'conflict'],
  );

  t.deepEqual(await fixture.rows('select * from node order by id'), before);
  t.deepEqual(await fixture.rows('select uses_remaining from enrollment_key where id = any($1)', [[key, foreignKey]]), [
    { uses_remaining: 9 },
    { uses_remaining: 9 },
  ]);
  t.is((await fixture.rows('select 1 from recovery_key')).length, 1);
});

test('a recovery sent before its first try is stored gets a 503 and spends nothing; another machine is refused (E1, E2)', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const key = await fixture.key(lease.cluster, 9);
  const keySet = (keyHash: Uint8Array) =>
    ({ kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash, atMs: NOW_MS }) as const;
  const keyHash = Buffer.alloc(32, 5);
  const machineSecretHash = Buffer.alloc(32, 3);
  await fixture.commit(lease, [keySet(keyHash)]);
  const first = enrolment(lease.cluster, key, { node, existing: { type: 'recovery', keyHash }, machineSecretHash });
  const again = () => ({ ...first, tokenHash: Buffer.from(v7()) });
  const stranger = { ...again(), machineSecretHash: Buffer.alloc(32, 4) };

  t.deepEqual(await toldAtOnce([fixture, other], lease, [first, again()]), ['ok', 'service_unavailable']);
  t.deepEqual(await told(fixture, lease, again(), stranger), ['service_unavailable', 'conflict']);
  await fixture.commit(lease, [keySet(Buffer.alloc(32, 6))]); // somebody made another key since
  t.deepEqual(await told(fixture, lease, again(), retryOf(first, machineSecretHash)), ['service_unavailable', 'ok']);

  t.deepEqual(await fixture.rows('select uses_remaining as uses from enrollment_key where id = $1', [key]), [
    { uses: 8 },
  ]);
  t.is((await fixture.rows('select 1 from recovery_key')).length, 1);
});

test('a recovery key and an alias of a node are not set for a cluster that it has left', async (t) => {
  const fixture = await openFixture(t);
  const [from, to] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(from);
  const setIn = (cluster: ClusterId) =>
    [
      { kind: 'recovery-key-set', node, cluster, keyHash: Buffer.alloc(32, 5), atMs: NOW_MS },
      { kind: 'alias-created', id: v7(), node, cluster, name: 'press', atMs: NOW_MS },
    ] as const;
  await fixture.store(from, { kind: 'node-moved', node, from: from.cluster, to: to.cluster, atMs: NOW_MS });

  for (const write of setIn(from.cluster)) t.deepEqual(await fixture.commit(from, [write]), ['service_unavailable']);
  for (const write of setIn(to.cluster)) t.deepEqual(await fixture.commit(to, [write]), ['ok']);
  t.deepEqual(await fixture.rows('select cluster_id from recovery_key union all select cluster_id from alias'), [
    { cluster_id: to.cluster },
    { cluster_id: to.cluster },
  ]);
});

test('a recovery and a new recovery key of one node at once wait for each other in one order', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const key = await fixture.key(lease.cluster, 9);
  const keyHash = Buffer.alloc(32, 5);
  const setTo = (hash: Uint8Array) =>
    ({ kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash: hash, atMs: NOW_MS }) as const;
  await fixture.commit(lease, [setTo(keyHash)]);
  const holder = new Client(fixture.connection);
  await holder.connect();
  t.teardown(() => holder.end());
  const waits = async (count: number) =>
    until(`${count} that wait for a lock`, async () => {
      const [found] = await fixture.rows<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return found?.waiting === count;
    });

  await holder.query('begin');
  await holder.query('select 1 from enrollment_key where id = $1 for update', [key]);
  const recovering = told(
    fixture,
    lease,
    enrolment(lease.cluster, key, { node, existing: { type: 'recovery', keyHash } }),
  );
  await waits(1);
  const setting = other.commit(lease, [setTo(Buffer.alloc(32, 6))]);
  await waits(2);
  await holder.query('commit');

  t.deepEqual([await recovering, await setting], [['ok'], ['ok']]);
  const { rows } = await holder.query('select deadlocks::int from pg_stat_database where datname = current_database()');
  t.deepEqual(rows, [{ deadlocks: 0 }]);
});
