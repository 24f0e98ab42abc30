/** One cluster that goes, so that one more node fits. */
import test from 'ava';
import type { PlacedAdmin } from '../../../../supervisors/ownership/moves.ts';
import type { PlacedCluster } from '../../../../supervisors/ownership/placement.ts';
import { growthMove } from '../../../../supervisors/ownership/growth-moves.ts';

const LINK = 3;

const admin = (id: string, capacity: number, more: Partial<PlacedAdmin> = {}): PlacedAdmin => ({
  id,
  capacity,
  aliveMs: 0,
  isHeard: true,
  isDraining: false,
  linkVersion: LINK,
  ...more,
});

const cluster = (name: string, owner: string, nodes: number, isBusy = false): PlacedCluster => ({
  cluster: name,
  name,
  owner,
  nodes,
  isBusy,
});

const FULL = [cluster('large', 'a', 6), cluster('small', 'a', 3), cluster('tiny', 'a', 1)];

/** For one node more in `large`, at an admin with room for ten. */
const forLarge = (
  others: readonly PlacedAdmin[],
  clusters: readonly PlacedCluster[] = FULL,
): ReturnType<typeof growthMove> => growthMove('large', 1, { admins: [admin('a', 10), ...others], clusters }, LINK);

test('growth moves the smallest sufficient cluster to the roomiest admin, or the growing one if it fits once grown', (t) => {
  t.deepEqual(forLarge([admin('b', 5), admin('c', 7)]), { cluster: 'tiny', from: 'a', to: 'c' });
  t.deepEqual(growthMove('tiny', 1, { admins: [admin('a', 10), admin('b', 2)], clusters: FULL }, LINK), {
    cluster: 'tiny',
    from: 'a',
    to: 'b',
  });
  t.deepEqual(growthMove('tiny', 1, { admins: [admin('a', 10), admin('b', 1)], clusters: FULL }, LINK), null);
});

test('an admin that is over its capacity gives as many nodes as are missing', (t) => {
  const over = [...FULL, cluster('more', 'a', 1)];

  t.deepEqual(forLarge([admin('b', 5)], over), { cluster: 'small', from: 'a', to: 'b' });
  t.is(forLarge([admin('b', 2)], over), null);
});

test('growth moves no busy cluster, to no full, drained, unheard or other-version admin, and only from a full owner', (t) => {
  t.deepEqual(forLarge([admin('b', 6)], [...FULL.slice(0, 2), cluster('tiny', 'a', 1, true)]), {
    cluster: 'small',
    from: 'a',
    to: 'b',
  });
  t.is(forLarge([]), null);
  t.is(forLarge([admin('b', 1)], [...FULL, cluster('other', 'b', 1)]), null);
  for (const more of [{ isDraining: true }, { isHeard: false }, { linkVersion: LINK + 1 }])
    t.is(forLarge([admin('b', 9, more)]), null);
  t.is(forLarge([admin('b', 9)], FULL.slice(0, 2)), null);
  t.is(growthMove('none', 1, { admins: [admin('a', 1), admin('b', 9)], clusters: FULL }, LINK), null);
});
