/** What other admins are told of, in the transaction that stores it. */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { ADMIN_CHANNEL, readAdminMessage } from '../../../../persistence/admins/admin-messages.ts';
import {
  ownChannel,
  readWakeUp,
  WOKEN_COMMANDS_MAX,
  WOKEN_ENDS_MAX,
} from '../../../../persistence/admins/own-channel.ts';
import type { CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { commandRecord, NOW_MS } from '../../../support/actors.ts';
import { change, openFixture, type ClusterLease, type Fixture } from '../../../support/database/committer-fixture.ts';
import { sweepsOf } from '../../../support/database/sweeps.ts';
import { until } from '../../../support/until.ts';

/** PostgreSQL notifies of less than this. */
const PAYLOAD_BYTES = 8_000;

/** Two admins: the fixture's own, and one that owns a cluster with a node. What they are told is in `heard`. */
async function open(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const other = v7();
  const mine = await fixture.cluster();
  const theirs = await fixture.cluster();
  const [here, there] = [await fixture.node(mine), await fixture.node(theirs)];
  await give(fixture, theirs, other);
  const heard: string[] = [];
  const client = new Client(fixture.connection);
  await client.connect();
  t.teardown(() => client.end());
  client.on('notification', ({ channel, payload }) => {
    const who = channel === ownChannel(other) ? 'other' : channel === ownChannel(fixture.adminId) ? 'me' : 'all';
    heard.push(`${who} ${payload}`);
  });
  for (const channel of [ownChannel(other), ownChannel(fixture.adminId), ADMIN_CHANNEL])
    await client.query(`listen ${channel}`);
  /** What was said until now. */
  const said = async (): Promise<readonly string[]> => {
    const mark = `mark ${v7()}`;
    await fixture.rows('select pg_notify($1, $2)', [ADMIN_CHANNEL, mark]);
    await until('all that was said', () => heard.at(-1) === `all ${mark}`);
    return heard.splice(0).slice(0, -1);
  };
  return { fixture, other, mine, theirs, here, there, said };
}

async function give(fixture: Fixture, { cluster }: ClusterLease, admin: string): Promise<void> {
  await fixture.rows('update cluster_ownership set admin_id = $2 where cluster_id = $1', [cluster, admin]);
}

/** A command on these nodes, each with the name of the cluster that it is in. */
async function created(fixture: Fixture, ...nodes: readonly NodeId[]) {
  const command = commandRecord({ id: v7() as CommandId });
  const names = await fixture.rows<{ id: NodeId; name: string }>(
    'select n.id, c.name from node n join cluster c on c.id = n.cluster_id',
  );
  const executions = nodes.map((node) => ({
    id: v7() as ExecutionId,
    node,
    clusterName: names.find(({ id }) => id === node)?.name ?? '',
  }));
  return { kind: 'command-created', command, executions } as const;
}

/** So many of them, one after the other: all at once they would wait too long for a connection. */
async function commands(fixture: Fixture, count: number, ...nodes: readonly NodeId[]) {
  const writes: Awaited<ReturnType<typeof created>>[] = [];
  while (writes.length < count) writes.push(await created(fixture, ...nodes));
  return writes;
}

test('the owner of a node is told of a command for it, once a command, and nobody else is', async (t) => {
  const { fixture, theirs, here, there, said } = await open(t);
  const second = await fixture.node(theirs);
  await said();

  const both = await created(fixture, here, there, second);
  await fixture.store(null, both);
  t.deepEqual(await said(), [`other run ${both.command.id}`]);
  await fixture.store(null, await created(fixture, here));

  t.deepEqual(await said(), []);
});

test('a command that is to be cancelled is told to whoever owns its nodes now', async (t) => {
  const { fixture, theirs, mine, here, there, said } = await open(t);
  const stayed = await created(fixture, here);
  const gone = await created(fixture, there);
  await fixture.store(null, stayed);
  await fixture.store(null, gone);
  const moved = { kind: 'node-moved', node: here, from: mine.cluster, to: theirs.cluster, atMs: NOW_MS } as const;
  await fixture.store(mine, moved);
  t.deepEqual((await said()).at(-1), `other node ${here} ${theirs.cluster}`);

  const ids = [stayed.command.id, gone.command.id];
  await fixture.store(null, { kind: 'command-cancel-requested', command: stayed.command.id, atMs: NOW_MS });
  await fixture.store(null, { kind: 'command-cancel-requested', command: gone.command.id, atMs: NOW_MS });

  t.deepEqual(
    await said(),
    ids.map((id) => `other cancel ${id}`),
  );
});

test('of what is refused nobody is told, nor of a node that moves within an admin', async (t) => {
  const { fixture, mine, here, there, said } = await open(t);
  const twice = await created(fixture, there);
  const record = { scope: 's', key: 'k', bodyHash: 'h', answer: {} };
  await fixture.store(null, { ...change(twice), idempotencyRecord: record });
  const third = await fixture.cluster();
  await said();

  const refused = await created(fixture, there);
  t.deepEqual(await fixture.commit(null, [{ ...change(refused), idempotencyRecord: record }]), [
    'idempotency_conflict',
  ]);
  await fixture.store(mine, { kind: 'node-moved', node: here, from: mine.cluster, to: third.cluster, atMs: NOW_MS });

  t.deepEqual(await said(), []);
});

test('very many commands are told in messages that PostgreSQL takes', async (t) => {
  const { fixture, there, said } = await open(t);
  const writes = await commands(fixture, 2 * WOKEN_COMMANDS_MAX + 1, there);

  await fixture.commit(null, writes);

  const messages = (await said()).map((one) => one.slice('other '.length));
  t.is(messages.length, 3);
  t.true(messages.every((one) => one.length < PAYLOAD_BYTES));
  const told = messages.flatMap((one) => {
    const message = readWakeUp(one);
    return message?.type === 'run' ? message.commands : [];
  });
  t.deepEqual(told.toSorted(), writes.map(({ command }) => command.id).toSorted());
});

test('what a sweep ends is told to the owner, and to all for admins of before', async (t) => {
  const { fixture, here, there, said } = await open(t);
  const count = WOKEN_ENDS_MAX + 1;
  const writes = await commands(fixture, count, there, here);
  await fixture.commit(null, writes);
  await fixture.rows('update command_execution set expired_at = clock_timestamp()');
  await said();

  const { executions } = await sweepsOf(fixture.database.pool, { adminId: fixture.adminId }).expireDue();

  t.is(executions.length, 2 * count);
  const told = await said();
  t.true(told.every((one) => one.length < PAYLOAD_BYTES));
  const pairs = told.flatMap((one) => {
    const message = one.startsWith('other ') ? readWakeUp(one.slice('other '.length)) : null;
    return message?.type === 'ended' ? message.ended : [];
  });
  t.deepEqual(
    pairs.map(([, execution]) => execution).toSorted(),
    writes.map(({ executions }) => executions[0]?.id as ExecutionId).toSorted(),
  );
  t.true(pairs.every(([node]) => node === there));
  t.is(told.filter((one) => readAdminMessage(one.slice('all '.length))?.type === 'executions-ended').length, 3);
});

test('an admin that is alone tells nobody of its work', async (t) => {
  const { fixture, mine, theirs, here, there, said } = await open(t);
  fixture.hasPeers = false;
  const command = await created(fixture, here, there);

  await fixture.store(null, command);
  await fixture.store(null, { kind: 'command-cancel-requested', command: command.command.id, atMs: NOW_MS });
  await fixture.store(mine, { kind: 'node-moved', node: here, from: mine.cluster, to: theirs.cluster, atMs: NOW_MS });

  t.deepEqual(await said(), []);
});

test('that a node is deleted is told to all with the transaction that deletes it, and not when it is refused (E5)', async (t) => {
  const { fixture, mine, here, said } = await open(t);
  const deleted = (node: NodeId) => ({
    write: { kind: 'node-deleted', node, atMs: NOW_MS } as const,
    events: [],
    notices: [{ type: 'node-removed', node } as const],
  });
  fixture.hasPeers = false;

  t.deepEqual(await fixture.commit(mine, [deleted(v7() as NodeId)]), ['not_found']);
  t.deepEqual(await said(), []);
  t.deepEqual(await fixture.commit(mine, [deleted(here)]), ['ok']);

  t.deepEqual(await said(), [`all ${JSON.stringify({ type: 'node-revoked', from: fixture.adminId, node: here })}`]);
});
