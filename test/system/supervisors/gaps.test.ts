/**
 * What an admin that stood still itself, or had no database, takes for the silence of others: trees on one database.
 */
import test from 'ava';
import { Leases } from '../../../persistence/ownership/leases.ts';
import type { Loader } from '../../../supervisors/ports.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { until } from '../../support/until.ts';
import type { SupervisorsFixture } from './actors-fixture.ts';
import { steppedFleet } from './stepped-fleet.ts';

test('after an outage the admin that is back first leaves to the others what is theirs, and goes on as before', async (t) => {
  const fleet = steppedFleet(t);
  const small = await fleet.start({ maxWireguardPeers: 2 });
  const other = await fleet.start();
  await small.admin.createNode();
  const [{ cluster } = { cluster: null as never }] = await other.admin.createNodes(3);
  await fleet.settled();
  await small.round();
  const before = await fleet.owners();

  await fleet.pass(60_000);
  await small.round();
  await small.round();
  const { ownership } = small.admin.tree;
  const meanwhile = [ownership.hasPeers(), ownership.standing().kind];
  other.thaw();
  await until('the other is back', () => other.admin.tree.held.isFresh(cluster));
  await small.round();

  t.deepEqual(meanwhile, [true, 'whole']);
  t.deepEqual(await fleet.owners(), before);
});

test('an admin that stands still while it waits for an answer leaves to the others what is theirs', async (t) => {
  const fleet = steppedFleet(t);
  let standsMs = 0;
  class Awaited extends Leases {
    override async survey(unseenMs: number) {
      await fleet.pass(standsMs);
      return super.survey(unseenMs);
    }
  }
  const other = await fleet.start();
  const stood = await fleet.start({ leases: (pool) => new Awaited(pool) });
  const { cluster } = await other.admin.createNode();
  await fleet.settled();

  standsMs = 2_500;
  await stood.round();
  standsMs = 0;
  await stood.round();
  other.thaw();
  await until('the other goes on', () => other.admin.tree.held.isFresh(cluster));

  t.false(stood.admin.tree.held.holds(cluster));
  t.is(other.admin.tree.held.leaseOf(cluster).epoch, 1);
});

test('an owner that does not come back after an outage is taken over from once it had the time', async (t) => {
  const fleet = steppedFleet(t);
  const back = await fleet.start();
  const gone = await fleet.start();
  const { cluster } = await gone.admin.createNode();
  await fleet.settled();

  await fleet.pass(60_000);
  const held: boolean[] = [];
  for (let rounds = 0; rounds < 5; rounds += 1) {
    await back.round();
    held.push(back.admin.tree.held.holds(cluster));
  }

  t.deepEqual(held, [false, false, false, false, true]);
  t.false(back.admin.tree.ownership.hasPeers());
});

test('clusters freed while another admin had no database are free for it at once, without a wait for a dead owner', async (t) => {
  const fleet = steppedFleet(t);
  const [stops, back] = [await fleet.start(), await fleet.start()];
  await fleet.start(); // does nothing after the outage
  const letGo: ClusterId[] = [];
  while (letGo.length < 8) letGo.push(await stops.admin.createCluster());
  await fleet.settled();

  await fleet.pass(60_000);
  await stops.round();
  await stops.admin.stop();
  await back.round();

  t.true(letGo.every((cluster) => back.admin.tree.held.holds(cluster)));
});

test('an admin that is long at what it took over has seen all of the next death', async (t) => {
  const fleet = steppedFleet(t);
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  const isLong = {
    loader: (real: Loader): Loader => ({
      ...real,
      async *nodes(ids: readonly ClusterId[]) {
        await isRead;
        yield* real.nodes(ids);
      },
    }),
  };
  const [first, second, survivor] = [await fleet.start(), await fleet.start(), await fleet.start(isLong)];
  const [{ cluster: before }, { cluster: next }] = [await first.admin.createNode(), await second.admin.createNode()];
  await fleet.settled();
  const { held, ownership } = survivor.admin.tree;

  await fleet.died(first);
  const takesOver = survivor.round();
  await until('it has taken over', () => held.holds(before));
  await Promise.all([second.round(), takesOver]);
  for (let rounds = 0; rounds < 2; rounds += 1) await Promise.all([second.round(), survivor.round()]);
  const afterOne = [held.holds(before), held.holds(next), ownership.isActivated()];
  await fleet.died(second);
  await survivor.round();
  const afterBoth = [held.holds(next), ownership.isActivated()];
  read();
  await until('all live', () => ownership.isActivated());

  t.deepEqual(
    [afterOne, afterBoth],
    [
      [true, false, false],
      [true, false],
    ],
  );
});

test('recurring database outages block no takeover from a dead owner, and take nothing from an owner seen in between', async (t) => {
  const fleet = steppedFleet(t);
  const [one, other, gone] = [await fleet.start(), await fleet.start(), await fleet.start()];
  const [first, second, left] = [
    await one.admin.createNode(),
    await other.admin.createNode(),
    await gone.admin.createNode(),
  ];
  await fleet.settled();

  for (let times = 0; times < 7; times += 1) {
    await fleet.pass(4_000);
    await one.round();
    await other.round();
  }

  const epochs = [one.admin.tree.held.leaseOf(first.cluster), other.admin.tree.held.leaseOf(second.cluster)];
  t.deepEqual(
    epochs.map(({ epoch }) => epoch),
    [1, 1],
  );
  t.true([one, other].some(({ admin }) => admin.tree.held.holds(left.cluster)));
});

test('admins that start anew, as their database is not the one that it was, have the clusters of before', async (t) => {
  const fleet = steppedFleet(t);
  const isSetBack = () => true;
  const names = ['first', 'second'];
  const owners = (admin: SupervisorsFixture) =>
    admin.rows('select cluster_id, admin_id from cluster_ownership order by cluster_id');
  const ended = [];
  for (const name of names) ended.push((await fleet.start({ name, isSetBack })).admin);
  for (const admin of ended) await admin.createNode();
  const before = await Promise.all(ended.map(owners));

  for (const admin of ended) {
    await admin.tree.ownership.handOverAll();
    await admin.stop();
  }
  const begun = [];
  for (const name of names) begun.push((await fleet.start({ name })).admin);

  t.deepEqual(await Promise.all(begun.map(owners)), before);
});

test('an admin that starts as an outage ends takes up what was its own, and leaves to the others what is theirs', async (t) => {
  const fleet = steppedFleet(t);
  const owner = await fleet.start();
  const before = await fleet.start({ name: 'starts anew' });
  const [theirs, own] = [await owner.admin.createNode(), await before.admin.createNode()];
  await owner.still();
  await before.admin.stop();

  await fleet.pass(60_000);
  const { admin } = await fleet.start({ name: 'starts anew' });
  const { held } = admin.tree;
  const atFirst = [held.holds(theirs.cluster), held.holds(own.cluster)];
  owner.thaw();
  await until('the owner is back', () => owner.admin.tree.held.isFresh(theirs.cluster));

  t.deepEqual(atFirst, [false, true]);
  t.is(owner.admin.tree.held.leaseOf(theirs.cluster).epoch, 1);
});

test('an admin that starts takes at once what was let go, whoever died, and four rounds later what a dead one owned', async (t) => {
  const fleet = steppedFleet(t);
  const [gone, leaves] = [await fleet.start(), await fleet.start()];
  const { cluster } = await gone.admin.createNode();
  const letGo: ClusterId[] = [];
  while (letGo.length < 8) letGo.push(await leaves.admin.createCluster());
  await fleet.settled();
  await leaves.admin.stop();

  await fleet.pass(60_000);
  const starts = await fleet.start();
  const { held } = starts.admin.tree;
  const atOnce = letGo.map((one) => held.holds(one));
  await starts.still();
  const later = [held.holds(cluster)];
  for (let rounds = 0; rounds < 4; rounds += 1) {
    await starts.round();
    later.push(held.holds(cluster));
  }

  t.deepEqual(
    atOnce,
    letGo.map(() => true),
  );
  t.deepEqual(later, [false, false, false, false, true]);
});

test('an admin that finds the clock of the database far ahead leaves to the others what is theirs', async (t) => {
  const fleet = steppedFleet(t);
  const owner = await fleet.start();
  const { cluster } = await owner.admin.createNode();
  const looks = await fleet.start();
  await fleet.settled();

  await fleet.jump(60_000);
  for (let rounds = 0; rounds < 3; rounds += 1) await looks.round();
  const meanwhile = [looks.admin.tree.held.holds(cluster), looks.admin.tree.ownership.hasPeers()];
  owner.thaw();
  await until('the owner renewed', () => owner.admin.tree.held.isFresh(cluster));
  await looks.round();

  t.deepEqual(meanwhile, [false, true]);
  t.is(owner.admin.tree.held.leaseOf(cluster).epoch, 1);
  t.false(looks.admin.tree.held.holds(cluster));
});
