/**
 * What becomes of an actor whose commit was in doubt: whether it was stored is what its rows say, and goes for all.
 *
 * Promises: C3, E5.
 */
import test from 'ava';
import { v7 } from 'uuid';
import { session, UNHEALTHY } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { codeOf } from './actors-fixture.ts';
import { FaultyCommitter } from './faults.ts';
import { startOwner } from './fixture.ts';

const DOWN = { type: 'agent-reported', session: session(1), report: UNHEALTHY } as const;
const EVENTS = ['created', 'sent', 'completed'].map((what) => `edge.command_execution.${what}`);

for (const fate of ['stored', 'not stored'] as const) {
  test(`a create without an answer of the database that was ${fate} is answered with unavailable, and is all or nothing`, async (t) => {
    const committer = new FaultyCommitter();
    const fixture = await startOwner(t, { committer: committer.over });
    const placed = await fixture.createNode();

    committer.loseNext(fate);
    await t.throwsAsync(fixture.tryToRun([placed]), { message: /service_unavailable/u });

    t.is((await fixture.rows('select 1 from command_execution')).length, fate === 'stored' ? 1 : 0);
    fixture.connect(placed.node, 1);
    if (fate === 'stored') await fixture.sent('deliver');
  });

  test(`a result whose commit is in doubt, and was ${fate}, is stored once and confirmed`, async (t) => {
    const committer = new FaultyCommitter();
    const fixture = await startOwner(t, { committer: committer.over });
    const placed = await fixture.createLiveNode();
    const execution = await fixture.execution(placed);

    committer.loseNext(fate);
    fixture.finish(placed.node, 1, execution);
    await fixture.sent('confirm');

    t.deepEqual(await fixture.eventsOf(execution), EVENTS);
    t.is(fixture.tree.directory.counters.crashes, 0);
    t.deepEqual(fixture.sessions.hungUp, [], 'its session stays');
  });
}

test('a node whose deletion is in doubt, and was stored, has its session hung up (E5)', async (t) => {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const { node } = await fixture.createLiveNode();

  committer.loseNext('stored');
  const asked = await fixture.ask('node', node, { type: 'delete' });
  await until('it is gone', () => fixture.tree.directory.count('node') === 0);

  t.is(codeOf(asked), 'service_unavailable');
  t.deepEqual(fixture.sessions.hungUp, [{ session: null, node, code: 4000 }]);
});

test('a node whose move is in doubt, and was stored, starts again under its new cluster, and its agent comes back to it', async (t) => {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const { node } = await fixture.createLiveNode();
  const to = await fixture.createCluster('to');

  committer.loseNext('stored', 'node-moved');
  const asked = await fixture.ask('node', node, { type: 'change-cluster', to, toName: 'to' });
  await until('its session is hung up', () => fixture.sessions.hungUp.length > 0);
  fixture.connect(node, 2);
  const welcome = await fixture.sent('welcome', 2);

  t.is(codeOf(asked), 'service_unavailable');
  t.deepEqual(fixture.sessions.hungUp, [{ session: null, node, code: 4010 }]);
  t.is(welcome.cluster_name, 'to');
  fixture.finish(node, 2, await fixture.execution({ node, cluster: to }));
  await fixture.sent('confirm', 2);
});

test('a session that goes on for a node that is gone is hung up at the next that is said in it (E5)', async (t) => {
  const fixture = await startOwner(t);

  fixture.tell('node', v7(), { ...DOWN, session: session(7) });
  await until('it is hung up', () => fixture.sessions.hungUp.length === 1);

  t.deepEqual(fixture.sessions.hungUp, [{ session: session(7), node: null, code: 4000 }]);
});

test('a create that comes through after everyone gave it up reaches its node all the same', async (t) => {
  const released = Promise.withResolvers<void>();
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const placed = await fixture.createLiveNode();

  committer.loseNext(released.promise);
  await t.throwsAsync(fixture.tryToRun([placed]), { message: /service_unavailable/u });
  await until('the command is given up', () => fixture.tree.directory.count('command') === 0);
  released.resolve();
  await fixture.sent('deliver');

  t.is((await fixture.rows('select 1 from command_execution')).length, 1);
});
