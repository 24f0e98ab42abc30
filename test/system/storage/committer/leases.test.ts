/** Who may write: a lease under its epoch, and nobody else (O1, O2). */
import test from 'ava';
import { v7 } from 'uuid';
import type { AdminRegistry } from '../../../../persistence/admins/admin-directory.ts';
import { LEASE_MS, Leases } from '../../../../persistence/ownership/leases.ts';
import { SWEEPS_TASK, taskLease } from '../../../../persistence/ownership/task-leases.ts';
import { channelLeases } from '../../../../persistence/publishing/channels.ts';
import { WEBHOOKS_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { StoredVpnRows } from '../../../../persistence/vpn/vpn-rows.ts';
import { planned } from '../../../../supervisors/ownership/moves.ts';
import { arrived, registryOf } from '../../../support/admin-registry.ts';
import { NOW_MS } from '../../../support/actors.ts';
import {
  enrolled,
  enrolment,
  finish,
  openFixture,
  well,
  type Fixture,
} from '../../../support/database/committer-fixture.ts';
import { LONG_WAITS } from '../../../support/database/opened.ts';
import { column } from '../../../support/database/columns.ts';
import { until } from '../../../support/until.ts';

test('a stale epoch changes no row and stores no event, hot or cold (O1)', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const key = await fixture.key(lease.cluster, 5);
  const execution = await fixture.execution(node);
  const before = await all(fixture);
  await fixture.rows('update cluster_ownership set epoch = 2, admin_id = $1', [v7()]);
  const stale = { cluster: lease.cluster, epoch: 1 };

  const hot = await fixture.commit(stale, [
    { kind: 'execution-sent', execution, atMs: NOW_MS },
    finish(execution),
    { kind: 'output-part', execution, part: 0, text: 'x' },
    { kind: 'execution-cancel-requested', execution, atMs: NOW_MS },
    well(node),
  ]);
  const cold = [];
  for (const write of [
    enrolled(enrolment(lease.cluster, key)),
    { kind: 'node-deleted', node, atMs: NOW_MS } as const,
    { kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS } as const,
    { kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 7, atMs: NOW_MS } as const,
  ])
    cold.push(...(await fixture.commit(stale, [write])));

  t.deepEqual(new Set([...hot, ...cold]), new Set(['service_unavailable']));
  t.deepEqual(await all(fixture), before);
});

test('a lease that ran out writes nothing until it is renewed, though nobody took it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  await fixture.rows("update cluster_ownership set lease_until = now() - interval '1 s'");

  t.deepEqual(await fixture.commit(lease, [well(node)]), ['service_unavailable']);
  // A busy machine may let one lease run out before the write.
  await until('a write under a lease that was renewed', async () => {
    t.deepEqual(await fixture.leases.renew(fixture.adminId, [lease]), [lease]);
    return (await fixture.commit(lease, [well(node)]))[0] === 'ok';
  });
});

test('in one batch, the changes of a stale owner are refused and those of a good one stored', async (t) => {
  const fixture = await openFixture(t);
  const [mine, lost] = [await fixture.cluster(), await fixture.cluster()];
  const [node, other] = [await fixture.node(mine), await fixture.node(lost)];

  const outcomes = await Promise.all([
    fixture.commit(mine, [well(node)]),
    fixture.commit({ ...lost, epoch: 9 }, [well(other)]),
  ]);

  t.deepEqual(outcomes, [['ok'], ['service_unavailable']]);
});

test('no admin takes a cluster over during a batch, so that what the batch checked holds at its commit (O1)', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  // A batch that waits for too long is taken apart, and asks for its lease anew: on a busy machine it may be too late
  // then.
  const seen = await until('a batch that kept its locks until they were seen', async () => {
    const one = await takenOver(fixture);
    if (one.outcome[0] !== 'ok') t.false(one.isStored);
    return one.outcome[0] === 'ok' && one;
  });

  t.deepEqual(seen.taken, []);
  t.true(seen.isStored);
  t.deepEqual(seen.takenThen, [{ cluster: seen.lease.cluster, epoch: 2 }]);
  t.deepEqual(await fixture.commit(seen.lease, [finish(seen.execution)]), ['service_unavailable']);
});

/** A batch checks its lease and waits for a row; its cluster is to be taken over then, and once the row is let go. */
async function takenOver(fixture: Fixture) {
  const lease = await fixture.cluster();
  const execution = await fixture.execution(await fixture.node(lease));
  const holder = await fixture.holder('select 1 from command_execution for update');
  let isEnded = false;
  const writing = fixture.commit(lease, [finish(execution)]).finally(() => {
    isEnded = true;
  });
  await until('a batch in line', async () => isEnded || (await fixture.inLine()).length === 1);
  const expiry = "update cluster_ownership set lease_until = clock_timestamp() - interval '1 s' where cluster_id = $1";
  await fixture.rows(expiry, [lease.cluster]);
  const taken = await fixture.leases.claim(v7(), [lease.cluster]);
  await holder.query('rollback');
  const outcome = await writing;
  const takenThen = await fixture.leases.claim(v7(), [lease.cluster]);
  const [row] = await fixture.rows<{ status: string }>('select status from command_execution where id = $1', [
    execution,
  ]);
  return { lease, execution, taken, outcome, takenThen, isStored: row?.status === 'completed' };
}

test('an admin renews the epochs that it knows, not those that another process of its name took up', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const retaken = await fixture.leases.retake(fixture.adminId, [lease.cluster]);

  t.deepEqual(retaken, [{ cluster: lease.cluster, epoch: 2 }]);
  t.deepEqual(await fixture.leases.renew(fixture.adminId, [lease]), []);
  await fixture.leases.release(fixture.adminId, [lease]);
  t.deepEqual(
    await fixture.leases.renew(fixture.adminId, retaken),
    retaken,
    'a release under an old epoch releases nothing',
  );
  await fixture.hold(lease.cluster);
  t.deepEqual(await fixture.leases.claim(v7(), [lease.cluster]), []);
});

test('a process whose name another took renews, takes and frees no lease of its id, nor marks itself stopping (O1)', async (t) => {
  const fixture = await openFixture(t);
  const [older, newer] = [registryOf(fixture.database, 'a'), registryOf(fixture.database, 'a')];
  const id = await older.checkIn();
  const leasesOf = ({ instanceId }: AdminRegistry): Leases => new Leases(fixture.database.writes, instanceId);
  const [before, after] = [leasesOf(older), leasesOf(newer)];
  const [own, free] = [await fixture.cluster(), await fixture.cluster()];
  await fixture.rows('update cluster_ownership set admin_id = $1, epoch = 7', [id]);
  const given = { cluster: own.cluster, epoch: 7 };
  await before.release(id, [{ cluster: free.cluster, epoch: 7 }]);
  const whileItsOwn = await before.renew(id, [given]);

  await arrived(newer);
  const late = [
    await before.renew(id, [given]),
    await before.claim(id, [free.cluster]),
    await before.retake(id, [own.cluster]),
  ];
  await before.release(id, [given]);
  await before.stopping(id);
  const [told] = await fixture.rows('select stopping_since from admin where id = $1', [id]);
  const byTheOther = [await after.renew(id, [given]), await after.claim(id, [free.cluster])];

  t.deepEqual(whileItsOwn, [given]);
  t.deepEqual(late, [[], [], []]);
  t.deepEqual(told, { stopping_since: null }, 'the others give the process that has the name something still');
  t.deepEqual(byTheOther, [[given], [{ cluster: free.cluster, epoch: 8 }]]);
  t.deepEqual(await after.retake(id, [own.cluster]), [{ cluster: own.cluster, epoch: 8 }]);
  await after.stopping(id);
  t.is((await fixture.rows('select 1 from admin where id = $1 and stopping_since is not null', [id])).length, 1);
});

test('a process whose name another one has takes back no task and no channel that this one does (O1)', async (t) => {
  const fixture = await openFixture(t);
  const { writes } = fixture.database;
  const [older, newer] = [registryOf(fixture.database, 'a'), registryOf(fixture.database, 'a')];
  const adminId = await older.checkIn();
  const tasksOf = ({ instanceId }: AdminRegistry) => [
    taskLease(writes, { adminId, instanceId }, SWEEPS_TASK, 3_600_000),
    { claim: () => channelLeases(writes, { adminId, instanceId }).claim(WEBHOOKS_CHANNEL) },
  ];
  const claims = async (registry: AdminRegistry): Promise<readonly (number | null)[]> => {
    const epochs = [];
    for (const task of tasksOf(registry)) epochs.push(await task.claim());
    return epochs;
  };
  const whileItsOwn = await claims(older);

  await arrived(newer);
  const byTheOther = await claims(newer);
  const late = await claims(older);
  for (const table of ['vpn_lease', 'event_channel'])
    await fixture.rows(`update ${table} set admin_id = null, lease_until = null`);
  const whenFree = await claims(older);

  t.deepEqual(whileItsOwn, [1, 1]);
  t.deepEqual(byTheOther, [2, 2]);
  t.deepEqual(
    [late, whenFree],
    [
      [null, null],
      [null, null],
    ],
  );
});

test('a released cluster is free at once, and its next owner has the next epoch', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  await fixture.leases.release(fixture.adminId, [lease]);

  t.deepEqual(column((await fixture.leases.survey()).free, 'cluster'), [lease.cluster]);
  t.deepEqual(await fixture.leases.claim(v7(), [lease.cluster]), [{ cluster: lease.cluster, epoch: 2 }]);
  const { nextFreeMs } = await fixture.leases.survey();
  t.true(nextFreeMs === null || nextFreeMs <= LEASE_MS); // null: it ran out since
  await fixture.hold(lease.cluster);
  t.deepEqual((await fixture.leases.survey()).free, []);
  t.true(((await fixture.leases.survey()).nextFreeMs ?? 0) > LEASE_MS); // as long as a fixture holds one
  t.is((await fixture.leases.survey(60_000)).nextFreeMs, null);
});

test('of several admins that claim a free cluster one gets it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  // A lease lasts as long as the test does: it must not be free again before the last of them asks.
  await fixture.rows(
    "create function last() returns trigger language plpgsql as $$ begin new.lease_until := clock_timestamp() + interval '1 h'; return new; end $$",
  );
  await fixture.rows(
    'create trigger lasts before update on cluster_ownership for each row when (new.epoch > old.epoch) execute function last()',
  );
  for (let epoch = 2; epoch < 12; epoch += 1) {
    await fixture.rows('update cluster_ownership set lease_until = clock_timestamp()');

    const claims = await Promise.all(Array.from({ length: 4 }, () => fixture.leases.claim(v7(), [lease.cluster])));

    t.deepEqual(claims.flat(), [{ cluster: lease.cluster, epoch }]);
  }
});

test('a cluster that a node goes into or out of stays with its owner until the move is over', async (t) => {
  const fixture = await openFixture(t);
  const [from, to] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(from);
  for (const id of [fixture.adminId, v7()])
    await fixture.rows(
      `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, link_version, started_at, last_checked_in)
        values ($1::uuid, $1::text, '', 'default', '1', 100, 1, now() - interval '1 hour', now() + interval '1 hour')`,
      [id],
    );
  const look = async () => {
    const { admins, clusters } = await fixture.leases.placement();
    const busy = [from, to].map((lease) => clusters.find(({ cluster }) => cluster === lease.cluster)?.isBusy);
    return { busy, moves: planned(admins, clusters, 1, 0).length };
  };
  const before = await look();
  await fixture.store(from, { kind: 'node-moved', node, from: from.cluster, to: to.cluster, atMs: NOW_MS });

  const amid = await look();
  const rows = new StoredVpnRows(fixture.database.pool, fixture.adminId);
  for (const move of await rows.moves(10)) await rows.finish(move);
  const after = await look();

  t.deepEqual(amid, { busy: [true, true], moves: 0 });
  for (const rest of [before, after]) t.deepEqual(rest, { busy: [false, false], moves: 1 });
});

async function all(fixture: Fixture): Promise<unknown> {
  return Promise.all(
    ['node', 'command_execution', 'execution_output_part', 'event', 'recovery_key', 'enrollment_key', 'cluster'].map(
      (table) => fixture.rows(`select * from ${table} order by 1, 2`),
    ),
  );
}
