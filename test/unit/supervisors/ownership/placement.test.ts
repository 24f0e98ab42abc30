/** Which admin takes which free cluster: a pure function of the rows. */
import test from 'ava';
import * as fc from 'fast-check';
import { assign } from '../../../../supervisors/ownership/placement.ts';

/** Rows, and the same in another order. */
function inTwoOrders<T>(rows: fc.Arbitrary<T[]>): fc.Arbitrary<readonly [T[], T[]]> {
  return rows.chain((all) =>
    fc.shuffledSubarray(all, { minLength: all.length }).map((other): readonly [T[], T[]] => [all, other]),
  );
}

const admins = fc.uniqueArray(
  fc.record({ id: fc.uuid(), capacity: fc.nat(200), clusters: fc.nat(5), nodes: fc.nat(100) }),
  { minLength: 0, maxLength: 5, selector: (admin) => admin.id },
);
const clusters = fc.uniqueArray(
  fc.record({ cluster: fc.uuid(), name: fc.string({ minLength: 1, maxLength: 24 }), nodes: fc.nat(60) }),
  { maxLength: 30, selector: (cluster) => cluster.cluster },
);

test('the assignment does not depend on the order of rows, stays within capacity, and omits only what fits nowhere', (t) => {
  fc.assert(
    fc.property(inTwoOrders(admins), inTwoOrders(clusters), ([who, whoElse], [what, whatElse]) => {
      const names = new Set(what.map((cluster) => cluster.name));
      fc.pre(names.size === what.length); // names are unique in the table
      const assigned = assign(what, who);
      const gained = (id: string): number =>
        what.filter(({ cluster }) => assigned.get(cluster) === id).reduce((sum, { nodes }) => sum + nodes, 0);

      t.deepEqual(Object.fromEntries(assign(whatElse, whoElse)), Object.fromEntries(assigned));
      for (const { id, nodes, capacity } of who) if (gained(id) > 0) t.true(nodes + gained(id) <= capacity);
      for (const { cluster, nodes } of what)
        if (!assigned.has(cluster))
          t.true(who.every((admin) => admin.capacity - admin.nodes - gained(admin.id) < nodes));
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

test('an empty cluster goes to an admin that has room for its first node, and to any other only when none has', (t) => {
  const full = { id: 'full', capacity: 5, clusters: 1, nodes: 5 };
  const roomy = { id: 'roomy', capacity: 5, clusters: 3, nodes: 4 };
  const empty = [{ cluster: 'c', name: 'c', nodes: 0 }];

  t.deepEqual([...assign(empty, [full, roomy])], [['c', 'roomy']]);
  t.deepEqual([...assign(empty, [full])], [['c', 'full']]);
});
