/** What the console makes of the feed of nodes: rows, counts, order, addresses. */
import test from 'ava';
import * as fc from 'fast-check';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { NodesMessage } from '../../../api/feeds/nodes-messages.ts';
import { commandOf, leftOutOf, requestOf } from '../../../console/fleet/commands.ts';
import {
  isFiltered,
  nodesAddress,
  queryOf,
  searchOf,
  sortedBy,
  STATUSES,
  toggled,
  WHOLE_FLEET,
} from '../../../console/fleet/query.ts';
import { NodeRows } from '../../../console/fleet/rows.ts';
import { matchedBy } from '../../../console/fleet/matching.ts';
import { FleetTotals } from '../../../console/fleet/totals.ts';
import { latestOf, NodesIndex } from '../../../console/fleet/view.ts';
import type { NodesQuery } from '../../../console/fleet/query.ts';
import { OVERSCAN_ROWS, rowAfter, scrollTo, sliceOf } from '../../../console/fleet/window.ts';
import { agoOf, aheadOf } from '../../../console/relative-time.ts';
import { addressOf, isPage, PAGE_NAMES, placeOf, routeOf } from '../../../console/routes.ts';
import { node, NOW_MS } from '../../support/console/nodes-shown.ts';

const snapshot = (page: number, pages: number, ...nodes: readonly NodeResource[]): NodesMessage => ({
  type: 'snapshot',
  page,
  pages,
  total: 4,
  nodes,
});
const viewOf = (nodes: readonly NodeResource[], query: NodesQuery) => new NodesIndex(query, nodes);
const namesOf = (rows: Iterable<NodeResource>) => [...rows].map(({ name }) => name);

test('a snapshot replaces what was known once it is whole, and changes are merged by id', (t) => {
  const rows = new NodeRows();
  rows.apply(snapshot(1, 1, node('old'), node('kept')));
  rows.apply(snapshot(1, 2, node('kept'), node('a')));

  t.deepEqual(namesOf(rows.values()), ['old', 'kept']);
  t.deepEqual(rows.progress, { known: 2, total: 4 });

  rows.apply(snapshot(2, 2, node('b'), node('c')));
  const before = rows.get('id-of-a');
  rows.apply({
    type: 'changed',
    nodes: [{ id: 'id-of-a', status: 'unhealthy' }, node('d')],
    removed: ['id-of-b', 'id-of-nobody'],
  });

  t.deepEqual(namesOf(rows.values()), ['kept', 'a', 'c', 'd']);
  t.deepEqual([rows.progress, rows.isWhole, rows.size], [null, true, 4]);
  t.deepEqual(rows.get('id-of-a'), { ...before!, status: 'unhealthy' });
  t.not(rows.get('id-of-a'), before);
});

test('a view has the rows of its query in its order, and what each other choice would show', (t) => {
  const fleet = [
    node('web-10', { status: 'unreachable' }),
    node('web-2', { labels: { env: 'prod' } }),
    node('Db-1', { cluster_name: 'lab', status: 'unhealthy', status_reason: 'ssh does not listen' }),
    node('web-1', { cluster_name: 'lab' }),
  ];
  const all = viewOf(fleet, WHOLE_FLEET);
  const web = viewOf(fleet, { ...WHOLE_FLEET, text: ' WEB ', statuses: ['healthy'], cluster: 'prod' });

  t.deepEqual(namesOf(all.rows), ['Db-1', 'web-1', 'web-2', 'web-10']);
  t.deepEqual([Object.fromEntries(all.counts.status), all.total], [{ healthy: 2, unhealthy: 1, unreachable: 1 }, 4]);
  t.deepEqual(namesOf(web.rows), ['web-2']);
  t.deepEqual(Object.fromEntries(web.counts.status), { healthy: 1, unreachable: 1 });
  t.deepEqual(Object.fromEntries(web.counts.cluster), { lab: 1, prod: 1 });
  t.deepEqual(namesOf(viewOf(fleet, { ...WHOLE_FLEET, sort: 'status' }).rows), ['web-10', 'Db-1', 'web-1', 'web-2']);
  t.deepEqual(namesOf(viewOf(fleet, { ...WHOLE_FLEET, isDescending: true }).rows), [
    'web-10',
    'web-2',
    'web-1',
    'Db-1',
  ]);
  t.deepEqual(namesOf(viewOf(fleet, { ...WHOLE_FLEET, text: 'env=prod' }).rows), ['web-2']);
  const why = (search: string, ...drawn: readonly string[]) =>
    matchedBy(fleet[1]!, queryOf(search), ['name', ...drawn]);
  t.deepEqual(why('?q=web+env='), ['env=prod']);
  t.deepEqual(why('?q=web+env=', 'labels'), []);
  t.deepEqual(why('?q=web'), []);
  t.deepEqual(why('?label=env%3Dprod'), []);
  t.deepEqual(why('?label=env%3Dprod&label=env%3Dlab&status=healthy,unhealthy'), [fleet[1]!.status, 'env=prod']);
});

test('a tile counts who is so, and who came to it within the last hour', (t) => {
  const since = (ms: number) => ({ status_since: new Date(NOW_MS - ms).toISOString() });
  const fleet = [node('a'), node('b', since(3_599_999)), node('c', { status: 'unreachable', ...since(3_600_000) })];

  const rows = new NodeRows();
  rows.apply(snapshot(1, 1, ...fleet));

  const { totals, ill } = new FleetTotals(rows, 3_600_000).at(NOW_MS);

  t.deepEqual(totals, {
    healthy: { count: 2, recent: 1 },
    unhealthy: { count: 0, recent: 0 },
    unreachable: { count: 1, recent: 0 },
  });
  t.deepEqual(namesOf(ill.values()), ['c']);
});

test('tiles follow what changed and the time as if all nodes had been counted again', (t) => {
  const change = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    status: fc.constantFrom(...STATUSES),
    agoMs: fc.nat(2_000),
    isGone: fc.boolean(),
    passedMs: fc.nat(600),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const rows = new NodeRows();
      rows.apply(snapshot(1, 1, node('a'), node('b', { status: 'unhealthy' })));
      const kept = new FleetTotals(rows, 1_000);
      let nowMs = NOW_MS;
      let latestMs = NOW_MS - 2_000; // a status never begins before those that were told of
      for (const { name, status, agoMs, isGone, passedMs } of changes) {
        latestMs = Math.max(latestMs, nowMs - agoMs);
        const after = node(name, { status, status_since: new Date(latestMs).toISOString() });
        rows.apply({ type: 'changed', nodes: isGone ? [] : [after], removed: isGone ? [after.id] : [] });
        const [ours, anew] = [kept.at(nowMs), new FleetTotals(rows, 1_000).at(nowMs)];
        t.deepEqual(ours.totals, anew.totals);
        t.deepEqual(namesOf(ours.ill.values()).toSorted(), namesOf(anew.ill.values()).toSorted());
        nowMs += passedMs;
      }
    }),
  );
});

test('the latest of many are found in one pass; of those of one time the first that came stays first', (t) => {
  const since = (name: string, ms: number) => node(name, { status_since: new Date(NOW_MS - ms).toISOString() });
  const fleet = [since('c', 3_000), since('a', 1_000), since('d', 4_000), since('a-too', 1_000), since('b', 2_000)];

  t.deepEqual(namesOf(latestOf(fleet, 3)), ['a', 'a-too', 'b']);
  t.deepEqual(namesOf(latestOf(fleet, 9)), ['a', 'a-too', 'b', 'c', 'd']);
  t.deepEqual(latestOf([], 3), []);
});

test('a query is its address, whatever is in it, and an address that says nonsense is the whole fleet', (t) => {
  const choices = fc
    .uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { maxLength: 3 })
    .map((all) => all.toSorted());
  const queries = fc.record({
    statuses: fc.subarray([...STATUSES]),
    cluster: fc.option(fc.string({ minLength: 1, maxLength: 24 })),
    versions: choices,
    systems: choices,
    architectures: choices,
    labels: choices.map((all) => all.map((one) => `key=${one}`)),
    text: fc.string({ maxLength: 40 }),
    sort: fc.constantFrom('name', 'cluster', 'status', 'since', 'version'),
    isDescending: fc.boolean(),
  });
  fc.assert(
    fc.property(queries, (query) => {
      t.deepEqual(queryOf(searchOf(query as never)), query as never);
      const route = routeOf(new URL(nodesAddress(query), 'https://admin.example'));
      t.deepEqual([route.page, queryOf(route.search)], ['nodes', query] as never);
    }),
  );
  t.deepEqual(queryOf('?status=sick,,&sort=-colour&page=7'), WHOLE_FLEET);
  t.is(searchOf(WHOLE_FLEET), '');
  t.is(isFiltered({ ...WHOLE_FLEET, text: ' ' }), false);
});

test('a status is asked for and no more, and a column turns its order round', (t) => {
  const once = toggled(WHOLE_FLEET, 'status', 'healthy');
  t.deepEqual(toggled(once, 'status', 'unreachable').statuses, ['unreachable', 'healthy']);
  t.deepEqual(toggled(once, 'status', 'healthy'), WHOLE_FLEET);
  t.is(toggled(toggled(WHOLE_FLEET, 'cluster', 'lab'), 'cluster', 'prod').cluster, 'prod');
  t.deepEqual(toggled(toggled(WHOLE_FLEET, 'label', 'b=1'), 'label', 'a=1').labels, ['a=1', 'b=1']);
  const by = sortedBy(WHOLE_FLEET, 'since');
  t.deepEqual([by.sort, by.isDescending, sortedBy(by, 'since').isDescending], ['since', false, true]);
});

test('a list is a command and a request too, in which nothing but the filters is', (t) => {
  const rest = queryOf('?os=debian&arch=x86_64&version=1.0.0&label=env%3Dlab&label=env%3Dprod&label=gpu%3D');
  t.is(commandOf(rest), "edge node ls --os debian --arch x86_64 -l 'env in (lab,prod),gpu=' --sort name");
  t.regex(
    requestOf(rest, 'http://x'),
    /version=1\.0\.0&os__in=debian&arch__in=x86_64&labels=env\+in\+%28lab%2Cprod%29%2Cgpu%3D/u,
  );

  const query = queryOf('?status=unhealthy,unreachable&cluster=prod&sort=-status&q=web');
  t.is(commandOf(query), 'edge node ls -s unreachable,unhealthy -c prod --sort -status');
  t.is(
    requestOf(query, 'https://fleet.example'),
    `curl -H "Authorization: Bearer $EDGE_API_KEY" 'https://fleet.example/api/v1/nodes?status__in=unreachable%2Cunhealthy&cluster_name=prod&sort=-status&page_size=100'`,
  );

  const hostile = queryOf(`?cluster=${encodeURIComponent("a' $(id) `id`\n-x")}`);
  t.deepEqual(leftOutOf(query), { words: true, versions: false, order: false });
  t.deepEqual(leftOutOf({ ...query, text: 'x', versions: ['1'], sort: 'since' }), {
    words: true,
    versions: true,
    order: true,
  });
  t.is(commandOf(hostile), "edge node ls -c 'a'\\'' $(id) `id`\n-x' --sort name");
  t.regex(requestOf(hostile, 'http://x'), /^curl -H "Authorization: Bearer \$EDGE_API_KEY" '[^'\s]+'$/u);
});

test('pages have addresses, files and routes are none', (t) => {
  const pageOf = (pathname: string) => routeOf({ pathname, search: '' }).page;
  t.deepEqual(
    ['/console', '/console/', '/console/nodes/', '/console/sessions', '/console/x/y/z', '/console/x'].map(pageOf),
    ['overview', 'overview', 'nodes', 'sessions', 'unknown', 'unknown'],
  );
  for (const path of ['/console', '/console/nodes', '/console/sessions', '/console/live-things'])
    t.true(isPage(path), path);
  for (const path of ['/', '/consoles', '/console/assets/a.js', '/console/session', '/console/live', '/api/docs'])
    t.false(isPage(path), path);
});

test('every page is found at its own address, whatever its id is', (t) => {
  const ids = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }).filter((id) => id.isWellFormed());
  fc.assert(
    fc.property(fc.constantFrom(...PAGE_NAMES), ids, (page, id) => {
      const { pathname, search } = new URL(addressOf(page, { id, search: '?q=1' }), 'https://admin.example');
      const hasId = placeOf(page).path.includes(':id');
      // a browser takes these two for steps of the path
      if (hasId && (id === '.' || id === '..')) return;
      t.deepEqual(routeOf({ pathname, search }), { page, id: hasId ? id : null, search: '?q=1' });
    }),
  );
  t.is(routeOf({ pathname: '/console/nodes/%', search: '' }).page, 'unknown');
});

test('only the rows of the window are drawn, and some around it', (t) => {
  t.deepEqual(sliceOf(100_000, 40, 0, 400), { from: 0, to: 10 + OVERSCAN_ROWS });
  t.deepEqual(sliceOf(100_000, 40, 40_000, 400), { from: 1_000 - OVERSCAN_ROWS, to: 1_010 + OVERSCAN_ROWS });
  t.deepEqual(sliceOf(5, 40, 0, 400), { from: 0, to: 5 });
  t.deepEqual(sliceOf(0, 40, 900, 400), { from: 0, to: 0 });
  t.deepEqual(sliceOf(5, 40, 90_000, 400), { from: 5, to: 5 }, 'the list became shorter than where it was scrolled to');

  const shown = { scrollTop: 400, height: 400, above: 32 };
  t.deepEqual(
    [9, 10, 17, 19].map((row) => scrollTo(row, 40, shown)),
    [360, null, null, 432],
  );
  t.deepEqual(
    ['j', 'k', 'ArrowUp', 'PageDown', 'End', 'Home', 'x'].map((key) => rowAfter(key, 4, 10, 8)),
    [5, 3, 3, 9, 9, 0, null],
  );
  t.is(rowAfter('j', -1, 0, 8), null);
});

test('times are told in their largest unit', (t) => {
  const ago = (ms: number) => agoOf(new Date(NOW_MS - ms).toISOString(), NOW_MS);
  t.deepEqual([-5_000, 0, 59_999, 60_000, 7_200_000, 172_800_000].map(ago), [
    '0 s',
    '0 s',
    '59 s',
    '1 min',
    '2 h',
    '2 d',
  ]);
  const ahead = (ms: number) => aheadOf(new Date(NOW_MS + ms).toISOString(), NOW_MS);
  t.deepEqual([-5_000, 59_999, 7_200_000].map(ahead), ['0 s', '59 s', '2 h']);
});
