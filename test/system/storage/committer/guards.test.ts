/** What the group commit takes and what it refuses: each write by the state of its row, and its events with it. */
import test from 'ava';
import { v7 } from 'uuid';
import type { Change } from '../../../../actors/step.ts';
import type { Write } from '../../../../actors/writes.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { commandRecord, NOW_MS, PORTS, WELL } from '../../../support/actors.ts';
import { change, enrolled, enrolment, finish, openFixture } from '../../../support/committer-fixture.ts';

test('changes that wait together are stored in one transaction', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const nodes = [await fixture.node(lease), await fixture.node(lease), await fixture.node(lease)];
  const { executions } = await fixture.executions(nodes);
  const before = fixture.committer.counters.batches;

  await Promise.all(
    executions.map((execution) => fixture.commit(lease, [{ kind: 'execution-sent', execution, atMs: NOW_MS }])),
  );

  t.is(fixture.committer.counters.batches - before, 1);
  const transactions = await fixture.rows('select distinct txid from event where subject = any($1)', [executions]);
  t.is(transactions.length, 1);
});

test('each write of an execution is refused when its row is over, and its event is not stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const writes: ((execution: ExecutionId) => Write)[] = [
    (execution) => ({ kind: 'execution-sent', execution, atMs: NOW_MS }),
    (execution) => finish(execution),
    (execution) =>
      finish(execution, {
        status: 'cancelled',
        sentAtMs: null,
        ending: { exitCode: 143, output: null, parts: 0, truncated: false },
      }),
    (execution) => ({ kind: 'execution-cancel-requested', execution, atMs: NOW_MS }),
  ];
  for (const write of writes) {
    const {
      executions: [execution = '' as ExecutionId],
    } = await fixture.executions([node]);
    t.deepEqual(
      await fixture.commit(lease, [
        finish(execution, { ending: { exitCode: 7, output: 'first', parts: 0, truncated: false } }),
      ]),
      ['ok'],
    );
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
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  const sent: Write = { kind: 'execution-sent', execution, atMs: NOW_MS };

  t.deepEqual([await fixture.commit(lease, [sent]), await fixture.commit(lease, [sent])], [['ok'], ['conflict']]);
});

test('cold writes are refused when their row is gone, with nothing of them stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = v7() as NodeId;
  const other = await fixture.cluster();
  const writes: Write[] = [
    { kind: 'key-updated', id: v7(), name: 'x', atMs: NOW_MS },
    { kind: 'key-deleted', id: v7() },
    {
      kind: 'node-registered',
      node,
      version: '1',
      idType: 'random',
      ports: PORTS,
      selfUpdateEnabled: true,
      atMs: NOW_MS,
    },
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
  const [one, two] = [await fixture.node(lease), await fixture.node(lease)];
  const alias = (node: NodeId): Write => ({
    kind: 'alias-created',
    id: v7(),
    node,
    cluster: lease.cluster,
    name: 'press',
    atMs: NOW_MS,
  });
  await fixture.commit(lease, [alias(one)]);
  const created = (more: object): Write => ({
    kind: 'cluster-created',
    id: v7() as ClusterId,
    name: 'free',
    ipv4Range: '10.8.0.0/24',
    ipv6Range: 'fd08::/64',
    nodeLimit: null,
    atMs: NOW_MS,
    ...more,
  });

  const codes = [];
  for (const write of [
    alias(two),
    created({ name: 'taken' }),
    created({ ipv4Range: '10.9.0.128/25' }),
    created({ ipv6Range: 'fd09::/64' }),
    { kind: 'node-moved', node: one, from: lease.cluster, to: v7() as ClusterId, atMs: NOW_MS } satisfies Write,
  ]) {
    const subject = v7();
    codes.push(
      ...(await fixture.commit('node' in write ? lease : null, [change(write, subject)])),
      ...(await fixture.eventsOf(subject)),
    );
  }

  t.deepEqual(codes, ['conflict', 'conflict', 'conflict', 'conflict', 'conflict']);
});

test('a cluster with nodes can neither be deleted nor limited below them; without, it goes with its keys', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  await fixture.node(lease);

  t.deepEqual(await fixture.commit(lease, [{ kind: 'cluster-deleted', cluster: lease.cluster }]), ['conflict']);
  t.deepEqual(
    await fixture.commit(lease, [{ kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 1, atMs: NOW_MS }]),
    ['conflict'],
  );
  t.deepEqual(
    await fixture.commit(lease, [{ kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 2, atMs: NOW_MS }]),
    ['ok'],
  );
  for (const one of [
    node,
    ...(await fixture.rows<{ id: NodeId }>('select id from node where id <> $1', [node])).map((row) => row.id),
  ])
    await fixture.commit(lease, [{ kind: 'node-deleted', node: one, atMs: NOW_MS }]);
  t.deepEqual(await fixture.commit(lease, [{ kind: 'cluster-deleted', cluster: lease.cluster }]), ['ok']);
  t.deepEqual(await fixture.rows('select 1 from enrollment_key union all select 1 from cluster_ownership'), []);
});

test('deleting a node drops its open executions, leaves the finished as they are, and says which', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const {
    executions: [pending = '' as ExecutionId],
  } = await fixture.executions([node]);
  const {
    executions: [sent = '' as ExecutionId],
  } = await fixture.executions([node]);
  const {
    executions: [done = '' as ExecutionId],
  } = await fixture.executions([node]);
  await fixture.commit(lease, [{ kind: 'execution-sent', execution: sent, atMs: NOW_MS }, finish(done)]);

  await fixture.commit(lease, [{ kind: 'node-deleted', node, atMs: NOW_MS }]);

  t.deepEqual(
    await Promise.all([pending, sent, done].map(async (execution) => (await fixture.row(execution))['status'])),
    ['dropped', 'dropped', 'completed'],
  );
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
  await fixture.commit(lease, [finish(execution)]);
  t.deepEqual(await fixture.commit(null, [{ kind: 'command-deleted', command }]), ['ok']);
  t.deepEqual(await fixture.rows('select id from command_execution'), []);
});

test('cancelling a command marks its open executions and no other', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    command,
    executions: [a = '' as ExecutionId, b = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease), await fixture.node(lease)]);
  await fixture.commit(lease, [finish(a)]);

  t.deepEqual(await fixture.commit(null, [{ kind: 'command-cancel-requested', command, atMs: NOW_MS }]), ['ok']);

  t.deepEqual([(await fixture.row(a))['cancelling'], (await fixture.row(b))['cancelling']], [false, true]);
});

test('an execution that is sent and finished in one batch is stored once, with both events; over already, neither is', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  const both: Write[] = [
    { kind: 'execution-sent', execution, atMs: NOW_MS - 5 },
    finish(execution, { sentAtMs: NOW_MS - 5 }),
  ];

  t.deepEqual(await fixture.commit(lease, both), ['ok', 'ok']);
  t.like(await fixture.row(execution), {
    status: 'completed',
    exit_code: 0,
    sent: true,
    completed: true,
    output: 'done\n',
  });
  t.is((await fixture.eventsOf(execution)).length, 2);

  t.deepEqual(await fixture.commit(lease, both), ['conflict', 'conflict']);
  t.is((await fixture.eventsOf(execution)).length, 2);
});

test('output that came in parts is joined exactly, in order, each part once, and the parts are gone', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  const texts = Array.from({ length: 12 }, (_, index) => `${index}:${'é😀\\"\n{}'.repeat(500)}`);
  const parts = texts.map((text, part): Write => ({ kind: 'output-part', execution, part, text }));

  await fixture.commit(lease, parts.slice(0, 7));
  await fixture.commit(lease, parts.slice(5).toReversed()); // a reconnected agent repeats some
  t.deepEqual(
    await fixture.commit(lease, [
      finish(execution, { ending: { exitCode: 0, output: '', parts: 12, truncated: true } }),
    ]),
    ['ok'],
  );

  t.like(await fixture.row(execution), { output: texts.join(''), output_truncated: true });
  t.deepEqual(await fixture.rows('select 1 from execution_output_part'), []);
});

test('output that the text type would trip over is stored: NUL, quotes, backslashes, braces, half a character, the word NULL', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const outputs = [
    'a\0b',
    '\0',
    '"',
    '\\',
    '{}',
    '{"a",b}',
    'NULL',
    '',
    ' ',
    ',',
    '\ud83d',
    "'; drop table node; --",
    '\r\n\t\u2028',
  ];
  for (const output of outputs) {
    const {
      executions: [execution = '' as ExecutionId],
    } = await fixture.executions([await fixture.node(lease)]);
    t.deepEqual(
      await fixture.commit(lease, [finish(execution, { ending: { exitCode: 0, output, parts: 0, truncated: false } })]),
      ['ok'],
    );
    t.is(
      (await fixture.row(execution))['output'],
      output.replaceAll('\0', '\uFFFD').toWellFormed(),
      JSON.stringify(output),
    );
  }
});

test('a change that no database can take fails alone; those that waited with it are stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const nodes = [await fixture.node(lease), await fixture.node(lease), await fixture.node(lease)];
  const {
    executions: [a = '' as ExecutionId, b = '' as ExecutionId, c = '' as ExecutionId],
  } = await fixture.executions(nodes);
  const impossible = finish(b, { ending: { exitCode: 2 ** 40, output: '', parts: 0, truncated: false } });

  const outcomes = await Promise.allSettled([
    fixture.commit(lease, [finish(a)]),
    fixture.commit(lease, [impossible]),
    fixture.commit(lease, [finish(c)]),
  ]);

  t.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.deepEqual(await Promise.all([a, b, c].map(async (execution) => (await fixture.row(execution))['status'])), [
    'completed',
    'pending',
    'completed',
  ]);
});

test('the edges that the trigger refuses fail alone, too', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  await fixture.commit(lease, [finish(execution)]);

  for (const status of ['pending', 'sent', 'cancelled', 'expired', 'dropped']) {
    await t.throwsAsync(
      fixture.rows(
        'update command_execution set status = $2, exit_code = null, completed_at = null, finished_at = null where id = $1',
        [execution, status],
      ),
      { message: /cannot go from completed to/u },
    );
  }
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
    ...change({
      kind: 'cluster-created',
      id: v7() as ClusterId,
      name: `n${number}`,
      ipv4Range: `10.0.${number}.0/24`,
      ipv6Range: `fd00:${number}::/64`,
      nodeLimit: null,
      atMs: NOW_MS,
    }),
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

test('a status change and a report of presence at once do not block each other', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);

  t.deepEqual(
    await fixture.commit(lease, [
      { kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS },
      { kind: 'node-status', node, status: 'unhealthy', standing: WELL, atMs: NOW_MS + 1 },
    ]),
    ['ok', 'ok'],
  );

  t.deepEqual(await fixture.rows('select status from node'), [{ status: 'unhealthy' }]);
  t.is((await fixture.eventsOf(node)).length, 3, 'enrolled, and both changes');
});

test('a move takes the recovery key and the aliases along, counts both clusters, and respects the limit of the target', async (t) => {
  const fixture = await openFixture(t);
  const [from, to, full] = [await fixture.cluster(), await fixture.cluster(), await fixture.cluster({ nodeLimit: 1 })];
  const node = await fixture.node(from);
  await fixture.node(full);
  await fixture.commit(from, [
    { kind: 'recovery-key-set', node, cluster: from.cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS },
  ]);
  await fixture.commit(from, [
    { kind: 'alias-created', id: v7(), node, cluster: from.cluster, name: 'press', atMs: NOW_MS },
  ]);

  t.deepEqual(
    await fixture.commit(from, [{ kind: 'node-moved', node, from: from.cluster, to: full.cluster, atMs: NOW_MS }]),
    ['conflict'],
  );
  t.is((await fixture.rows('select 1 from recovery_key')).length, 1, 'a refused move keeps the recovery key');
  t.deepEqual(
    await fixture.commit(from, [{ kind: 'node-moved', node, from: from.cluster, to: to.cluster, atMs: NOW_MS }]),
    ['ok'],
  );

  const counts = await fixture.rows<{ id: string; node_count: number }>('select id, node_count from cluster');
  t.deepEqual(
    [from, to, full].map((lease) => counts.find((row) => row.id === lease.cluster)?.node_count),
    [0, 1, 1],
  );
  t.deepEqual(await fixture.rows('select cluster_id from alias'), [{ cluster_id: to.cluster }]);
  t.deepEqual(await fixture.rows('select 1 from recovery_key'), []);
});

test('an enrolment brings its aliases; one that is taken refuses it whole', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const key = await fixture.key(lease.cluster, 5);
  const withAlias = () => enrolled(enrolment(lease.cluster, key, { aliases: [{ id: v7(), name: 'press' }] }));

  t.deepEqual(
    [...(await fixture.commit(lease, [withAlias()])), ...(await fixture.commit(lease, [withAlias()]))],
    ['ok', 'conflict'],
  );

  t.deepEqual(
    await fixture.rows(
      'select uses_remaining, (select count(*)::int from node) as nodes, (select node_count from cluster) as counted from enrollment_key',
    ),
    [{ uses_remaining: 4, nodes: 1, counted: 1 }],
  );
});
