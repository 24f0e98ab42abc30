/** Who may write: a lease under its epoch, and nobody else (O1, O2). */
import test from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS, WELL } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { enrolled, enrolment, finish, openRig, type Rig } from '../../../support/committer-fixture.ts';

test('a stale epoch changes no row and stores no event, hot or cold (O1)', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  const node = await rig.node(lease);
  const key = await rig.key(lease.cluster, 5);
  const {
    executions: [execution = '' as ExecutionId],
  } = await rig.executions([node]);
  const before = await all(rig);
  await rig.rows('update cluster_ownership set epoch = 2, admin_id = $1', [v7()]);
  const stale = { cluster: lease.cluster, epoch: 1 };

  const hot = await rig.commit(stale, [
    { kind: 'execution-sent', execution, atMs: NOW_MS },
    finish(execution),
    { kind: 'output-part', execution, part: 0, text: 'x' },
    { kind: 'execution-cancel-requested', execution, atMs: NOW_MS },
    { kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS },
  ]);
  const cold = [];
  for (const write of [
    enrolled(enrolment(lease.cluster, key)),
    { kind: 'node-deleted', node, atMs: NOW_MS } as const,
    { kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS } as const,
    { kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 7, atMs: NOW_MS } as const,
  ])
    cold.push(...(await rig.commit(stale, [write])));

  t.deepEqual(new Set([...hot, ...cold]), new Set(['service_unavailable']));
  t.deepEqual(await all(rig), before);
});

test('a lease that ran out writes nothing until it is renewed, though nobody took it', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  const node = await rig.node(lease);
  await rig.rows("update cluster_ownership set lease_until = now() - interval '1 s'");

  t.deepEqual(
    await rig.commit(lease, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    ['service_unavailable'],
  );
  t.deepEqual(await rig.leases.renew(rig.adminId, [lease]), [lease]);
  t.deepEqual(
    await rig.commit(lease, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    ['ok'],
  );
});

test('in one batch, the changes of a stale owner are refused and those of a good one stored', async (t) => {
  const rig = await openRig(t);
  const [mine, lost] = [await rig.cluster(), await rig.cluster()];
  const [node, other] = [await rig.node(mine), await rig.node(lost)];

  const outcomes = await Promise.all([
    rig.commit(mine, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    rig.commit({ ...lost, epoch: 9 }, [
      { kind: 'node-status', node: other, status: 'healthy', standing: WELL, atMs: NOW_MS },
    ]),
  ]);

  t.deepEqual(outcomes, [['ok'], ['service_unavailable']]);
});

test('a takeover waits for a batch that is under way, so that what the batch checked still holds when it commits (O1)', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await rig.executions([await rig.node(lease)]);
  const blocker = new Client(rig.connection);
  await blocker.connect();
  await blocker.query('begin');
  // the batch has checked its lease, and waits for this row
  await blocker.query('select 1 from command_execution for update');
  const writing = rig.commit(lease, [finish(execution)]);
  await until(
    'the batch waits',
    async () =>
      (await rig.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"))
        .length === 1,
  );
  const expire = rig.rows("update cluster_ownership set lease_until = clock_timestamp() - interval '1 s'");
  let isTaken = false;
  const taking = expire
    .then(() => rig.leases.claim(v7(), [lease.cluster]))
    .then((owned) => {
      isTaken = true;
      return owned;
    });
  await until(
    'the takeover waits',
    async () =>
      (await rig.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"))
        .length === 2,
  );

  t.false(isTaken);
  await blocker.query('rollback');
  await blocker.end();

  t.deepEqual([await writing, (await taking)[0]?.epoch], [['ok'], 2]);
  t.deepEqual(await rig.commit(lease, [finish(execution)]), ['service_unavailable']);
});

test('an admin renews the epochs that it knows, not those that another process of its name took up', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  const retaken = await rig.leases.retake(rig.adminId);

  t.deepEqual(retaken, [{ cluster: lease.cluster, epoch: 2 }]);
  t.deepEqual(await rig.leases.renew(rig.adminId, [lease]), []);
  await rig.leases.release(rig.adminId, [lease]);
  t.deepEqual(await rig.leases.renew(rig.adminId, retaken), retaken, 'a release under an old epoch releases nothing');
  t.deepEqual(await rig.leases.claim(v7(), [lease.cluster]), []);
});

test('a released cluster is free at once, and its next owner has the next epoch', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  await rig.leases.release(rig.adminId, [lease]);

  t.deepEqual(
    (await rig.leases.survey()).free.map((free) => free.cluster),
    [lease.cluster],
  );
  t.deepEqual(await rig.leases.claim(v7(), [lease.cluster]), [{ cluster: lease.cluster, epoch: 2 }]);
  t.deepEqual((await rig.leases.survey()).free, []);
});

test('of several admins that claim a free cluster one gets it', async (t) => {
  const rig = await openRig(t);
  const lease = await rig.cluster();
  for (let epoch = 2; epoch < 12; epoch += 1) {
    await rig.rows('update cluster_ownership set lease_until = clock_timestamp()');

    const claims = await Promise.all(Array.from({ length: 4 }, () => rig.leases.claim(v7(), [lease.cluster])));

    t.deepEqual(claims.flat(), [{ cluster: lease.cluster, epoch }]);
  }
});

test('a renewal and a batch that write for the same clusters do not wait for each other in a circle', async (t) => {
  const rig = await openRig(t);
  const leases = [await rig.cluster(), await rig.cluster(), await rig.cluster()];
  const nodes = await Promise.all(leases.map((lease) => rig.node(lease)));
  // The first of them lies last in the table, so that a statement that takes rows as they lie has another order than
  // the batch.
  await rig.rows('update cluster_ownership set lease_until = lease_until where cluster_id = $1', [leases[0]?.cluster]);
  const blocker = new Client(rig.connection);
  await blocker.connect();
  await blocker.query('begin');
  await blocker.query('select 1 from cluster_ownership where cluster_id = $1 for update', [leases[1]?.cluster]);
  const waiting = (count: number) =>
    until(
      `${count} wait`,
      async () =>
        (
          await rig.rows(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          )
        ).length === count,
    );

  const renewing = rig.leases.renew(rig.adminId, leases.toReversed());
  await waiting(1);
  const writing = Promise.all(
    leases.map((lease, index) =>
      rig.commit(lease, [
        { kind: 'node-status', node: nodes[index]!, status: 'healthy', standing: WELL, atMs: NOW_MS },
      ]),
    ),
  );
  await waiting(2);
  await blocker.query('rollback');
  await blocker.end();

  t.deepEqual(
    [(await renewing).length, await writing, rig.committer.counters.failed],
    [3, [['ok'], ['ok'], ['ok']], 0],
  );
});

async function all(rig: Rig): Promise<unknown> {
  return Promise.all(
    ['node', 'command_execution', 'execution_output_part', 'event', 'recovery_key', 'enrollment_key', 'cluster'].map(
      (table) => rig.rows(`select * from ${table} order by 1, 2`),
    ),
  );
}
