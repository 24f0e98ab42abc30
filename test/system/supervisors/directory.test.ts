/** What the tree does with messages, actors and a database that fails. */
import test from 'ava';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { v7 } from 'uuid';
import { MAILBOX_MESSAGES_MAX } from '../../../actors/limits.ts';
import { CRASHES_MAX } from '../../../supervisors/runtime/revival.ts';
import { session, UNHEALTHY } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { codeOf } from './actors-fixture.ts';
import { FaultyCommitter, withBugs } from './faults.ts';
import { startOwner } from './fixture.ts';

const DOWN = { type: 'agent-reported', session: session(1), report: UNHEALTHY } as const;
const KEY = { type: 'set-recovery-key', keyHash: Buffer.alloc(32), key: 'a secret', idempotency: null } as const;

test('who is asked and does not exist answers not_found, and is a dead letter', async (t) => {
  const fixture = await startOwner(t);

  const answers = await Promise.all([
    fixture.ask('node', v7(), { type: 'delete' }),
    fixture.ask('cluster', v7(), { type: 'delete' }),
    fixture.ask('command', v7(), { type: 'cancel' }),
  ]);

  t.deepEqual(answers.map(codeOf), ['not_found', 'not_found', 'not_found']);
  t.is(fixture.tree.directory.counters.deadLetters, 3);
  t.deepEqual(
    (['node', 'cluster', 'command'] as const).map((kind) => fixture.tree.directory.count(kind)),
    [0, 0, 0],
  );
});

test('an agent whose node was deleted behind the gate is hung up as revoked (E5)', async (t) => {
  const fixture = await startOwner(t);

  fixture.connect(v7() as never, 5);
  await until('it is hung up', () => fixture.sessions.hungUp.length === 1);

  t.deepEqual(fixture.sessions.hungUp, [{ session: session(5), node: null, code: 4003 }]);
});

test('what is refused at its birth leaves nobody behind', async (t) => {
  const fixture = await startOwner(t);
  await fixture.createCluster('taken');

  await t.throwsAsync(fixture.createCluster('taken'), { message: /conflict/u });
  await until('it is gone', () => fixture.tree.directory.count('cluster') === 1);
  t.pass();
});

test('a cluster that was created here is known to live under its lease, for whoever looks for those who ask it', async (t) => {
  const fixture = await startOwner(t);

  const cluster = await fixture.createCluster();

  t.deepEqual(
    [...fixture.tree.directory.cells('cluster')].map((cell) => cell.cluster),
    [cluster],
  );
});

test('a command lives until its last execution is over', async (t) => {
  const fixture = await startOwner(t);
  const nodes = await fixture.createNodes(2);
  for (const [index, { node }] of nodes.entries()) fixture.connect(node, index + 1);
  const { command, executions } = await fixture.run(nodes);
  t.is(fixture.tree.directory.count('command'), 1);

  for (const [index, { node }] of nodes.entries()) fixture.finish(node, index + 1, executions[index] as never);
  await until('it is gone', () => fixture.tree.directory.count('command') === 0);

  t.deepEqual(await fixture.ask('command', command, { type: 'delete' }), { ok: true, value: null });
  await until('it is gone again', () => fixture.tree.directory.count('command') === 0);
});

test('a command that rests is cancelled, counted and deleted as before, also by who asks as it goes to rest', async (t) => {
  const fixture = await startOwner(t);
  const nodes = await fixture.createNodes(2);
  const [first, second] = nodes;
  if (first === undefined || second === undefined) throw new Error('no nodes');
  const { command, executions } = await fixture.run(nodes);
  const { directory } = fixture.tree;
  const rest = () => fixture.tell('command', command, { type: 'rest' });
  rest();
  await until('it rests', () => directory.count('command') === 0);

  fixture.connect(first.node, 1);
  fixture.finish(first.node, 1, executions[0] as never);
  await until('its result is stored', async () => {
    return (await fixture.statusOf('command_execution', executions[0] as never)) === 'completed';
  });
  t.is(directory.count('command'), 0);

  const cancelled = await fixture.ask('command', command, { type: 'cancel' });
  t.like(cancelled, { ok: true, value: { total: 2, pending: 1, completed: 1 } });
  rest();
  const again = await fixture.ask('command', command, { type: 'cancel' });
  t.like(again, { ok: true, value: { total: 2, completed: 1 } });
  await until('all is over, and it is gone', () => directory.count('command') === 0);

  t.is(await fixture.statusOf('command_execution', executions[1] as never), 'cancelled');
  t.deepEqual(await fixture.ask('command', command, { type: 'delete' }), { ok: true, value: null });
  t.deepEqual([directory.counters.deadLetters, directory.counters.crashes], [0, 0]);
});

test('a message that cannot be stored crashes its actor once, and the messages before it in the batch are stored', async (t) => {
  const fixture = await startOwner(t);
  const placed = await fixture.createLiveNode();
  const { node } = placed;
  const before = await fixture.execution(placed);
  const poison = await fixture.execution(placed);
  const after = await fixture.execution(placed);

  fixture.finish(node, 1, before);
  fixture.finish(node, 1, poison, { exit_code: 2 ** 40 });
  fixture.finish(node, 1, after);
  await until('it crashed', () => fixture.tree.directory.counters.crashes === 1);
  t.is(await fixture.statusOf('command_execution', before), 'completed');

  fixture.connect(node, 2, [poison, after]);
  fixture.finish(node, 2, after);
  await until('the rest is stored', async () => (await fixture.statusOf('command_execution', after)) === 'completed');
  t.is(fixture.tree.directory.counters.crashes, 1);
  t.is(await fixture.statusOf('command_execution', poison), 'sent');
});

test(`a mailbox takes ${MAILBOX_MESSAGES_MAX} messages and refuses more at once, and other actors go on`, async (t) => {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const other = await fixture.createNode();
  const { node } = await fixture.createLiveNode();
  committer.hold();
  fixture.tell('node', node, DOWN);
  await nextTurn(); // it is storing now, and goes on only when it is released

  const taken = Array.from({ length: MAILBOX_MESSAGES_MAX + 10 }, () => fixture.tell('node', node, DOWN));
  const asked = fixture.ask('node', node, { type: 'delete-alias', id: v7() });
  const waiting = fixture.tree.waiting();
  const served = await fixture.ask('node', other.node, { type: 'delete-alias', id: v7() });

  t.is(taken.filter(Boolean).length, MAILBOX_MESSAGES_MAX);
  t.deepEqual([waiting, codeOf(await asked), codeOf(served)], [0, 'service_unavailable', 'not_found']);
  committer.release();
});

test('a node whose mailbox was full when its rows came goes on: its next command is delivered', async (t) => {
  const [loaded, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const refused = Promise.withResolvers<number>();
  let isFilled = false;
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, {
    committer: committer.over,
    loader: (real) => ({
      ...real,
      openExecutions: async (...question) => {
        asked.resolve();
        await loaded.promise;
        const rows = await real.openExecutions(...question);
        if (!isFilled) fill(); // some may have been decided since it was full
        isFilled = true;
        refused.resolve(directory.counters.deadLetters);
        return rows;
      },
    }),
  });
  const placed = await fixture.createLiveNode();
  const { directory } = fixture.tree;
  const fill = (): void => {
    for (let count = 0; count < MAILBOX_MESSAGES_MAX; count += 1) fixture.tell('node', placed.node, DOWN);
  };

  fixture.tell('node', placed.node, { type: 'rescan' });
  await asked.promise;
  committer.hold();
  await until('it stays full: what is decided behind what is being stored leaves it once more', async () => {
    fill();
    await delay(50);
    return !fixture.tell('node', placed.node, DOWN);
  });
  loaded.resolve();
  const before = await refused.promise;
  await until('the rows found no room', () => directory.counters.deadLetters > before);
  committer.release();
  await until('it is empty', () => [...directory.cells('node')].every((one) => one.mailbox.size() === 0));
  await fixture.run([placed]);
  await fixture.sent('deliver');

  t.is(directory.counters.crashes, 0);
});

test(`an actor that crashes ${CRASHES_MAX} times in a minute rests for one, and who asks it meanwhile is refused at once`, async (t) => {
  const fixture = await startOwner(t, { kinds: withBugs((kind) => kind === 'node') });
  const { node } = await fixture.createNode();
  for (let crash = 0; crash < CRASHES_MAX; crash += 1) fixture.tell('node', node, { type: 'rescan' });
  await until('it rests', () => fixture.tree.directory.counters.escalations === 1);

  const asked = fixture.ask('node', node, { type: 'delete-alias', id: v7() });

  t.is(fixture.tree.waiting(), 0);
  t.is(codeOf(await asked), 'service_unavailable');
});

test('messages, their secrets above all, are never logged', async (t) => {
  const fixture = await startOwner(t, { kinds: withBugs((kind) => kind === 'node') });
  const { node } = await fixture.createNode();

  await fixture.ask('node', node, { ...KEY, key: 'canary-of-this-test' });
  await fixture.ask('node', v7(), { ...KEY, key: 'canary-of-this-test' });

  t.true(fixture.log.lines.some((line) => line.message === 'an actor crashed'));
  t.false(
    JSON.stringify(fixture.log.lines, (_key, value: unknown) =>
      value instanceof Error ? `${value.stack}` : value,
    ).includes('canary'),
  );
});

test('an enrolled node lives at once, and takes its agent', async (t) => {
  const fixture = await startOwner(t);

  await fixture.createLiveNode(3);

  t.deepEqual(await fixture.rows('select status from node'), [{ status: 'healthy' }]);
});
