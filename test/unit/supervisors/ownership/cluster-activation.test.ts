/** Clusters come to life beside the renewal of leases, by a clock that goes as a test says. */
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { ACTIVATION_AWAITED_MS_MAX } from '../../../../supervisors/ownership/cluster-activation.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import {
  activation,
  EAST,
  fixture,
  LEASE_MS,
  ME,
  nodeOf,
  NORTH,
  owner,
  STATEMENT_MS,
  tooLong,
  WEST,
  type Reading,
} from './activation-fixture.ts';

/** Of two clusters they cannot be read in time. */
const someTakeTooLong = (wait: (ms: number) => Promise<void>): Reading =>
  async function* (clusters) {
    if (clusters.some((cluster) => cluster !== WEST)) {
      await wait(STATEMENT_MS);
      throw tooLong();
    }
    yield clusters.map((cluster) => nodeOf(cluster));
  };

test('while some clusters load late, all leases are renewed each second, the others live, and the admin has started', async (t) => {
  const admin = fixture(someTakeTooLong);
  const { ownership, renewedMs } = owner(admin, [EAST, NORTH, WEST]);
  const startedMs: number[] = [];

  const start = ownership.start().then(() => startedMs.push(admin.clock.nowMs()));
  await admin.pass(30_000);
  await start;

  const gapsMs = renewedMs.slice(1).map((atMs, index) => atMs - (renewedMs[index] ?? 0));
  t.true(renewedMs.length > 25 && Math.max(...gapsMs) <= 2_000, gapsMs.join(' '));
  t.deepEqual([admin.held.isFresh(EAST), admin.held.isFresh(WEST)], [true, true]);
  t.deepEqual(admin.began, [nodeOf(WEST)]);
  t.deepEqual(startedMs, [ACTIVATION_AWAITED_MS_MAX]);
  const late = [5_000, 29_900, 30_000].map((ms) => ownership.late(ms));
  t.deepEqual([ownership.isActivated(), late, ownership.quietMs() <= 1_000], [false, [2, 2, 0], true]);
  t.deepEqual([ownership.heldFor(20_000), ownership.watchedMs()], [[WEST], 30_000]);
  t.deepEqual(admin.log.lines.at(-1), {
    level: 'warn',
    fields: { clusters: 2, error: tooLong().message },
    message: 'nodes of clusters could not be read: trying again',
  });
});

test('a start is over once all nodes are here, and none is read twice', async (t) => {
  let readings = 0;
  const admin = fixture(
    (wait) =>
      async function* (clusters) {
        readings += 1;
        await wait(1_500);
        yield clusters.map((cluster) => nodeOf(cluster));
      },
  );
  const { ownership } = owner(admin, [EAST, WEST]);
  let hasStarted = false;

  const start = ownership.start().then(() => (hasStarted = true));
  await admin.pass(1_400);
  const before = hasStarted;
  await admin.pass(200);
  await start;

  t.deepEqual([before, admin.clock.nowMs(), readings], [false, 1_600, 1]);
  t.deepEqual(admin.began, [nodeOf(EAST), nodeOf(WEST)]);
  t.deepEqual([ownership.isActivated(), ownership.late(0), admin.counts.missed], [true, 0, 1]);
});

test('an admin that stops while nodes are read brings none of them to life, and gives its leases back after that', async (t) => {
  const admin = fixture(
    (wait) =>
      async function* (clusters) {
        await wait(2_000);
        yield clusters.map((cluster) => nodeOf(cluster));
      },
  );
  const { ownership } = owner(admin, [EAST]);
  const start = ownership.start();
  await admin.pass(500);
  let hasStopped = false;

  const stop = ownership.stop().then(() => (hasStopped = true));
  await admin.pass(500);
  const meanwhile = hasStopped;
  await admin.pass(1_500);
  await Promise.all([start, stop]);

  t.deepEqual([meanwhile, admin.began], [false, []]);
});

test('a cluster lost or given away while its nodes load starts none of them; if it is back by then, new rows do', async (t) => {
  let readings = 0;
  const admin = fixture(
    (wait) =>
      async function* (clusters) {
        readings += 1;
        const read = readings;
        await wait(1_000);
        yield clusters.map((cluster) => nodeOf(cluster, read));
      },
  );
  const { activated, gained } = activation(admin);
  const lose = (cluster: ClusterId): void => {
    admin.held.lose(cluster);
    activated.forget(cluster);
  };

  gained(1, EAST, WEST);
  await admin.pass(500);
  lose(EAST);
  lose(WEST);
  gained(3, WEST);
  await admin.pass(2_000);

  t.deepEqual(admin.began, [nodeOf(WEST, 2)]);
  t.true(activated.isActivated());
});

test('a cluster held for a moment and freed while its nodes load starts none of them, and is awaited no longer', async (t) => {
  const admin = fixture(
    (wait) =>
      async function* (clusters) {
        await wait(LEASE_MS);
        yield clusters.map((cluster) => nodeOf(cluster));
      },
  );
  const taken = [{ cluster: EAST, epoch: 5 }];
  const { ownership } = owner(admin, [], (self) => ({
    survey: () =>
      Promise.resolve({
        admins: [ME],
        free: [{ cluster: EAST, name: 'east', nodes: ME.capacity + 1 }],
        databaseMs: admin.clock.nowMs(),
        nextFreeMs: null,
      }),
    claim(_me, clusters) {
      if (clusters.length === 0) return Promise.resolve([]);
      self().given(taken); // a round sees the row before the answer to the claim is here
      return Promise.resolve(taken);
    },
  }));
  await ownership.start();
  await admin.pass(10_000);

  const isTaken = await ownership.leaseTemporarily(EAST);
  await admin.pass(1_000);
  const before = [isTaken, ownership.isActivated()];
  await admin.pass(10_000);

  t.deepEqual([before, admin.began], [[true, false], []]);
  t.deepEqual([admin.held.holds(EAST), ownership.isActivated(), ownership.late(0)], [false, true, 0]);
});

test('a cluster that is held no longer is read no more, whoever ended its lease', async (t) => {
  let readings = 0;
  const admin = fixture(
    (wait) =>
      async function* (clusters) {
        readings += 1;
        await wait(1_000);
        yield clusters.map((cluster) => nodeOf(cluster));
      },
  );
  const { activated, gained } = activation(admin);

  gained(1, EAST);
  await admin.pass(500);
  admin.held.lose(EAST);
  await admin.pass(2_000);

  t.deepEqual([admin.began, readings, activated.isActivated()], [[], 1, true]);
});

test('what was read before a reading failed lives, and is not read again', async (t) => {
  const left: boolean[] = [];
  const admin = fixture(
    () =>
      async function* (clusters, isHere) {
        left.push(isHere(nodeOf(EAST).record.id));
        yield [nodeOf(EAST)];
        if (clusters.length > 1) throw tooLong();
      },
  );
  const { activated, gained } = activation(admin);

  gained(1, EAST, WEST);
  await admin.pass(100);

  t.deepEqual([admin.began, left], [[nodeOf(EAST)], [false, true, true]]);
  t.deepEqual([activated.isActivated(), admin.log.lines], [true, []]);
});

test('while the database is away no cluster is tried after the other', async (t) => {
  let tries = 0;
  const admin = fixture(
    () =>
      async function* () {
        tries += 1;
        if (tries < 3) throw new DatabaseUnavailable('away');
        yield [nodeOf(EAST), nodeOf(WEST)];
      },
  );
  const { activated, gained } = activation(admin);

  gained(1, EAST, WEST);
  await admin.pass(100);
  const atFirst = tries;
  for (let rounds = 0; rounds < 2; rounds += 1) {
    activated.begin();
    await admin.pass(100);
  }

  t.deepEqual([atFirst, tries, activated.isActivated()], [1, 3, true]);
});
