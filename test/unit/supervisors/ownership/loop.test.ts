/** Who owns what after which fault, and how soon: the real loops of several admins over leases in memory. */
import test from 'ava';
import { ROUND_MS } from '../../../../supervisors/ownership/loop.ts';
import { ModelledLeases, STEP_MS } from './modelled-leases.ts';

/** An admin that looks has seen by then that nobody was silent, in ms. */
const SETTLED_MS = 10_000;

test('an admin that checks in and can renew nothing, as one of its rows is locked, has all others taken over within 8 s', async (t) => {
  const leases = new ModelledLeases();
  const clusters = Array.from({ length: 40 }, (_, at) => leases.add(`c${at}`, 10, 'a'));
  await leases.start('a', 1_000);
  await leases.start('b', 1_000);
  await leases.pass(SETTLED_MS);
  t.is(leases.countOf('a'), clusters.length);

  leases.locked.add(clusters[7]!);
  await leases.pass(8_000);

  t.deepEqual([leases.countOf('b'), leases.countOf(null)], [clusters.length - 1, 1]);
});

test('clusters of an admin that died are owned again as its leases run out, whenever the rounds of the others are', async (t) => {
  for (const offsetMs of [100, 500, 900]) {
    const leases = new ModelledLeases();
    const clusters = Array.from({ length: 40 }, (_, at) => leases.add(`c${at}`, 10, 'a'));
    await leases.start('a', 1_000);
    await leases.pass(offsetMs);
    await leases.start('b', 1_000);
    await leases.pass(SETTLED_MS);
    leases.away.add('a');
    const untilMs = Math.max(...[...leases.rows.values()].map((row) => row.untilMs));

    await leases.pass(untilMs - leases.clock.nowMs() + STEP_MS);
    t.is(leases.countOf('b'), clusters.length, `${offsetMs}`);
  }
});

test('what others did not take goes to whoever has room, as much as fits', async (t) => {
  const leases = new ModelledLeases();
  const clusters = Array.from({ length: 40 }, (_, at) => leases.add(`c${at}`, 10, 'a'));
  await leases.start('a', 1_000);
  await leases.start('b', 252); // and a peer less, as there are two
  await leases.pass(SETTLED_MS);

  leases.locked.add(clusters[7]!);
  await leases.pass(8_000);

  t.is(leases.countOf('b'), 25);
});

test('an orphan is taken for a moment, and not by what was seen before an outage: its owner may only have been away too', async (t) => {
  const leases = new ModelledLeases();
  const orphan = leases.add('large', 200, null);
  const a = await leases.start('a', 100);
  await leases.pass(SETTLED_MS);
  t.deepEqual(a.standing().orphans, [{ cluster: orphan, name: 'large', nodes: 200 }]);

  leases.away.add('a');
  await leases.pass(60_000);
  leases.away.clear();
  const taken = await a.leaseTemporarily(orphan);
  await leases.pass(SETTLED_MS);
  const takenThen = await a.leaseTemporarily(orphan);

  t.deepEqual([taken, takenThen, leases.rows.get(orphan)?.admin], [false, true, 'a']);
});

test('an admin that reads nodes while nothing can be written leaves to the others what is theirs, once it can', async (t) => {
  const leases = new ModelledLeases();
  const theirs = Array.from({ length: 5 }, (_, at) => leases.add(`c${at}`, 10, 'b'));
  const a = await leases.start('a', 1_000);
  await leases.start('b', 252);
  await leases.pass(SETTLED_MS);
  leases.readingMs = 30_000;
  const large = leases.add('large', 400, null);
  await leases.pass(2_000);
  t.deepEqual([leases.rows.get(large)?.admin, a.isActivated()], ['a', false]);

  for (const admin of ['a', 'b']) leases.away.add(admin);
  await leases.pass(10_000);
  leases.away.delete('a'); // a moment before the other
  await leases.pass(2_000);
  leases.away.clear();
  await leases.pass(2_000);

  t.false(a.isActivated());
  t.deepEqual([leases.countOf('a'), leases.countOf('b')], [1, theirs.length]);
});

for (const failing of ['release', 'claim'] as const)
  test(`an orphan leased for a moment stays without an owner, as it has no room, even if the answer to a ${failing} is lost`, async (t) => {
    const leases = new ModelledLeases();
    const orphan = leases.add('large', 200, null);
    const a = await leases.start('a', 100);
    await leases.start('b', 100);
    await leases.pass(SETTLED_MS);

    leases.failing.push(failing);
    const taken = await a.leaseTemporarily(orphan).catch((error: Error) => error.name);
    const owner = leases.rows.get(orphan)?.admin;
    await leases.pass(60_000);

    t.deepEqual([taken, owner, leases.failing], [failing === 'claim' ? 'DatabaseUnavailable' : true, 'a', []]);
    t.deepEqual([leases.countOf('a'), a.isTemporary(orphan), a.standing().orphans.length], [0, false, 1]);
    t.true(await a.leaseTemporarily(orphan), 'it may be taken for a moment again');
  });

test('an admin keeps its leases and rounds, however often a locked row refuses the release of an orphan (O1, L4)', async (t) => {
  const leases = new ModelledLeases();
  const own = Array.from({ length: 5 }, (_, at) => leases.add(`small${at}`, 1, 'a'));
  const orphan = leases.add('large', 200, null);
  const a = await leases.start('a', 100);
  await leases.start('b', 100);
  await leases.pass(SETTLED_MS);
  const placed = () => own.map((cluster) => [leases.rows.get(cluster)?.admin, leases.rows.get(cluster)?.epoch]);
  const before = placed();
  const quietMs: number[] = [];

  for (let times = 0; times < 3; times += 1) {
    leases.failing.push('release', 'release', 'release');
    await a.leaseTemporarily(orphan);
    for (let passedMs = 0; passedMs < SETTLED_MS; passedMs += 100) {
      await leases.pass(100);
      quietMs.push(a.quietMs());
    }
  }

  t.true(leases.failing.length < 9, 'some were refused');
  t.deepEqual(placed(), before);
  t.true(Math.max(...quietMs) <= ROUND_MS, `${Math.max(...quietMs)} ms without a round`);
  t.is(leases.countOf('a') + leases.countOf('b'), own.length, 'nobody has the orphan');
});
