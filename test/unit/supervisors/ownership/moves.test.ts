/** Which owned clusters change their owner: planned again and again until nothing is left to do. */
import test from 'ava';
import * as fc from 'fast-check';
import {
  DIFFERENCE_MIN,
  MOVED_SHARE_MAX,
  planned,
  SETTLED_MS_MIN,
  type PlacedAdmin,
} from '../../../../supervisors/ownership/moves.ts';
import { assign, type Move, type PlacedCluster } from '../../../../supervisors/ownership/placement.ts';

const LINK = 3;

function admin(id: string, capacity: number, more: Partial<PlacedAdmin> = {}): PlacedAdmin {
  return { id, capacity, aliveMs: SETTLED_MS_MIN, isHeard: true, isDraining: false, linkVersion: LINK, ...more };
}

/** Clusters of these sizes with one owner, named after it. */
function clusters(owner: string | null, sizes: readonly number[]): PlacedCluster[] {
  return sizes.map((nodes, index) => {
    const name = `${owner ?? 'free'}-${index}`;
    return { cluster: name, name, nodes, owner, isBusy: false };
  });
}

function carriedOut(all: readonly PlacedCluster[], moves: readonly Move[]): PlacedCluster[] {
  const to = new Map(moves.map((move) => [move.cluster, move.to]));
  return all.map((cluster) => ({ ...cluster, owner: to.get(cluster.cluster) ?? cluster.owner }));
}

/** What the free ones come to, as every admin sees it. */
function takenOver(all: readonly PlacedCluster[], admins: readonly PlacedAdmin[]): PlacedCluster[] {
  const loads = admins.map(({ id, capacity }) => ({ id, capacity, clusters: count(all, id), nodes: nodesOf(all, id) }));
  const assigned = assign(
    all.filter(({ owner }) => owner === null),
    loads,
  );
  return all.map((cluster) => ({ ...cluster, owner: cluster.owner ?? assigned.get(cluster.cluster) ?? null }));
}

const count = (all: readonly PlacedCluster[], id: string): number => all.filter(({ owner }) => owner === id).length;
const nodesOf = (all: readonly PlacedCluster[], id: string): number =>
  all.filter(({ owner }) => owner === id).reduce((sum, { nodes }) => sum + nodes, 0);

/** Every round until one that moves nothing; fails when it does not come to rest. */
function rounds(admins: readonly PlacedAdmin[], all: readonly PlacedCluster[]): readonly (readonly Move[])[] {
  const done: (readonly Move[])[] = [];
  let now = takenOver(all, admins);
  for (let round = 0; round <= 4 * all.length; round += 1) {
    const moves = planned(admins, now, LINK);
    if (moves.length === 0) return done;
    done.push(moves);
    now = takenOver(carriedOut(now, moves), admins);
  }
  throw new Error('it does not come to rest');
}

const fleets = fc
  .record({
    capacities: fc.array(fc.nat(60), { minLength: 1, maxLength: 5 }),
    sizes: fc.array(fc.record({ nodes: fc.nat(12), owner: fc.option(fc.nat(4)), isBusy: fc.boolean() }), {
      maxLength: 40,
    }),
    newcomers: fc.nat(2),
  })
  .map(({ capacities, sizes, newcomers }) => {
    const admins = capacities.map((capacity, index) => admin(`admin-${index}`, capacity));
    for (let index = 0; index < newcomers; index += 1) admins.push(admin(`newcomer-${index}`, 60));
    const left = new Map(admins.map(({ id, capacity }) => [id, capacity]));
    const all = sizes.map(({ nodes, owner, isBusy }, index): PlacedCluster => {
      const id = owner === null ? null : (admins[owner % capacities.length]?.id ?? null);
      const room = id === null ? -1 : (left.get(id) ?? 0) - nodes;
      if (id !== null && room >= 0) left.set(id, room);
      const name = `cluster-${index}`;
      return { cluster: name, name, nodes, owner: room >= 0 ? id : null, isBusy: isBusy && index % 4 === 0 };
    });
    return { admins, all };
  });

test('repeated planning comes to rest: no admin is ever over capacity, no cluster loses its owner or moves back', (t) => {
  fc.assert(
    fc.property(fleets, ({ admins, all }) => {
      let now = takenOver(all, admins);
      const cameFrom = new Map<string, Set<string>>();
      for (const moves of rounds(admins, all)) {
        const wasFree = now.filter(({ owner }) => owner === null).length;
        t.true(moves.length <= Math.max(3, Math.floor(all.length * MOVED_SHARE_MAX)));
        for (const { id, capacity } of admins) {
          const gained = moves.filter(({ to }) => to === id).map(({ cluster }) => cluster);
          const nodes = now.filter(({ cluster }) => gained.includes(cluster)).reduce((sum, one) => sum + one.nodes, 0);
          if (gained.length > 0) t.true(nodesOf(now, id) + nodes <= capacity); // before anything has left it
        }
        for (const { cluster, from, to } of moves) {
          t.deepEqual(
            now.filter((one) => one.cluster === cluster).map(({ owner, isBusy }) => [owner, isBusy]),
            [[from, false]],
          );
          if (wasFree > 0) continue; // what makes room is moved for a reason of its own
          t.false(cameFrom.get(cluster)?.has(to) ?? false);
          cameFrom.set(cluster, (cameFrom.get(cluster) ?? new Set()).add(from));
        }
        now = takenOver(carriedOut(now, moves), admins);
        const isFree = now.filter(({ owner }) => owner === null).length;
        t.true(wasFree === 0 ? isFree === 0 : isFree < wasFree); // room is made for one at least
      }
    }),
    { numRuns: 400 },
  );
});

test('where everything fits everywhere, the numbers of clusters differ by one at most in the end', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }), (counts) => {
      const admins = counts.map((_, index) => admin(`admin-${index}`, 10_000));
      const all = counts.flatMap((many, index) => clusters(`admin-${index}`, Array<number>(many).fill(3)));
      const end = rounds(admins, all).reduce((now, moves) => carriedOut(now, moves), all);
      const many = admins.map(({ id }) => count(end, id));

      t.true(Math.max(...many) - Math.min(...many) < DIFFERENCE_MIN);
    }),
    { numRuns: 200 },
  );
});

test("a newcomer takes three of one admin's six clusters, or one from each of two: one at a time, the smallest first", (t) => {
  const newcomer = admin('new', 100);
  const six = clusters('a', [6, 5, 4, 3, 2, 1]);
  const three = [...clusters('a', [3, 2, 1]), ...clusters('b', [6, 5, 4])];

  t.deepEqual(
    rounds([admin('a', 100), newcomer], six),
    [5, 4, 3].map((index) => [{ cluster: `a-${index}`, from: 'a', to: 'new' }]),
  );
  t.deepEqual(rounds([admin('a', 100), admin('b', 100), newcomer], three), [
    [{ cluster: 'a-2', from: 'a', to: 'new' }],
    [{ cluster: 'b-2', from: 'b', to: 'new' }],
  ]);
});

test('many clusters are moved a tenth at a time, and a few more or less of them are left alone', (t) => {
  const hundred = clusters('a', Array<number>(100).fill(1));

  t.is(planned([admin('a', 500), admin('b', 500)], hundred, LINK).length, 10);
  t.deepEqual(
    planned([admin('a', 500), admin('b', 500)], [...hundred, ...clusters('b', Array<number>(96).fill(1))], LINK),
    [],
  );
});

test('what is moved to an admin at a time fits it together', (t) => {
  const thirty = clusters('a', Array<number>(30).fill(2));

  t.is(planned([admin('a', 100), admin('b', 6)], thirty, LINK).length, 3);
  t.is(planned([admin('a', 100), admin('b', 5)], thirty, LINK).length, 2);
});

test('an admin that is new, drained, silent, unreachable or full is given nothing, not even an empty cluster', (t) => {
  const four = clusters('a', [2, 2, 2, 0]);
  const plans = [
    admin('b', 100, { aliveMs: SETTLED_MS_MIN - 1 }),
    admin('b', 100, { isDraining: true }),
    admin('b', 100, { isHeard: false }),
    admin('b', 100, { linkVersion: null }),
    admin('b', 100, { linkVersion: LINK + 1 }),
    admin('b', 0),
  ].map((other) => planned([admin('a', 100), other], four, LINK));

  t.deepEqual(plans, [[], [], [], [], [], []]);
  t.deepEqual(planned([admin('a', 100), admin('b', 1)], four, LINK), [{ cluster: 'a-3', from: 'a', to: 'b' }]);
});

test('no cluster moves while another awaits a takeover, or fits nowhere despite any move; busy clusters stay', (t) => {
  const two = [admin('a', 100), admin('b', 100)];
  const four = clusters('a', [1, 1, 1, 1]);

  t.deepEqual(planned(two, [...four, ...clusters(null, [3])], LINK), []);
  t.deepEqual(planned(two, [...four, ...clusters('gone', [1])], LINK), []);
  t.deepEqual(planned(two, [...four, ...clusters(null, [101])], LINK), []);
  t.deepEqual(
    planned(
      two,
      four.map((cluster, index) => ({ ...cluster, isBusy: index !== 2 })),
      LINK,
    ),
    [{ cluster: 'a-2', from: 'a', to: 'b' }],
  );
});
