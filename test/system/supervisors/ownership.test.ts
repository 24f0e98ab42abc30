/** Who owns which cluster: two trees on one database. */
import test from 'ava';
import * as fc from 'fast-check';
import { LEASE_MS } from '../../../persistence/leases.ts';
import { markOwnerless } from '../../../persistence/sweeps/ownerless.ts';
import { assign } from '../../../supervisors/ownership/assignment.ts';
import { createHeldLeases } from '../../../supervisors/ownership/held.ts';
import type { NodeState } from '../../../actors/node/state.ts';
import { createLeaseClock } from '../../../transport/net/clock.ts';
import type { SessionId } from '../../../transport/protocol/ids.ts';
import { CLUSTER, OTHER_CLUSTER, result, session } from '../../support/actors.ts';
import { until } from '../../support/until.ts';
import { createFreezableClock } from './frozen.ts';
import { must, startSupervisors } from './fixture.ts';
import { patient } from '../../support/busy.ts';

/** With capacity, every cluster has an owner within this of a kill, in ms. Source: docs/promises.md, O2. */
const OWNERLESS_MS_MAX = 5_000;

const admins = fc.uniqueArray(
  fc.record({ id: fc.uuid(), capacity: fc.nat(200), clusters: fc.nat(5), nodes: fc.nat(100) }),
  { minLength: 0, maxLength: 5, selector: (admin) => admin.id },
);
const clusters = fc.uniqueArray(
  fc.record({ cluster: fc.uuid(), name: fc.string({ minLength: 1, maxLength: 24 }), nodes: fc.nat(60) }),
  { maxLength: 30, selector: (cluster) => cluster.cluster },
);

test('the assignment is the same whatever order the rows come in, stays within capacity, and leaves out only what fits nowhere', (t) => {
  fc.assert(
    fc.property(admins, clusters, fc.integer(), (who, what, seed) => {
      const names = new Set(what.map((cluster) => cluster.name));
      fc.pre(names.size === what.length); // names are unique in the table
      const assigned = assign(what, who);

      t.deepEqual(
        Object.fromEntries(assign(shuffled(what, seed), shuffled(who, seed + 1))),
        Object.fromEntries(assigned),
      );
      for (const admin of who) {
        const nodes = what
          .filter((cluster) => assigned.get(cluster.cluster) === admin.id)
          .reduce((sum, cluster) => sum + cluster.nodes, 0);
        if (nodes > 0) t.true(admin.nodes + nodes <= admin.capacity);
      }
      for (const cluster of what) {
        if (assigned.has(cluster.cluster)) continue;
        const rooms = who.map(
          (admin) =>
            admin.capacity -
            admin.nodes -
            what
              .filter((other) => assigned.get(other.cluster) === admin.id)
              .reduce((sum, other) => sum + other.nodes, 0),
        );
        t.true(rooms.every((room) => room < cluster.nodes));
      }
    }),
    { numRuns: 300 },
  );
});

test('clusters of one size are spread evenly over admins of one size', (t) => {
  const who = ['a', 'b', 'c'].map((id) => ({ id, capacity: 1_000, clusters: 0, nodes: 0 }));
  const what = Array.from({ length: 9 }, (_, index) => ({ cluster: `c${index}`, name: `c${index}`, nodes: 10 }));

  const counts = [...Map.groupBy(assign(what, who).values(), (admin) => admin).values()].map((all) => all.length);

  t.deepEqual(counts, [3, 3, 3]);
});

test('a lease is fresh from when its grant was asked for, and what waits for it runs when it is renewed, or never', (t) => {
  let nowMs = 0;
  const held = createHeldLeases(3_000, () => nowMs);
  const ran: string[] = [];
  held.hold(CLUSTER, 4, 0);
  held.hold(OTHER_CLUSTER, 1, 0);
  held.whenFresh(CLUSTER, () => ran.push('now'));
  nowMs = 3_000;
  for (const cluster of [CLUSTER, OTHER_CLUSTER]) held.whenFresh(cluster, () => ran.push(`late ${cluster}`));
  t.deepEqual([held.isFresh(CLUSTER), held.holds(CLUSTER), ran], [false, true, ['now']]);

  held.lose(OTHER_CLUSTER);
  held.hold(OTHER_CLUSTER, 3, 2_000);
  const { epoch } = held.leaseOf(CLUSTER);
  held.hold(CLUSTER, 4, 2_500);

  t.deepEqual(
    [ran, epoch, held.leaseOf(OTHER_CLUSTER).epoch, held.leaseOf('none' as never).epoch],
    [['now', `late ${CLUSTER}`], 4, 3, -1],
  );
});

test('an owner that stops renewing is replaced within 5 s; when it wakes it writes no row, delivers nothing, and lets go (O1, O2)', async (t) => {
  const clock = createFreezableClock();
  const paused = await startSupervisors(t, { clock });
  const {
    cluster,
    nodes: [node],
  } = await paused.plant(1);
  if (node === undefined) throw new Error('no node');
  paused.connect(node, 1);
  await until('the agent is welcome', () => paused.sessions.frames.length === 1);
  const {
    executions: [execution],
  } = await paused.run([{ node, cluster }]);
  if (execution === undefined) throw new Error('no execution');
  await until('it is delivered', () => paused.sessions.frames.some(({ frame }) => frame.type === 'deliver'));
  const other = await startSupervisors(t, { connection: paused.connection });
  t.false(other.tree.held.holds(cluster));

  clock.freeze();
  const frozenMs = performance.now();
  await until('the other owns it', () => other.tree.held.holds(cluster));
  t.true(performance.now() - frozenMs < patient(OWNERLESS_MS_MAX), `${performance.now() - frozenMs} ms`);
  await until('its node lives there', () => other.tree.directory.count('node') === 1);

  // The old owner is awake again, and does not know yet.
  const before = await paused.rows('select * from command_execution order by id');
  const framesBefore = paused.sessions.frames.length;
  const second = await paused.run([{ node, cluster }]);
  const refused = await paused.tree.ask((replyTo) => ({
    to: { kind: 'node', id: node },
    message: { type: 'set-recovery-key', replyTo, keyHash: Buffer.alloc(32), key: 'k', idempotency: null },
  }));
  paused.tree.directory.tell({
    to: { kind: 'node', id: node },
    message: { type: 'results-arrived', session: session(1), results: [result(1, { execution })] },
  });
  t.like(refused, { ok: false, refusal: { code: 'service_unavailable' } });
  t.deepEqual(
    await paused.rows('select * from command_execution where id <> $1 order by id', [second.executions[0]]),
    before,
  );
  t.deepEqual(await paused.rows('select 1 from recovery_key'), []);

  clock.thaw();
  await until('it lets go', () => paused.tree.directory.count('node') === 0);
  t.false(paused.tree.held.holds(cluster));
  t.deepEqual(paused.sessions.frames.slice(framesBefore), []);
  t.deepEqual(paused.sessions.hungUp, [{ session: null, node, code: 4010 }]);

  // The agent is with the new owner now, and nothing is lost.
  other.connect(node, 7, [execution]);
  other.tree.directory.tell({
    to: { kind: 'node', id: node },
    message: { type: 'results-arrived', session: 7 as SessionId, results: [result(1, { execution })] },
  });
  await until('the result is stored', async () => (await other.statusOf(execution)) === 'completed');
});

test('an owner whose machine was suspended beyond its lease delivers nothing when it wakes: what another owns by then, it does not even know of (O1, O2)', async (t) => {
  const clock = createFreezableClock();
  let suspendedMs = 0;
  const leaseClockMs = createLeaseClock({
    monotonicMs: () => performance.now() - suspendedMs,
    bootMs: () => performance.now(),
    wallMs: () => Date.now(),
  });
  const suspended = await startSupervisors(t, { clock, leaseClockMs });
  const {
    cluster,
    nodes: [node],
  } = await suspended.plant(1);
  if (node === undefined) throw new Error('no node');
  suspended.connect(node, 1);
  await until('the agent is welcome', () => suspended.sessions.frames.length === 1);
  const other = await startSupervisors(t, { connection: suspended.connection });

  clock.freeze();
  const frozenMs = performance.now();
  await until('the other owns it', () => other.tree.held.holds(cluster));
  await other.run([{ node, cluster }]);
  suspendedMs = performance.now() - frozenMs;
  suspended.tree.directory.tell({ to: { kind: 'node', id: node }, message: { type: 'rescan' } });
  await until('it wants to deliver what it read', () =>
    [...suspended.tree.directory.cells('node')].some(({ state }) => (state as NodeState).session?.delivered.size === 1),
  );

  t.deepEqual([suspended.tree.held.holds(cluster), suspended.tree.held.isFresh(cluster)], [true, false]);
  t.deepEqual(
    suspended.sessions.frames.map(({ frame }) => frame.type),
    ['welcome'],
  );
  clock.thaw();
  await until('it lets go', () => !suspended.tree.held.holds(cluster));
  t.deepEqual(
    suspended.sessions.frames.map(({ frame }) => frame.type),
    ['welcome'],
  );
});

test('a cluster that no admin has room for is an orphan at all of them, also where their capacity together would do; one that is only being taken over is none', async (t) => {
  const leaving = await startSupervisors(t);
  const { cluster } = await leaving.plant(3);
  const small = await leaving.plant(1);
  const staying = [
    await startSupervisors(t, { connection: leaving.connection, maxWireguardPeers: 3 }),
    await startSupervisors(t, { connection: leaving.connection, maxWireguardPeers: 3 }),
  ];
  t.deepEqual(
    staying.map(({ tree }) => tree.ownership.orphans()),
    [[], []],
  );

  await leaving.stop();
  await until('both know', () => staying.every(({ tree }) => tree.ownership.orphans().length > 0));
  await until('the other cluster has an owner', () => staying.some(({ tree }) => tree.held.holds(small.cluster)));

  t.deepEqual(
    staying.map(({ tree }) => [tree.ownership.orphans(), tree.held.holds(cluster), tree.ownership.isDegraded()]),
    [
      [[cluster], false, false],
      [[cluster], false, false],
    ],
  );
});

test('a cluster that is deleted is let go without a word, one that another took over is told of', async (t) => {
  const fixture = await startSupervisors(t);
  const [deleted, taken] = [await fixture.createCluster(), await fixture.createCluster()];

  must(
    await fixture.tree.ask((replyTo) => ({
      to: { kind: 'cluster', id: deleted },
      message: { type: 'delete', replyTo },
    })),
  );
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

test('an admin that stood still, however its clock saw it, has watched nothing, and begins to watch anew; what went away meanwhile is not told of by it', async (t) => {
  const clock = createFreezableClock();
  let leasesMs = 0;
  const {
    tree: { ownership },
  } = await startSupervisors(t, { clock, leaseClockMs: () => leasesMs });
  leasesMs = 2_000;
  await until('a round', () => ownership.quietMs() === 0);
  const awake = ownership.watchedMs();

  clock.freeze();
  leasesMs += 60_000;
  const stillUnaware = ownership.watchedMs();
  clock.thaw();
  await until('a round', () => ownership.quietMs() === 0);
  const back = ownership.watchedMs();
  leasesMs += 1_500;

  t.deepEqual([awake, stillUnaware, back, ownership.watchedMs()], [2_000, 0, 0, 1_500]);
});

test('a cluster counts as held from when this admin got it, and anew after it stood still', async (t) => {
  const clock = createFreezableClock();
  let leasesMs = 0;
  const fixture = await startSupervisors(t, { clock, leaseClockMs: () => leasesMs });
  const { ownership } = fixture.tree;
  const round = () => until('a round', () => ownership.quietMs() === 0);
  const first = await fixture.createCluster();
  leasesMs = 2_000;
  await round();
  const second = await fixture.createCluster();
  leasesMs = 4_000;
  await round();
  const held = [ownership.heldFor(4_001), ownership.heldFor(4_000), ownership.heldFor(2_000)];

  clock.freeze();
  leasesMs += 60_000;
  const asleep = ownership.heldFor(1);
  clock.thaw();
  await round();

  t.deepEqual([...held, asleep, ownership.heldFor(1)], [[], [first], [first, second], [], []]);
});

test('an owner that was away until its nodes were made unreachable reads them anew when it is back: one whose agent is there is healthy again, told once', async (t) => {
  const clock = createFreezableClock();
  const owner = await startSupervisors(t, { clock });
  const {
    cluster,
    nodes: [node],
  } = await owner.plant(1);
  if (node === undefined) throw new Error('no node');
  owner.connect(node, 1);
  const status = async () =>
    (await owner.rows<{ status: string }>('select status from node where id = $1', [node]))[0]?.status;
  await until('healthy', async () => (await status()) === 'healthy');

  clock.freeze();
  const marked = await until('it is marked', async () => {
    await owner.rows(
      `update cluster_ownership set lease_until = clock_timestamp() - interval '1 minute' where cluster_id = $1`,
      [cluster],
    ); // a round may be under way that renews it once more
    const nodes = await markOwnerless(owner.database.pool, { unreachableAfterMs: 30_000, watchedMs: 30_000 }, 10);
    return nodes.length > 0 ? nodes : null;
  });
  t.deepEqual([marked, await status()], [[node], 'unreachable']);
  clock.thaw();
  await until('it is hung up', () => owner.sessions.hungUp.length > 0);
  await until('it lives again', () => owner.tree.held.holds(cluster) && owner.tree.directory.count('node') === 1);
  owner.connect(node, 2);
  await until('healthy', async () => (await status()) === 'healthy');

  t.deepEqual((await owner.eventsOf(node)).filter((type) => type === 'edge.node.status_changed').length, 3);
});

test('a drain gives the clusters back at once', async (t) => {
  const leaving = await startSupervisors(t);
  const { cluster } = await leaving.plant(2);
  const staying = await startSupervisors(t, { connection: leaving.connection });

  const began = performance.now();
  await leaving.stop();
  await until(
    'the other owns it',
    () => staying.tree.held.holds(cluster) && staying.tree.directory.count('node') === 2,
  );

  t.true(performance.now() - began < patient(LEASE_MS), `${performance.now() - began} ms: not after the lease`);
});

test('a second process of the same name takes over, and the first lets go', async (t) => {
  const first = await startSupervisors(t, { name: 'twin' });
  const { cluster } = await first.plant(1);
  const second = await startSupervisors(t, { name: 'twin', connection: first.connection });

  t.is(second.adminId, first.adminId);
  await until('the first lets go', () => !first.tree.held.holds(cluster) && first.tree.directory.count('node') === 0);

  t.true(second.tree.held.isFresh(cluster));
});

test('a lease that ran out with the database away, and was taken by nobody, loses no result', async (t) => {
  const fixture = await startSupervisors(t);
  const {
    cluster,
    nodes: [node],
  } = await fixture.plant(1);
  if (node === undefined) throw new Error('no node');
  fixture.connect(node, 1);
  const {
    executions: [execution],
  } = await fixture.run([{ node, cluster }]);
  if (execution === undefined) throw new Error('no execution');
  await until('it is delivered', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'deliver'));
  await fixture.rows("update cluster_ownership set lease_until = clock_timestamp() - interval '1 ms'");

  fixture.tree.directory.tell({
    to: { kind: 'node', id: node },
    message: { type: 'results-arrived', session: session(1), results: [result(1, { execution })] },
  });
  await until('it is confirmed', () => fixture.sessions.frames.some(({ frame }) => frame.type === 'confirm'));

  t.is(await fixture.statusOf(execution), 'completed');
  t.is(fixture.tree.directory.counters.crashes, 0);
});

test('a cluster is owned by its creator from the first instant', async (t) => {
  const fixture = await startSupervisors(t);
  const cluster = await fixture.createCluster();

  must(
    await fixture.tree.ask((replyTo) => ({
      to: { kind: 'cluster', id: cluster },
      message: { type: 'limit', replyTo, nodeLimit: 3 },
    })),
  );
  t.true(fixture.tree.held.isFresh(cluster));
});

function shuffled<T>(all: readonly T[], seed: number): T[] {
  let state = seed >>> 0;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
  return all
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
