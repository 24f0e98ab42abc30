/** What the group commit takes and what it refuses: each write by the state of its row, and its events with it. */
import test from 'ava';
import { v7 } from 'uuid';
import { OPEN_SELF_UPDATES_MAX } from '../../../../actors/self-update/limits.ts';
import type { UpdateTarget } from '../../../../actors/self-update/writes.ts';
import type { Change } from '../../../../actors/step.ts';
import type { Write } from '../../../../actors/writes.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { commandRecord, NOW_MS, PORTS } from '../../../support/actors.ts';
import { change, finish, openFixture, well } from '../../../support/database/committer-fixture.ts';

const clusterCreated = (more: object = {}): Write => ({
  kind: 'cluster-created',
  id: v7() as ClusterId,
  name: 'free',
  ipv4Range: '10.8.0.0/24',
  ipv6Range: 'fd08::/64',
  nodeLimit: null,
  atMs: NOW_MS,
  ...more,
});

test('each write of an execution is refused when its row is over, and its event is not stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const ending = { exitCode: 143, output: null, parts: 0, truncated: false };
  const writes: ((execution: ExecutionId) => Write)[] = [
    (execution) => ({ kind: 'execution-sent', execution, atMs: NOW_MS }),
    (execution) => finish(execution),
    (execution) => finish(execution, { status: 'cancelled', sentAtMs: null, ending }),
    (execution) => ({ kind: 'execution-cancel-requested', execution, atMs: NOW_MS }),
  ];
  for (const write of writes) {
    const execution = await fixture.execution(node);
    const first = finish(execution, { ending: { exitCode: 7, output: 'first', parts: 0, truncated: false } });
    t.deepEqual(await fixture.commit(lease, [first]), ['ok']);
    const before = await fixture.row(execution);
    const told = fixture.notices.length;

    t.deepEqual(await fixture.commit(lease, [write(execution)]), ['conflict'], write(execution).kind);

    t.deepEqual(await fixture.row(execution), before);
    t.is((await fixture.eventsOf(execution)).length, 1);
    t.is(fixture.notices.length, told);
  }
});

test('an execution that was sent cannot be sent again', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const sent: Write = {
    kind: 'execution-sent',
    execution: await fixture.execution(await fixture.node(lease)),
    atMs: NOW_MS,
  };

  t.deepEqual([await fixture.commit(lease, [sent]), await fixture.commit(lease, [sent])], [['ok'], ['conflict']]);
});

test('cold writes are refused when their row is gone, with nothing of them stored', async (t) => {
  const fixture = await openFixture(t);
  const [lease, other] = [await fixture.cluster(), await fixture.cluster()];
  const node = v7() as NodeId;
  const registration = { version: '1', idType: 'random', ports: PORTS, selfUpdateEnabled: true, facts: null } as const;
  const writes: Write[] = [
    { kind: 'key-updated', id: v7(), name: 'x', atMs: NOW_MS },
    { kind: 'key-deleted', id: v7() },
    { kind: 'node-registered', node, ...registration, atMs: NOW_MS },
    { kind: 'node-moved', node, from: lease.cluster, to: other.cluster, atMs: NOW_MS },
    { kind: 'node-deleted', node, atMs: NOW_MS },
    { kind: 'recovery-key-cleared', node },
    { kind: 'alias-deleted', id: v7() },
    { kind: 'command-deleted', command: v7() as CommandId },
  ];
  for (const write of writes) {
    const subject = v7();

    t.deepEqual(await fixture.commit(lease, [change(write, subject)]), ['not_found'], write.kind);

    t.deepEqual(await fixture.eventsOf(subject), [], write.kind);
  }
  t.deepEqual(await fixture.rows('select node_count from cluster'), [{ node_count: 0 }, { node_count: 0 }]);
});

test('what a constraint refuses is a conflict with a sentence, and its events are not stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster({ name: 'taken', ipv4Range: '10.9.0.0/24', ipv6Range: 'fd09::/64' });
  const { cluster } = lease;
  const [one, two] = [await fixture.node(lease), await fixture.node(lease)];
  const alias = (node: NodeId) =>
    ({ kind: 'alias-created', id: v7(), node, cluster, name: 'press', atMs: NOW_MS }) as const;
  await fixture.store(lease, alias(one));
  const refused: readonly Write[] = [
    alias(two),
    clusterCreated({ name: 'taken' }),
    clusterCreated({ ipv4Range: '10.9.0.128/25' }),
    clusterCreated({ ipv6Range: 'fd09::/64' }),
    { kind: 'node-moved', node: one, from: cluster, to: v7() as ClusterId, atMs: NOW_MS },
  ];

  for (const write of refused) {
    const subject = v7();
    t.deepEqual(await fixture.commit('node' in write ? lease : null, [change(write, subject)]), ['conflict']);
    t.deepEqual(await fixture.eventsOf(subject), []);
  }
});

test('a cluster with nodes can neither be deleted nor limited below them; without, it goes with its keys', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const { cluster } = lease;
  const nodes = [await fixture.node(lease), await fixture.node(lease)];
  const deleted: Write = { kind: 'cluster-deleted', cluster };
  const limited = (nodeLimit: number): Write => ({ kind: 'cluster-limited', cluster, nodeLimit, atMs: NOW_MS });

  for (const [write, outcome] of [
    [deleted, 'conflict'],
    [limited(1), 'conflict'],
    [limited(2), 'ok'],
  ] as const)
    t.deepEqual(await fixture.commit(lease, [write]), [outcome]);
  for (const node of nodes) await fixture.store(lease, { kind: 'node-deleted', node, atMs: NOW_MS });
  t.deepEqual(await fixture.commit(lease, [deleted]), ['ok']);
  t.deepEqual(await fixture.rows('select 1 from enrollment_key union all select 1 from cluster_ownership'), []);
});

test('deleting a node drops its open executions, leaves the finished as they are, and says which', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const [pending, sent, done] = [
    await fixture.execution(node),
    await fixture.execution(node),
    await fixture.execution(node),
  ];
  await fixture.commit(lease, [{ kind: 'execution-sent', execution: sent, atMs: NOW_MS }, finish(done)]);

  await fixture.commit(lease, [{ kind: 'node-deleted', node, atMs: NOW_MS }]);

  t.deepEqual(await fixture.statuses(pending, sent, done), ['dropped', 'dropped', 'completed']);
  t.deepEqual(await fixture.rows('select node_count from cluster'), [{ node_count: 0 }]);
  t.deepEqual(
    fixture.notices
      .flatMap((notice) =>
        notice.type === 'execution-changed' && notice.status === 'dropped' ? [notice.execution] : [],
      )
      .toSorted(),
    [pending, sent].toSorted(),
  );
});

test('a command can be deleted with its executions only when all are over', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    command,
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);

  t.deepEqual(await fixture.commit(null, [{ kind: 'command-deleted', command }]), ['conflict']);
  await fixture.store(lease, finish(execution));
  t.deepEqual(await fixture.commit(null, [{ kind: 'command-deleted', command }]), ['ok']);
  t.deepEqual(await fixture.rows('select id from command_execution'), []);
});

test('cancelling a command marks its open executions and no other', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    command,
    executions: [over = '' as ExecutionId, open = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease), await fixture.node(lease)]);
  await fixture.store(lease, finish(over));

  await fixture.store(null, { kind: 'command-cancel-requested', command, atMs: NOW_MS });

  t.deepEqual([(await fixture.row(over))['cancelling'], (await fixture.row(open))['cancelling']], [false, true]);
});

test('of two creates under one idempotency key in one batch, one is stored', async (t) => {
  const fixture = await openFixture(t);
  const create = (bodyHash: string): Change => ({
    ...change({ kind: 'command-created', command: commandRecord({ id: v7() as CommandId }), executions: [] }),
    idempotencyRecord: { scope: 's', key: 'k', bodyHash, answer: { a: 1 } },
  });

  const [first, second] = await Promise.all([fixture.commit(null, [create('1')]), fixture.commit(null, [create('2')])]);
  const third = await fixture.commit(null, [create('3')]);

  t.deepEqual([...first, ...second, ...third], ['ok', 'idempotency_conflict', 'idempotency_conflict']);
  t.is((await fixture.rows('select 1 from command')).length, 1);
  t.is((await fixture.rows('select 1 from event')).length, 1);
});

test('of two cold creates under one idempotency key, also from two admins, one is stored', async (t) => {
  const fixture = await openFixture(t);
  const other = await openFixture(t, fixture.connection);
  const create = (number: number): Change => ({
    ...change(
      clusterCreated({ name: `n${number}`, ipv4Range: `10.0.${number}.0/24`, ipv6Range: `fd00:${number}::/64` }),
    ),
    idempotencyRecord: { scope: 's', key: 'k', bodyHash: '', answer: {} },
  });

  const outcomes = await Promise.all([
    fixture.commit(null, [create(1)]),
    other.commit(null, [create(2)]),
    fixture.commit(null, [create(3)]),
  ]);

  t.deepEqual(outcomes.flat().toSorted(), ['idempotency_conflict', 'idempotency_conflict', 'ok']);
  t.is((await fixture.rows('select 1 from cluster')).length, 1);
});

test('at most 100 self-update requests are open, also when created together; a request without nodes does not count', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const create = (targets: readonly UpdateTarget[]): Write => ({
    kind: 'self-update-created',
    request: {
      id: v7(),
      targeting: { type: 'all' },
      batchSize: null,
      maxFailures: null,
      healthTimeoutMs: 1_000,
      insertedAtMs: NOW_MS,
    },
    targets,
  });
  const one = [{ node, clusterName: 'c' }];
  await fixture.rows(
    `insert into self_update_request (id, targeting, health_timeout_ms, total, inserted_at, updated_at)
     select gen_random_uuid(), '{}', 1000, 1, now(), now() from generate_series(1, $1::int)`,
    [OPEN_SELF_UPDATES_MAX - 2],
  );

  const outcomes = await Promise.all(Array.from({ length: 5 }, () => fixture.commit(null, [create(one)])));

  t.deepEqual(outcomes.flat().toSorted(), ['conflict', 'conflict', 'conflict', 'ok', 'ok']);
  t.deepEqual(await fixture.commit(null, [create([])]), ['ok']);
  await fixture.rows(
    `update self_update_request set status = 'completed', triggered = 0, failed = 1, completed_at = now() where id = (select id from self_update_request where status <> 'completed' limit 1)`,
  );
  t.deepEqual(await fixture.commit(null, [create(one)]), ['ok']);
});

test('a status change and a report of presence at once do not block each other', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);

  t.deepEqual(await fixture.commit(lease, [well(node), well(node, { status: 'unhealthy', atMs: NOW_MS + 1 })]), [
    'ok',
    'ok',
  ]);

  t.deepEqual(await fixture.rows('select status from node'), [{ status: 'unhealthy' }]);
  t.is((await fixture.eventsOf(node)).length, 3, 'enrolled, and both changes');
});

test('a move takes the recovery key and the aliases along, counts both clusters, and respects the limit of the target', async (t) => {
  const fixture = await openFixture(t);
  const [from, to, full] = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster({ nodeLimit: 1 })];
  const { cluster } = from;
  const node = await fixture.node(from);
  await fixture.node(full);
  await fixture.store(from, { kind: 'recovery-key-set', node, cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS });
  await fixture.store(from, { kind: 'alias-created', id: v7(), node, cluster, name: 'press', atMs: NOW_MS });
  const moved = (target: ClusterId): Write => ({
    kind: 'node-moved',
    node,
    from: cluster,
    to: target,
    atMs: NOW_MS,
  });

  t.deepEqual(await fixture.commit(from, [moved(full.cluster)]), ['conflict']);
  t.is((await fixture.rows('select 1 from recovery_key')).length, 1, 'a refused move keeps the recovery key');
  t.deepEqual(await fixture.commit(from, [moved(to.cluster)]), ['ok']);

  const counts = await fixture.rows<{ id: string; node_count: number }>('select id, node_count from cluster');
  t.deepEqual(
    [from, to, full].map((lease) => counts.find((row) => row.id === lease.cluster)?.node_count),
    [0, 1, 1],
  );
  t.deepEqual(await fixture.rows('select cluster_id from alias'), [{ cluster_id: to.cluster }]);
  t.deepEqual(await fixture.rows('select 1 from recovery_key'), []);
});
