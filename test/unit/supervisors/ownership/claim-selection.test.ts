/** What an admin claims of the free clusters. */
import test from 'ava';
import { UNCLAIMED_ROUNDS_MAX, ClaimSelection } from '../../../../supervisors/ownership/claim-selection.ts';

const size = (name: string, nodes: number) => ({ cluster: name as never, name, nodes });
const me = { id: 'me', capacity: 6, clusters: 1, nodes: 1 };
const other = { id: 'other', capacity: 5, clusters: 0, nodes: 0 };

test('an admin claims what is assigned to it, and what others left for three rounds, as much as fits', (t) => {
  const claims = new ClaimSelection('me');
  const free = [
    size('mine', 2),
    size('large', 4),
    size('small', 2),
    size('next', 1),
    size('more', 1),
    size('orphan', 9),
  ];
  const assigned = new Map([
    ['mine', 'me'],
    ['large', 'other'],
    ['small', 'other'],
    ['next', 'other'],
    ['more', 'other'],
  ]);
  t.is(UNCLAIMED_ROUNDS_MAX, 3);
  const rounds = Array.from({ length: UNCLAIMED_ROUNDS_MAX + 1 }, () => claims.claimed(free, [me, other], assigned));

  t.deepEqual(rounds as unknown, [['mine'], ['mine'], ['mine'], ['mine', 'small', 'next']]);
  t.deepEqual(claims.claimed(free.slice(4), [me, other], assigned) as unknown, ['more']);
  claims.claimed([], [me, other], assigned);
  t.deepEqual(claims.claimed(free.slice(4), [me, other], assigned), []);
});
