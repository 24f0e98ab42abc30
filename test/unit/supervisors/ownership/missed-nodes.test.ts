/** What nodes were told while they came to life found nobody: when it is looked for. */
import test from 'ava';
import { ACTIVATED_TOGETHER_MAX, MISSED_MS_MAX } from '../../../../supervisors/ownership/cluster-activation.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import { activation, EAST, fixture, nodeOf, NORTH, STATEMENT_MS, tooLong } from './activation-fixture.ts';

test('what was missed is looked for while nodes come to life for long, and behind them, and where none came not at all', async (t) => {
  const admin = fixture(
    () =>
      async function* (_clusters, isHere) {
        const cameThen: number[] = [];
        for (const cluster of [EAST, NORTH]) {
          yield isHere(nodeOf(cluster).record.id) ? [] : [nodeOf(cluster)];
          cameThen.push(admin.counts.missed);
          await admin.pass(MISSED_MS_MAX);
        }
        looks.push(cameThen);
        throw tooLong();
      },
  );
  const looks: number[][] = [];
  const { activated, gained } = activation(admin);

  gained(1, EAST, NORTH);
  for (let tries = 0; tries < 10; tries += 1) {
    activated.begin();
    await admin.pass(4 * MISSED_MS_MAX);
  }

  t.deepEqual(looks[0], [0, 1], 'the first node came at once, the second one later');
  t.true(looks.length > 10);
  t.is(admin.counts.missed, 1, 'each node came once');
});

/** So many clusters, one node each. */
const many = (count: number): ClusterId[] =>
  Array.from({ length: count }, (_, index) => `cluster-${index}` as unknown as ClusterId);

test('clusters that come to life in many groups have what they missed looked for once, behind the last', async (t) => {
  const clusters = many(5 * ACTIVATED_TOGETHER_MAX);
  const looks: number[] = [];
  const admin = fixture(
    (wait) =>
      async function* (group) {
        looks.push(admin.counts.missed);
        await wait(100);
        yield group.map((cluster) => nodeOf(cluster));
      },
  );
  const { activated, gained } = activation(admin);

  gained(1, ...clusters);
  await admin.pass(1_000);

  t.deepEqual([looks, admin.counts.missed], [[0, 0, 0, 0, 0], 1]);
  t.deepEqual([admin.began.length, activated.isActivated()], [clusters.length, true]);
});

test('what nodes missed is looked for in time also while the clusters behind theirs cannot be read one after the other', async (t) => {
  const [first, ...others] = many(1 + ACTIVATED_TOGETHER_MAX);
  const admin = fixture(
    (wait) =>
      async function* (group) {
        if (group.includes(first!)) return void (yield [nodeOf(first!)]);
        await wait(STATEMENT_MS);
        throw tooLong();
      },
  );
  const { gained } = activation(admin);

  gained(1, first!);
  gained(1, ...others);
  await admin.pass(MISSED_MS_MAX - 100);
  const before = admin.counts.missed;
  await admin.pass(STATEMENT_MS);

  t.deepEqual([before, admin.counts.missed], [0, 1]);
});
