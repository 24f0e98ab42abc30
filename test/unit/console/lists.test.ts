/** What pages that are lists decide without a browser. */
import test from 'ava';
import {
  anywhere,
  directionOf,
  filteredBy,
  listParametersOf,
  listSearchOf,
  listSortedBy,
  listStateOf,
  VALUE_CHARACTERS_MAX,
} from '../../../console/lists/query.ts';

const FILTERS = ['name', 'cluster_name'] as const;

test('a list comes back from its address as it was, and the same list has one address', (t) => {
  const state = listStateOf('?page=3&name=web*&sort=-name', FILTERS);

  t.deepEqual(state, { filters: { name: 'web*' }, sort: '-name', page: 3 });
  t.is(listSearchOf(state), '?name=web*&sort=-name&page=3');
  t.deepEqual(listParametersOf(state, 20), { name: 'web*', sort: '-name', page: 3, page_size: 20 });
  t.is(listSearchOf({ filters: {}, sort: '', page: 1 }), '');
});

test('what an address says wrongly is left out', (t) => {
  const nothing = { filters: {}, sort: '', page: 1 };
  for (const search of ['?page=0', '?page=1.5', '?page=x', '?page=1e9', '?who=me', '?name=', '?sort=name;drop'])
    t.deepEqual(listStateOf(search, FILTERS), nothing, search);
  t.is(listStateOf(`?name=${'x'.repeat(9_999)}`, FILTERS).filters.name?.length, VALUE_CHARACTERS_MAX);
});

test('another filter and another order begin at the first page', (t) => {
  const state = listStateOf('?page=3&name=a&sort=name', FILTERS);

  t.is(listSearchOf(filteredBy(state, 'cluster_name', 'prod')), '?name=a&cluster_name=prod&sort=name');
  t.is(listSearchOf(filteredBy(state, 'name', '')), '?sort=name');
  t.is(listSearchOf(listSortedBy(state, 'name')), '?name=a&sort=-name');
  t.is(directionOf(state, 'name'), 'ascending');
  t.is(directionOf(listSortedBy(state, 'name'), 'name'), 'descending');
  t.is(directionOf(state, 'other'), 'none');
  t.deepEqual([anywhere('web'), anywhere('web*')], ['*web*', 'web*']);
});
