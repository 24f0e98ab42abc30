/** The leases that an admin holds, by its own clock. */
import test from 'ava';
import { createHeldLeases } from '../../../../supervisors/ownership/held.ts';
import { CLUSTER, OTHER_CLUSTER } from '../../../support/actors.ts';

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

test("a cluster on its way is nobody's yet still written for; what waited runs if it stays, never once it is gone", (t) => {
  const held = createHeldLeases(3_000, () => 0);
  const ran: string[] = [];
  for (const cluster of [CLUSTER, OTHER_CLUSTER]) {
    held.hold(cluster, 4, 0);
    held.leave(cluster);
    held.whenFresh(cluster, () => ran.push(cluster));
  }

  t.deepEqual(
    [held.isFresh(CLUSTER), held.epochOf(CLUSTER, false), held.holds(CLUSTER), held.leaseOf(CLUSTER).epoch, ran],
    [false, null, true, 4, []],
  );

  held.renewed(CLUSTER, 4, 100);
  held.stay(CLUSTER);
  held.lose(OTHER_CLUSTER);
  held.renewed(OTHER_CLUSTER, 4, 100);

  t.deepEqual(
    [ran, held.isFresh(CLUSTER), held.epochOf(CLUSTER, true), held.holds(OTHER_CLUSTER)],
    [[CLUSTER], true, 4, false],
  );
});
