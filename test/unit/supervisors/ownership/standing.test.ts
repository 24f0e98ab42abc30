/** Whether the admins have room for all clusters, and how that is said. */
import test from 'ava';
import { edgeCapacity } from '../../../../actors/edge-capacity.ts';
import { degradation, isDegraded, orphaned } from '../../../../actors/standing.ts';
import { assign } from '../../../../supervisors/ownership/placement.ts';
import { standingOf } from '../../../../supervisors/ownership/standing.ts';

const admin = (id: string, capacity: number, nodes = 0) => ({ id, capacity, clusters: nodes > 0 ? 1 : 0, nodes });
const clusters = (sizes: readonly number[]) =>
  sizes.map((nodes, index) => ({ cluster: `c${index}` as never, name: `c${index}`, nodes }));

function standing(admins: readonly ReturnType<typeof admin>[], sizes: readonly number[]) {
  const free = clusters(sizes);
  return standingOf(admins, free, assign(free, admins));
}

test('clusters of 4, 4 and 2 nodes with room for 5 and 5 are fragmented, with the orphan and the largest room named', (t) => {
  const fragmented = standing([admin('a', 5), admin('b', 5)], [4, 4, 2]);

  t.deepEqual(fragmented, { kind: 'fragmented', orphans: [{ cluster: 'c2', name: 'c2', nodes: 2 }], roomMax: 1 });
  t.true(isDegraded(fragmented));
  t.is(
    degradation(fragmented),
    'the admins have room for all nodes together, but none for the cluster c2 (2 nodes; the largest room is 1)',
  );
  t.deepEqual(
    fragmented.orphans.map((orphan) => orphaned(orphan, fragmented.roomMax)),
    [
      {
        code: 'service_unavailable',
        message:
          'No admin has room for the cluster c2 (2 nodes; the largest room is 1). Add an admin or raise ADMIN_MAX_WIREGUARD_PEERS.',
      },
    ],
  );
});

test('more nodes than room is overfull, whoever owns them; what awaits a takeover is no orphan; the largest is first', (t) => {
  t.deepEqual(standing([admin('a', 5, 6)], []), { kind: 'overfull', orphans: [], roomMax: 0 });
  t.is(standing([admin('a', 5, 4)], [2]).kind, 'overfull');
  t.deepEqual(standing([admin('a', 5), admin('b', 5, 3)], [2, 3]), { kind: 'whole', orphans: [], roomMax: 2 });
  const two = standing([admin('a', 5, 4), admin('b', 5, 4), admin('c', 5, 3)], [3, 1, 3, 0]);
  t.deepEqual(
    two.orphans.map(({ name }) => name),
    ['c0', 'c2'],
  );
  t.is(two.kind, 'overfull');
  const fragmented = standing([admin('a', 5, 3), admin('b', 5, 3), admin('c', 5)], [3, 3]);
  t.regex(degradation(fragmented) ?? '', /^the admins have room .* c1 /u);
  t.deepEqual([degradation(standing([], [3])), isDegraded(standing([], [3]))], [null, false]);
});

test('other admins take the room of one node each, and room is never less than none', (t) => {
  t.deepEqual([edgeCapacity(10, 1), edgeCapacity(10, 3), edgeCapacity(2, 9), edgeCapacity(10, 0)], [10, 8, 0, 10]);
});
