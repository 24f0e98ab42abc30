/** Who may write: a lease under its epoch, and nobody else (O1, O2). */
import test from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS, WELL } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { enrolled, enrolment, finish, openFixture, type Fixture } from '../../../support/committer-fixture.ts';

test('a stale epoch changes no row and stores no event, hot or cold (O1)', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const key = await fixture.key(lease.cluster, 5);
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([node]);
  const before = await all(fixture);
  await fixture.rows('update cluster_ownership set epoch = 2, admin_id = $1', [v7()]);
  const stale = { cluster: lease.cluster, epoch: 1 };

  const hot = await fixture.commit(stale, [
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
    cold.push(...(await fixture.commit(stale, [write])));

  t.deepEqual(new Set([...hot, ...cold]), new Set(['service_unavailable']));
  t.deepEqual(await all(fixture), before);
});

test('a lease that ran out writes nothing until it is renewed, though nobody took it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  await fixture.rows("update cluster_ownership set lease_until = now() - interval '1 s'");

  t.deepEqual(
    await fixture.commit(lease, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    ['service_unavailable'],
  );
  t.deepEqual(await fixture.leases.renew(fixture.adminId, [lease]), [lease]);
  t.deepEqual(
    await fixture.commit(lease, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    ['ok'],
  );
});

test('in one batch, the changes of a stale owner are refused and those of a good one stored', async (t) => {
  const fixture = await openFixture(t);
  const [mine, lost] = [await fixture.cluster(), await fixture.cluster()];
  const [node, other] = [await fixture.node(mine), await fixture.node(lost)];

  const outcomes = await Promise.all([
    fixture.commit(mine, [{ kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS }]),
    fixture.commit({ ...lost, epoch: 9 }, [
      { kind: 'node-status', node: other, status: 'healthy', standing: WELL, atMs: NOW_MS },
    ]),
  ]);

  t.deepEqual(outcomes, [['ok'], ['service_unavailable']]);
});

test('a takeover waits for a batch that is under way, so that what the batch checked still holds when it commits (O1)', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  const blocker = new Client(fixture.connection);
  await blocker.connect();
  await blocker.query('begin');
  // the batch has checked its lease, and waits for this row
  await blocker.query('select 1 from command_execution for update');
  const writing = fixture.commit(lease, [finish(execution)]);
  await until(
    'the batch waits',
    async () =>
      (
        await fixture.rows(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
      ).length === 1,
  );
  const expire = fixture.rows("update cluster_ownership set lease_until = clock_timestamp() - interval '1 s'");
  let isTaken = false;
  const taking = expire
    .then(() => fixture.leases.claim(v7(), [lease.cluster]))
    .then((owned) => {
      isTaken = true;
      return owned;
    });
  await until(
    'the takeover waits',
    async () =>
      (
        await fixture.rows(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
      ).length === 2,
  );

  t.false(isTaken);
  await blocker.query('rollback');
  await blocker.end();

  t.deepEqual([await writing, (await taking)[0]?.epoch], [['ok'], 2]);
  t.deepEqual(await fixture.commit(lease, [finish(execution)]), ['service_unavailable']);
});

test('an admin renews the epochs that it knows, not those that another process of its name took up', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const retaken = await fixture.leases.retake(fixture.adminId);

  t.deepEqual(retaken, [{ cluster: lease.cluster, epoch: 2 }]);
  t.deepEqual(await fixture.leases.renew(fixture.adminId, [lease]), []);
  await fixture.leases.release(fixture.adminId, [lease]);
  t.deepEqual(
    await fixture.leases.renew(fixture.adminId, retaken),
    retaken,
    'a release under an old epoch releases nothing',
  );
  t.deepEqual(await fixture.leases.claim(v7(), [lease.cluster]), []);
});

test('a released cluster is free at once, and its next owner has the next epoch', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  await fixture.leases.release(fixture.adminId, [lease]);

  t.deepEqual(
    (await fixture.leases.survey()).free.map((free) => free.cluster),
    [lease.cluster],
  );
  t.deepEqual(await fixture.leases.claim(v7(), [lease.cluster]), [{ cluster: lease.cluster, epoch: 2 }]);
  t.deepEqual((await fixture.leases.survey()).free, []);
});

test('of several admins that claim a free cluster one gets it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  for (let epoch = 2; epoch < 12; epoch += 1) {
    await fixture.rows('update cluster_ownership set lease_until = clock_timestamp()');

    const claims = await Promise.all(Array.from({ length: 4 }, () => fixture.leases.claim(v7(), [lease.cluster])));

    t.deepEqual(claims.flat(), [{ cluster: lease.cluster, epoch }]);
  }
});

test('a renewal and a batch that write for the same clusters do not wait for each other in a circle', async (t) => {
  const fixture = await openFixture(t);
  const leases = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster()];
  const nodes = await Promise.all(leases.map((lease) => fixture.node(lease)));
  // The first of them lies last in the table, so that a statement that takes rows as they lie has another order than
  // the batch.
  await fixture.rows('update cluster_ownership set lease_until = lease_until where cluster_id = $1', [
    leases[0]?.cluster,
  ]);
  const blocker = new Client(fixture.connection);
  await blocker.connect();
  await blocker.query('begin');
  await blocker.query('select 1 from cluster_ownership where cluster_id = $1 for update', [leases[1]?.cluster]);
  const waiting = (count: number) =>
    until(
      `${count} wait`,
      async () =>
        (
          await fixture.rows(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          )
        ).length === count,
    );

  const renewing = fixture.leases.renew(fixture.adminId, leases.toReversed());
  await waiting(1);
  const writing = Promise.all(
    leases.map((lease, index) =>
      fixture.commit(lease, [
        { kind: 'node-status', node: nodes[index]!, status: 'healthy', standing: WELL, atMs: NOW_MS },
      ]),
    ),
  );
  await waiting(2);
  await blocker.query('rollback');
  await blocker.end();

  t.deepEqual(
    [(await renewing).length, await writing, fixture.committer.counters.failed],
    [3, [['ok'], ['ok'], ['ok']], 0],
  );
});

async function all(fixture: Fixture): Promise<unknown> {
  return Promise.all(
    ['node', 'command_execution', 'execution_output_part', 'event', 'recovery_key', 'enrollment_key', 'cluster'].map(
      (table) => fixture.rows(`select * from ${table} order by 1, 2`),
    ),
  );
}
