/** Who owns which cluster: two trees on one database. */
import test from 'ava';
import type { NodeState } from '../../../actors/node/state.ts';
import { LEASE_MS } from '../../../persistence/ownership/leases.ts';
import { markOwnerless } from '../../../persistence/sweeps/ownerless.ts';
import { createLeaseClock } from '../../../transport/net/clock.ts';
import { session } from '../../support/actors.ts';
import { scaled } from '../../support/busy.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { column } from '../../support/database/columns.ts';
import { until } from '../../support/until.ts';
import { codeOf, type Placed, type SupervisorsFixture } from './actors-fixture.ts';
import { startSupervisors } from './fixture.ts';
import { createFreezableClock } from './frozen.ts';

/** With capacity, every cluster has an owner within this of a kill, in ms. Source: docs/promises.md, O2. */
const OWNERLESS_MS_MAX = 5_000;

const frameTypes = ({ sessions }: SupervisorsFixture) => sessions.frames.map(({ frame }) => frame.type);

test('a frozen owner is replaced within 5 s; when it wakes it writes no row, delivers nothing and lets go (O1, O2)', async (t) => {
  const clock = createFreezableClock();
  const paused = await startSupervisors(t, { clock });
  const placed = await paused.createLiveNode();
  const { node, cluster } = placed;
  const execution = await paused.execution(placed);
  await paused.sent('deliver');
  const other = await startSupervisors(t, { connection: paused.connection });
  t.false(other.tree.held.holds(cluster));

  clock.freeze();
  const frozenMs = performance.now();
  await until('the other owns it', () => other.tree.held.holds(cluster));
  t.true(performance.now() - frozenMs < scaled(OWNERLESS_MS_MAX), `${performance.now() - frozenMs} ms`);
  await until('its node lives there', () => other.tree.directory.count('node') === 1);

  // The old owner is awake again, and does not know yet.
  const before = await paused.rows('select * from command_execution order by id');
  const framesBefore = paused.sessions.frames.length;
  const second = await paused.execution(placed);
  const refused = await paused.ask('node', node, {
    type: 'set-recovery-key',
    keyHash: Buffer.alloc(32),
    key: 'k',
    idempotency: null,
  });
  paused.finish(node, 1, execution);
  t.is(codeOf(refused), 'service_unavailable');
  t.deepEqual(await paused.rows('select * from command_execution where id <> $1 order by id', [second]), before);
  t.deepEqual(await paused.rows('select 1 from recovery_key'), []);

  clock.thaw();
  await until('it lets go', () => paused.tree.directory.count('node') === 0);
  t.false(paused.tree.held.holds(cluster));
  t.deepEqual(paused.sessions.frames.slice(framesBefore), []);
  // and what its session said meanwhile, which nobody hears here, is answered in the same way
  t.deepEqual(new Set(column(paused.sessions.hungUp, 'code')), new Set([4010]));
  t.deepEqual(paused.sessions.hungUp[0], { session: null, node, code: 4010 });

  // The agent is with the new owner now, and nothing is lost.
  other.connect(node, 7, [execution]);
  other.finish(node, 7, execution);
  await until(
    'the result is stored',
    async () => (await other.statusOf('command_execution', execution)) === 'completed',
  );
});

test('an owner suspended beyond its lease delivers nothing on waking, and knows nothing of what others own (O1, O2)', async (t) => {
  const clock = createFreezableClock();
  let suspendedMs = 0;
  const leaseClockMs = createLeaseClock({
    monotonicMs: () => performance.now() - suspendedMs,
    bootMs: () => performance.now(),
    wallMs: () => Date.now(),
  });
  const suspended = await startSupervisors(t, { clock, leaseClockMs });
  const placed = await suspended.createLiveNode();
  const { node, cluster } = placed;
  const other = await startSupervisors(t, { connection: suspended.connection });

  clock.freeze();
  const frozenMs = performance.now();
  await until('the other owns it', () => other.tree.held.holds(cluster));
  await other.run([placed]);
  suspendedMs = performance.now() - frozenMs;
  suspended.tell('node', node, { type: 'rescan' });
  await until('it wants to deliver what it read', () =>
    [...suspended.tree.directory.cells('node')].some(({ state }) => (state as NodeState).session?.delivered.size === 1),
  );

  t.deepEqual([suspended.tree.held.holds(cluster), suspended.tree.held.isFresh(cluster)], [true, false]);
  t.deepEqual(frameTypes(suspended), ['welcome']);
  clock.thaw();
  await until('it lets go', () => !suspended.tree.held.holds(cluster));
  t.deepEqual(frameTypes(suspended), ['welcome']);
});

test('an execution that expires while its cluster is taken over is ended by the new owner (C7)', async (t) => {
  const clock = createFreezableClock();
  const former = await startSupervisors(t, { clock });
  const placed = await former.createLiveNode();
  const { node } = placed;
  const execution = await former.execution(placed);
  former.tell('node', node, {
    type: 'executions-acknowledged',
    session: session(1),
    executions: [execution],
    atMs: Date.now(),
  });
  await until('it is sent', async () => (await former.statusOf('command_execution', execution)) === 'sent');
  await former.rows('update command_execution set expired_at = clock_timestamp()');

  clock.freeze();
  const next = await startSupervisors(t, {
    connection: former.connection,
    loader: (real) => ({
      ...real,
      nodes: async function* (clusters) {
        for await (const states of real.nodes(clusters)) {
          if (states.length > 0) await sweepsOf(former.database.pool).expireDue();
          yield states;
        }
      },
    }),
  });
  await until('its node lives there', () => next.tree.directory.count('node') === 1);
  next.connect(node, 7, [execution]);

  t.deepEqual((await next.sent('settle')).executions, [execution]);
});

test('a cluster that is deleted is let go without a word, one that another took over is told of', async (t) => {
  const fixture = await startSupervisors(t);
  const [deleted, taken] = [await fixture.createCluster(), await fixture.createCluster()];

  await fixture.must('cluster', deleted, { type: 'delete' });
  await fixture.rows(
    `update cluster_ownership set admin_id = gen_random_uuid(), epoch = epoch + 1, lease_until = clock_timestamp() + interval '1 hour' where cluster_id = $1`,
    [taken],
  );
  await until('both are let go', () => !fixture.tree.held.holds(deleted) && !fixture.tree.held.holds(taken));

  t.deepEqual(
    fixture.log.lines
      .filter(({ level }) => level === 'warn')
      .map(({ message, fields }) => [message, (fields as { cluster?: string }).cluster]),
    [['a cluster is not owned by this admin any more', taken]],
  );
});

test('a cluster counts as held since this admin got it; one that stood still, by any clock, starts counting anew', async (t) => {
  const clock = createFreezableClock();
  let leasesMs = 0;
  const fixture = await startSupervisors(t, { clock, leaseClockMs: () => leasesMs });
  const { ownership } = fixture.tree;
  const roundAt = async (ms: number) => {
    leasesMs = ms;
    await until('a round', () => ownership.quietMs() === 0);
  };
  const first = await fixture.createCluster();
  await roundAt(2_000);
  const second = await fixture.createCluster();
  await roundAt(4_000);
  const awake = [ownership.watchedMs(), ownership.heldFor(4_001), ownership.heldFor(4_000), ownership.heldFor(2_000)];

  clock.freeze();
  leasesMs += 60_000;
  const stillUnaware = [ownership.watchedMs(), ownership.heldFor(1)];
  clock.thaw();
  await roundAt(leasesMs);
  const back = [ownership.watchedMs(), ownership.heldFor(1)];
  leasesMs += 1_500;

  t.deepEqual(awake, [4_000, [], [first], [first, second]]);
  t.deepEqual([stillUnaware, back, ownership.watchedMs()], [[0, []], [0, []], 1_500]);
});

test('an owner that was away too long reads its nodes anew: one whose agent is there is healthy again, by one event', async (t) => {
  const clock = createFreezableClock();
  const owner = await startSupervisors(t, { clock });
  const { node, cluster } = await owner.createLiveNode();
  const healthy = () => until('healthy', async () => (await owner.statusOf('node', node)) === 'healthy');
  await healthy();

  await clock.still();
  await owner.rows(
    `update cluster_ownership set lease_until = clock_timestamp() - interval '1 minute' where cluster_id = $1`,
    [cluster],
  );
  const marked = await markOwnerless(owner.database.pool, { unreachableAfterMs: 30_000, watchedMs: 30_000 }, 10);
  t.deepEqual([marked, await owner.statusOf('node', node)], [[node], 'unreachable']);
  clock.thaw();
  await until('it is hung up', () => owner.sessions.hungUp.length > 0);
  await until('it lives again', () => owner.tree.held.holds(cluster) && owner.tree.directory.count('node') === 1);
  owner.connect(node, 2);
  await healthy();

  t.deepEqual((await owner.eventsOf(node)).filter((type) => type === 'edge.node.status_changed').length, 3);
});

test('a drain gives the clusters back, and does not leave them to the end of their leases', async (t) => {
  const clock = createFreezableClock();
  const leaving = await startSupervisors(t, { clock });
  const [placed] = await leaving.createNodes(2);
  const staying = await startSupervisors(t, { connection: leaving.connection });
  await clock.still();
  await leaving.rows(`update cluster_ownership set lease_until = clock_timestamp() + interval '1 hour'`);

  await leaving.stop();
  await until('the other owns it', () => staying.tree.held.holds(placed?.cluster as never));

  await until('its nodes live there', () => staying.tree.directory.count('node') === 2);
  t.pass();
});

test('a cluster is kept, and its nodes are served, for as long as it takes to bring it to life', async (t) => {
  const former = await startSupervisors(t);
  const [{ node, cluster }, other] = (await former.createNodes(2)) as [Placed, Placed];
  const readable = Promise.withResolvers<void>();
  const next = await startSupervisors(t, {
    connection: former.connection,
    loader: (real) => ({
      ...real,
      nodes: async function* (clusters, isHere) {
        await readable.promise;
        yield* real.nodes(clusters, isHere);
      },
    }),
  });
  const { directory, held, ownership } = next.tree;
  const leases = () =>
    next.rows<{ epoch: string; until: string }>(
      'select epoch, extract(epoch from lease_until) as until from cluster_ownership',
    );
  await former.stop();
  await until('it is held', () => held.holds(cluster));
  const [first] = await leases();

  const key = { type: 'set-recovery-key', keyHash: Buffer.alloc(32), key: 'k', idempotency: null } as const;
  t.true((await next.ask('node', node, key)).ok);
  const cell = directory.find({ kind: 'node', id: node });
  const kept = await until('it is renewed for longer than a lease lasts', async () => {
    const [lease] = await leases();
    return Number(lease?.until) > Number(first?.until) + LEASE_MS / 1_000 && lease;
  });
  t.deepEqual([kept.epoch, held.isFresh(cluster), ownership.isActivated()], [first?.epoch, true, false]);
  readable.resolve();
  await until('all live', () => ownership.isActivated());

  t.deepEqual([directory.count('node'), directory.find({ kind: 'node', id: node }) === cell], [2, true]);
  t.true((await next.ask('node', other.node, key)).ok);
});

test('an admin knows of others as long as these live', async (t) => {
  const first = await startSupervisors(t);
  const knows = ({ tree }: SupervisorsFixture) => tree.ownership.hasPeers();
  t.false(knows(first));

  const second = await startSupervisors(t, { connection: first.connection });
  await until('both know', () => knows(first) && knows(second));
  await second.stop();
  await until('the first is alone again', () => !knows(first));

  t.pass();
});

test('a second process of the same name takes over, and the first lets go', async (t) => {
  const first = await startSupervisors(t, { name: 'twin' });
  const { cluster } = await first.createNode();
  const second = await startSupervisors(t, { name: 'twin', connection: first.connection });

  t.is(second.adminId, first.adminId);
  await until('the first lets go', () => !first.tree.held.holds(cluster) && first.tree.directory.count('node') === 0);

  t.true(second.tree.held.isFresh(cluster));
});

test('a lease that ran out with the database away, and was taken by nobody, loses no result', async (t) => {
  const fixture = await startSupervisors(t);
  const placed = await fixture.createLiveNode();
  const execution = await fixture.execution(placed);
  await fixture.sent('deliver');
  await fixture.rows("update cluster_ownership set lease_until = clock_timestamp() - interval '1 ms'");

  fixture.finish(placed.node, 1, execution);
  await fixture.sent('confirm');

  t.is(await fixture.statusOf('command_execution', execution), 'completed');
  t.is(fixture.tree.directory.counters.crashes, 0);
});

test('a cluster is owned by its creator from the first instant', async (t) => {
  const fixture = await startSupervisors(t);
  const cluster = await fixture.createCluster();

  await fixture.must('cluster', cluster, { type: 'limit', nodeLimit: 3 });

  t.true(fixture.tree.held.isFresh(cluster));
});
