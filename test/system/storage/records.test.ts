/** What no actor owns: executions that are over, admins, and ranges that are free. */
import test from 'ava';
import { isTerminal } from '../../../actors/resources/command.ts';
import { StoredAdminTopology } from '../../../persistence/reads/admin-topology.ts';
import { Leases } from '../../../persistence/ownership/leases.ts';
import { createReads } from '../../../persistence/reads/reads.ts';
import { createRecords } from '../../../persistence/ownership/ownerless-writes.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { arrived, keepAlive, registryOf } from '../../support/admin-registry.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeAdmin, storeCluster } from '../../support/database/stored-rows.ts';
import { openStoredFleet } from './fixture.ts';

test('an execution is deleted when it is terminal, refused while it is not, and not found twice', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const records = createRecords(opened.pool);
  const open = fixture.command_executions.find(({ status }) => !isTerminal(status))!;
  const closed = fixture.command_executions.find(({ status }) => isTerminal(status))!;
  const code = async (id: string) => {
    const result = await records.deleteExecution(id as ExecutionId);
    return result.ok ? 'deleted' : result.refusal.code;
  };

  t.is(await code(open.id), 'conflict');
  t.is(await code(closed.id), 'deleted');
  t.is(await code(closed.id), 'not_found');
  t.deepEqual(await opened.reads.get('command_executions', open.id), open);
});

test('an admin keeps its id over restarts, and counts the peers that have checked in lately', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const admin = (name: string) => registryOf(database, name, { nowMs: () => Date.UTC(2026, 0, 1) });

  const id = await admin('one').checkIn();
  t.is(await arrived(admin('one')), id);
  const two = admin('two');
  await two.checkIn();
  await admin('three').checkIn();
  await keepAlive(pool);
  await pool.query(`update admin set last_checked_in = now() - interval '1 hour' where name = 'three'`);
  const me = await admin('one').me();

  t.deepEqual(me, {
    id,
    name: 'one',
    version: '0.1.0',
    role: 'admin',
    admin_cluster_name: 'default',
    erlang_node_name: 'one@one',
    vpn_host_id: id,
    vpn_hostname: null,
    max_wireguard_peers: 100,
    admin_peer_count: 1,
    edge_node_capacity: 99,
    last_computed_at: '2026-01-01T00:00:00.000Z',
  });
  await two.checkOut();
  t.is((await admin('one').me()).admin_peer_count, 0);
});

test('an admin stores its process, peer URL and link version; an older admin that takes its row clears them', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const leases = new Leases(pool);
  const seen = async () =>
    (await leases.survey()).admins.map(({ name, instanceId, peerUrl, linkVersion, startedAtMs, drainingSinceMs }) => ({
      name,
      instanceId,
      peerUrl,
      linkVersion,
      startedAtMs,
      drainingSinceMs,
    }));
  const startedAtMs = Date.UTC(2026, 0, 1);
  const admin = registryOf(database, 'one', {
    peerUrl: 'http://10.0.0.1:44000',
    linkVersion: 3,
    nowMs: () => startedAtMs,
  });
  await admin.checkIn();
  await admin.checkIn();
  await keepAlive(pool);
  const said = await seen();
  await pool.query(`update admin_identity set draining_since = to_timestamp(1000) where name = 'one'`);
  const draining = await seen();
  const again = registryOf(database, 'one', { peerUrl: '', nowMs: () => startedAtMs + 1 });
  await arrived(again);
  await keepAlive(pool);
  const restarted = await seen();
  // As the release before writes it, twice.
  for (const at of ['2026-01-02', '2026-01-02'])
    await pool.query(
      `update admin set url = 'http://one', version = '0.0.1', started_at = $1, last_checked_in = now() + interval '1 hour' where name = 'one'`,
      [at],
    );
  const older = await seen();

  const row = { name: 'one', peerUrl: 'http://10.0.0.1:44000', linkVersion: 3, startedAtMs, drainingSinceMs: null };
  t.deepEqual(said, [{ ...row, instanceId: admin.instanceId }]);
  t.deepEqual(draining, [{ ...row, instanceId: admin.instanceId, drainingSinceMs: 1_000_000 }]);
  t.like(restarted, [{ instanceId: again.instanceId, peerUrl: null, startedAtMs: startedAtMs + 1 }]);
  t.like(older, [{ instanceId: null, peerUrl: null, linkVersion: null, startedAtMs: Date.UTC(2026, 0, 2) }]);
});

test('an admin keeps its id when it was stopped in order, and has one name wherever it is shown', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const again = () => registryOf(database, 'one', { url: 'https://one.example.com:44000' });
  const admin = again();
  const id = await admin.checkIn();

  await admin.checkOut();
  t.deepEqual((await pool.query('select 1 from admin')).rows, []);
  const restarted = again();
  t.is(await restarted.checkIn(), id);
  await keepAlive(pool);

  const { vpn_host_id: host, erlang_node_name: name } = await again().me();
  const { topology } = await new StoredAdminTopology(pool, { adminClusterName: 'default', domain: 'x' }).mine();
  t.deepEqual([host, name], [id, 'one@one.example.com']);
  t.deepEqual(
    topology.map((entry) => [entry.vpn_host_id, entry.erlang_node_name]),
    [[id, name]],
  );
  // A release that knows nothing of identities made another entry meanwhile: others know that one.
  await restarted.checkOut();
  const other = await storeAdmin(pool, 'one');
  const last = again();
  t.is(await arrived(last), other);
  await last.checkOut();
  t.is(await again().checkIn(), other);
});

test('an admin of another group is refused while the others run, and says which name it should have', async (t) => {
  const database = await openedDatabase(t);
  const { pool } = database;
  const admin = (name: string, adminClusterName: string) => registryOf(database, name, { adminClusterName });
  const one = admin('one', 'eu');
  await one.checkIn();
  await keepAlive(pool);

  const two = admin('two', 'eu');
  await two.checkIn();
  await two.checkOut();
  await t.throwsAsync(admin('two', 'us').checkIn(), {
    message:
      'ADMIN_CLUSTER_NAME is "us": it should be "eu", as that of the admin one, which uses this database now. To change it, stop all admins first.',
  });

  await one.checkOut();
  t.is(typeof (await admin('two', 'us').checkIn()), 'string');
});

test('free ranges avoid what clusters have, until there are none', async (t) => {
  const { pool, reads: _, ...opened } = await openedDatabase(t);
  const reads = createReads({
    ...opened,
    pool,
    domain: 'x',
    ranges: { v4Ranges: ['10.0.0.0/29', '10.1.0.0/22'], v4Prefix: 24 },
  });
  await storeCluster(pool, 'odd', { ipv4Range: '10.1.1.128/26', ipv6Range: 'fd00:ffff::/64' });

  const given: string[] = [];
  for (let free = await reads.freeRanges(); free !== null; free = await reads.freeRanges()) {
    given.push(free.ipv4Range);
    await storeCluster(pool, `c${given.length}`, free);
    t.regex(free.ipv6Range, /^fd[0-9a-f]{2}:[0-9a-f:]+::\/64$/u);
  }

  t.deepEqual(given.toSorted(), ['10.1.0.0/24', '10.1.2.0/24', '10.1.3.0/24']);
});
