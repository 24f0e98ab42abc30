/** The list of nodes: what changes in it, its filters, columns and views, and what is done to those that are chosen. */
import test from 'ava';
import * as fc from 'fast-check';
import type { NodeResource, NodeStatus } from '../../../actors/resources/node.ts';
import { columnsIn, withEarlier, withToggled } from '../../../console/fleet/columns.ts';
import { changesText, labelChangesOf, lineOf, typedNameOf } from '../../../console/fleet/node-actions.ts';
import { WHOLE_FLEET, type NodesQuery } from '../../../console/fleet/query.ts';
import { CHANGES_KEPT_MAX, NodeRows } from '../../../console/fleet/rows.ts';
import { NodesIndex } from '../../../console/fleet/view.ts';
import { VIEWS_MAX, viewsIn, withView } from '../../../console/fleet/views.ts';
import { node } from '../../support/console/nodes-shown.ts';

const seen = (index: NodesIndex) => ({
  rows: index.rows,
  counts: Object.fromEntries(
    Object.entries(index.counts).map(([facet, all]) => [
      facet,
      [...all].sort(([one], [other]) => (one < other ? -1 : 1)),
    ]),
  ),
  total: index.total,
});

test('what changed takes its place as if all had been looked at again, whatever is asked for', (t) => {
  const statuses: NodeStatus[] = ['healthy', 'unhealthy', 'unreachable'];
  const nodes = fc.record({
    name: fc.integer({ min: 0, max: 99 }).map((number) => `web-${number}`),
    status: fc.constantFrom(...statuses),
    cluster_name: fc.constantFrom('lab', 'prod'),
    version: fc.constantFrom('1', '2'),
    labels: fc.dictionary(fc.constantFrom('env', 'tier'), fc.constantFrom('a', 'b')),
  });
  const queries = fc.record({
    statuses: fc.subarray(statuses),
    cluster: fc.constantFrom(null, 'lab'),
    versions: fc.subarray(['1', '2']),
    labels: fc.subarray(['env=a', 'env=b', 'tier=a']),
    text: fc.constantFrom('', 'web-1'),
    sort: fc.constantFrom('name', 'status', 'version'),
    isDescending: fc.boolean(),
  });
  const changes = fc.array(fc.record({ place: fc.nat(39), to: fc.option(nodes) }), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(nodes, { minLength: 40, maxLength: 40 }), queries, changes, (all, asked, changed) => {
      const query = { ...WHOLE_FLEET, ...asked } as NodesQuery;
      const rows = new NodeRows();
      const at = (place: number, over: object): NodeResource => ({ ...node('x', over), id: `id-${place}` });
      rows.apply({ type: 'snapshot', page: 1, pages: 1, total: 40, nodes: all.map((one, place) => at(place, one)) });
      const index = new NodesIndex(query, rows.values());
      const from = rows.position;

      for (const { place, to } of changed)
        if (to === null) rows.apply({ type: 'changed', nodes: [], removed: [`id-${place}`] });
        else rows.apply({ type: 'changed', nodes: [at(place, to)], removed: [] });

      t.true(index.change(rows.changesSince(from)!));
      t.deepEqual(seen(index), seen(new NodesIndex(query, rows.values())));
    }),
    { numRuns: 300 },
  );
});

test('a change among 100,000 rows costs 60 comparisons at most, however many rows there are', (t) => {
  let reads = 0;
  const at = (place: number, ms: number): NodeResource => ({
    ...node(`web-${place}`),
    get status_since() {
      reads += 1; // two are compared
      return new Date(ms).toISOString();
    },
  });
  const all = Array.from({ length: 100_000 }, (_none, place) => at(place, ((place * 7_919) % 100_003) * 1_000));
  const index = new NodesIndex({ ...WHOLE_FLEET, sort: 'since' }, all);
  const moved = (count: number) =>
    Array.from({ length: count }, (_none, place) => ({
      before: all[place * 97]!,
      after: at(place * 97, ((place * 104_729) % 100_003) * 1_000 + 500),
    }));

  for (const changes of [moved(10), moved(1_000).slice(10)]) {
    reads = 0;
    t.true(index.change(changes));
    t.true(reads / 2 <= 60 * changes.length, `${reads / 2} comparisons for ${changes.length} changes`);
  }
  t.is(index.rows.length, 100_000);
  t.is(index.counts.status.get('healthy'), 100_000);
});

test('who looks once a frame sees every change, beside others too, and what all have seen is forgotten', (t) => {
  const rows = new NodeRows();
  rows.apply({ type: 'snapshot', page: 1, pages: 1, total: 1, nodes: [node('a')] });
  const from = rows.position;
  const positions = [from, from];
  for (let frame = 0; frame < 100; frame += 1) {
    rows.apply({ type: 'changed', nodes: Array.from({ length: 3 }, () => node('a')), removed: [] });
    for (const [reader, position] of positions.entries()) {
      t.is(rows.changesSince(position)?.length, 3, `${reader} at ${frame}`);
      positions[reader] = rows.position;
    }
  }

  t.is(rows.changesSince(from), null, 'what is long gone is kept for nobody');
});

test('after a snapshot, and where too much changed, all rows are looked at again', (t) => {
  const rows = new NodeRows();
  rows.apply({ type: 'snapshot', page: 1, pages: 1, total: 1, nodes: [node('a')] });
  const from = rows.position;
  rows.apply({ type: 'changed', nodes: Array.from({ length: CHANGES_KEPT_MAX + 1 }, () => node('a')), removed: [] });

  t.is(rows.changesSince(from), null);
  t.is(rows.changesSince(rows.position - 1)?.length, 1);
  t.deepEqual(rows.changesSince(rows.position), []);
  const index = new NodesIndex(WHOLE_FLEET, rows.values());
  t.false(index.change([{ before: node('a'), after: node('a') }]));
});

test('a choice of labels asks for any value of a key and for all keys, and counts what another value would show', (t) => {
  const labels = (env: string, tier: string) => ({ labels: { env, tier } });
  const fleet = [node('a', labels('lab', 'x')), node('b', labels('prod', 'x')), node('c', labels('prod', 'y'))];

  const index = new NodesIndex({ ...WHOLE_FLEET, labels: ['env=prod', 'tier=x'] }, fleet);

  t.deepEqual(
    index.rows.map(({ name }) => name),
    ['b'],
  );
  t.deepEqual(Object.fromEntries(index.counts.label), { 'env=lab': 1, 'env=prod': 1, 'tier=x': 1, 'tier=y': 1 });
});

test('columns and views that a browser kept are checked, whatever somebody wrote there', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (kept) => {
      t.notThrows(() => columnsIn(kept));
      t.notThrows(() => viewsIn(kept));
    }),
  );
  t.deepEqual(columnsIn(['why', 'colour', 'id', 'why', 7]), ['why', 'id']);
  t.deepEqual(withEarlier(['why', 'id', 'os'], 'os'), ['why', 'os', 'id']);
  t.deepEqual(withEarlier(['why', 'id'], 'why'), ['why', 'id']);
  t.deepEqual(withToggled(['why', 'id'], 'why'), ['id']);
  t.deepEqual(viewsIn([{ name: ' mine ', search: '?status=healthy&x=1' }, { name: 'mine', search: '' }, null]), [
    { name: 'mine', search: '?status=healthy' },
  ]);
});

test('a browser keeps so many views and no more, and one of a name', (t) => {
  const full = Array.from({ length: VIEWS_MAX }, (_, index) => ({ name: `view-${index}`, search: '' }));

  t.is(withView(full, { name: 'one more', search: '' }), null);
  t.is(withView(full, { name: 'view-3', search: '?q=x' })?.length, VIEWS_MAX);
  t.deepEqual(viewsIn([...full, { name: 'one more', search: '' }]), full);
});

test('a node is named so that one can tell it from others, and type it', (t) => {
  const one = node('web-1', { id: '0123456789abcdef' });

  t.is(lineOf(one.id, one), 'web-1 (prod, 01234567)');
  t.is(lineOf(one.id, undefined), '01234567');
  t.is(typedNameOf(one), 'web-1');
  for (const name of ['\u202egnitirw', ' x', 'two\nlines', 'x'.repeat(61), ''])
    t.is(typedNameOf({ ...one, name }), '01234567');
});

test('labels are set and removed as in a terminal', (t) => {
  const changes = labelChangesOf('env=prod, gpu old- a=b=c-');

  t.deepEqual(changes, { set: { env: 'prod', gpu: '', a: 'b=c-' }, removed: ['old'] });
  t.is(changesText(changes!), 'env=prod gpu a=b=c- old-');
  t.is(labelChangesOf(' , '), null);
});
