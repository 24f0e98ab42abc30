/** Room for a cluster that fits nowhere. */
import test from 'ava';
import * as fc from 'fast-check';
import type { Holding, Move } from '../../../../supervisors/ownership/placement.ts';
import { movesForOrphan, ORPHAN_MOVES_MAX } from '../../../../supervisors/ownership/orphan-moves.ts';

/** An admin with room for so many nodes that owns clusters of these sizes. */
function holding(id: string, capacity: number, sizes: readonly number[]): Holding {
  const movable = sizes
    .map((nodes, index) => ({ cluster: `${id}-${index}`, name: `${id}-${index}`, nodes, owner: id, isBusy: false }))
    .sort((a, b) => a.nodes - b.nodes);
  return { id, capacity, clusters: sizes.length, nodes: sizes.reduce((sum, nodes) => sum + nodes, 0), movable };
}

const orphan = (nodes: number) => ({ cluster: 'orphan', name: 'orphan', nodes });

/** Whether it fits somewhere after these, and nobody has more than it may. */
function helps(nodes: number, holdings: readonly Holding[], moves: readonly Move[]): boolean {
  const rooms = new Map(holdings.map(({ id, capacity, nodes: owned }) => [id, capacity - owned]));
  for (const { cluster, from, to } of moves) {
    const moved = holdings.flatMap(({ movable }) => movable).find((one) => one.cluster === cluster)?.nodes ?? 0;
    rooms.set(from, (rooms.get(from) ?? 0) + moved);
    rooms.set(to, (rooms.get(to) ?? 0) - moved);
  }
  return [...rooms.values()].every((room) => room >= 0) && Math.max(...rooms.values()) >= nodes;
}

/** Every set of so many moves of smaller clusters away from one admin. */
function* allMoves(nodes: number, holdings: readonly Holding[], count: number): Generator<readonly Move[]> {
  for (const { id, movable } of holdings) {
    const smaller = movable.filter((cluster) => cluster.nodes < nodes);
    const others = holdings.filter((other) => other.id !== id);
    const sets = function* (from: number, left: number): Generator<readonly Move[]> {
      if (left === 0) {
        yield [];
        return;
      }
      for (let index = from; index < smaller.length; index += 1)
        for (const to of others)
          for (const rest of sets(index + 1, left - 1))
            yield [{ cluster: smaller[index]?.cluster ?? '', from: id, to: to.id }, ...rest];
    };
    yield* sets(0, count);
  }
}

test('a cluster of four fits after a smaller one has gone to where there is room', (t) => {
  const holdings = [holding('a', 5, [3]), holding('b', 5, [2])];

  t.deepEqual(movesForOrphan(orphan(4), holdings), [{ cluster: 'b-0', from: 'b', to: 'a' }]);
});

test('nothing is moved for what fits nowhere all the same, or by more than three moves only', (t) => {
  t.deepEqual(movesForOrphan(orphan(2), [holding('a', 5, [4]), holding('b', 5, [4])]), []);
  t.deepEqual(movesForOrphan(orphan(6), [holding('a', 5, [1]), holding('b', 5, [1])]), []);
  t.deepEqual(movesForOrphan(orphan(4), [holding('a', 4, [1, 1, 1, 1]), holding('b', 4, [])]), []);
  t.is(movesForOrphan(orphan(3), [holding('a', 4, [1, 1, 1, 1]), holding('b', 2, [])]).length, 0);
  t.is(movesForOrphan(orphan(4), [holding('a', 4, [1, 1, 1]), holding('b', 3, [])]).length, ORPHAN_MOVES_MAX);
});

test('the moves are as few as any that help, and of those as small: no search finds better ones', (t) => {
  const fleets = fc.array(
    fc.record({ spare: fc.nat(4), sizes: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 5 }) }),
    { minLength: 1, maxLength: 3 },
  );
  fc.assert(
    fc.property(fleets, fc.integer({ min: 1, max: 9 }), (fleet, nodes) => {
      const holdings = fleet.map(({ spare, sizes }, index) =>
        holding(`admin-${index}`, spare + sizes.reduce((sum, size) => sum + size, 0), sizes),
      );
      fc.pre(fleet.every(({ spare }) => spare < nodes)); // else it is none
      const sizeOf = (moves: readonly Move[]): number =>
        moves
          .map((move) => holdings.flatMap(({ movable }) => movable).find((one) => one.cluster === move.cluster))
          .reduce((sum, cluster) => sum + (cluster?.nodes ?? 0), 0);
      let least: readonly number[] = [0, 0];
      for (let count = 1; count <= ORPHAN_MOVES_MAX && least[0] === 0; count += 1) {
        const helping = [...allMoves(nodes, holdings, count)].filter((moves) => helps(nodes, holdings, moves));
        if (helping.length > 0) least = [count, Math.min(...helping.map(sizeOf))];
      }

      const moves = movesForOrphan(orphan(nodes), holdings);

      t.deepEqual([moves.length, sizeOf(moves)], least);
      if (moves.length > 0) t.true(helps(nodes, holdings, moves));
    }),
    { numRuns: 300 },
  );
});
