/** What pages that are lists decide without a browser. */
import test from 'ava';
import type { PathMember, PeerPath } from '../../../actors/resources/cluster-paths.ts';
import type { Envelope } from '../../../actors/events.ts';
import { EVENTS_KEPT_MAX, isMatch, keptWith, subjectsOf, wordsOf } from '../../../console/lists/events.ts';
import { headersIn } from '../../../console/lists/header-lines.ts';
import { installLine, letsIn } from '../../../console/lists/install-line.ts';
import { labelsIn, labelsText } from '../../../console/lists/labels.ts';
import { idsOf, LOOKED_UP_NAMES_MAX, nodesNamed } from '../../../console/lists/named-nodes.ts';
import { matrixOf, peersOf, PEERS_SEEN_MAX } from '../../../console/lists/paths.ts';
import { publicKeysIn } from '../../../console/lists/public-keys.ts';
import { reachOf } from '../../../console/lists/groups-of-node.ts';
import type { Api } from '../../../api/client/api.ts';
import { cutOf, DROPPED_MS, troubleFilters, WAITING_MS } from '../../../console/lists/webhook-trouble.ts';
import { plainTargetingOf, targetingOf, targetingText } from '../../../console/lists/targeting.ts';
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

const KEY_OF = (urls: readonly string[]): string =>
  Buffer.from(JSON.stringify({ admin_urls: urls, cluster_name: 'prod', nonce: 'n' })).toString('base64url');

test('the line that installs leads to an admin that the machine reaches', (t) => {
  const [local, outside] = ['http://127.0.0.1:44000', 'https://fleet.example.com'];
  const line = (urls: readonly string[], origin: string) => installLine(KEY_OF(urls), origin);

  t.deepEqual(line([local, outside], outside), {
    url: outside,
    line: `curl -fsSL ${outside}/install.sh | sudo sh -s -- --key ${KEY_OF([local, outside])}`,
  });
  t.is(line([local, outside], local).url, local, 'the page came from there');
  t.is(line([local], outside).line.endsWith(` --admin ${outside}`), true);
  t.is(line([local], 'http://localhost:44000').url, local);
  t.is(installLine('no key at all', outside).url, outside);
  t.true(line([`https://x'; rm -rf /`], 'https://y').line.includes(`'https://x'\\''; rm -rf //install.sh'`));
});

test('the line of a key is shown for as long as a machine joins with it', (t) => {
  const nowMs = Date.parse('2026-11-30T12:00:00Z');
  const [before, later] = ['2026-11-30T11:59:59.999Z', '2026-11-30T12:00:00.001Z'];
  const cases = [
    [{ uses_remaining: null, expired_at: null }, true],
    [{ uses_remaining: 1, expired_at: later }, true],
    [{ uses_remaining: 0, expired_at: null }, false],
    [{ uses_remaining: null, expired_at: before }, false],
  ] as const;

  for (const [key, isShown] of cases) t.is(letsIn(key, nowMs), isShown, JSON.stringify(key));
});

test('labels, headers and keys are read from lines, and the first that is none is told', (t) => {
  t.deepEqual(labelsIn(' env=prod, gpu,'), { ok: true, labels: { env: 'prod', gpu: '' } });
  t.deepEqual(labelsIn('a=b=c'), { ok: false, part: 'a=b=c' });
  t.deepEqual(labelsIn('a=b,=c'), { ok: false, part: '=c' });
  t.is(labelsText({ env: 'prod', gpu: '' }), 'env=prod, gpu');

  t.deepEqual(headersIn('A: b: c\n\nX:'), { ok: true, headers: { A: 'b: c', X: '' } });
  t.deepEqual(headersIn('A: b\nnone'), { ok: false, line: 2 });

  t.deepEqual(publicKeysIn('# mine\nssh-ed25519 AAAA me@home\n\nssh-rsa BBBB', 'deploy'), [
    { key_name: 'me@home', public_key: 'ssh-ed25519 AAAA me@home' },
    { key_name: 'deploy', public_key: 'ssh-rsa BBBB' },
  ]);
});

const eventOf = (id: string, data: Envelope['data'] = {}): Envelope => ({
  specversion: '1.0',
  id,
  source: '/edge-fleet-control',
  type: 'edge.node.status_changed',
  time: '2026-01-01T00:00:00.000Z',
  datacontenttype: 'application/json',
  corename: 'one',
  data,
});

test('events are kept newest first, each once, and the oldest go', (t) => {
  const many = Array.from({ length: EVENTS_KEPT_MAX + 5 }, (_, index) => eventOf(`e${index}`));
  const kept = keptWith(keptWith([], many), [eventOf(`e${EVENTS_KEPT_MAX}`), eventOf('new')]);

  t.is(kept.length, EVENTS_KEPT_MAX);
  t.deepEqual([kept[0]?.id, kept[1]?.id], ['new', `e${EVENTS_KEPT_MAX + 4}`]);
});

test('an event is found by any of its words, says what is new, and leads to what it is of', (t) => {
  const event = eventOf('e', {
    node_id: 'n-1',
    cluster_name: 'a/b',
    status: 'healthy',
    previous_status: 'unreachable',
    version: 3,
  });

  t.true(isMatch(event, 'N-1 status_changed'));
  t.false(isMatch(event, 'n-1 nowhere'));
  t.is(wordsOf(event), 'unreachable → healthy · 3');
  t.deepEqual(subjectsOf(event), [
    { text: 'n-1', href: '/console/nodes/n-1' },
    { text: 'a/b', href: '/console/clusters/a%2Fb' },
  ]);
});

const NODE = (index: number): string => `0193a1c2-0000-7000-8000-${String(index).padStart(12, '0')}`;

test('nodes are found by their names, each once; the first name of none or of several is told', async (t) => {
  const known: Readonly<Record<string, readonly string[]>> = {
    web: [NODE(1)],
    one: [NODE(1)],
    twin: [NODE(2), NODE(3)],
  };
  const asked: string[] = [];
  const named = (...names: readonly string[]) =>
    nodesNamed(names, async (name) => {
      asked.push(name);
      return known[name] ?? [];
    });

  t.deepEqual(await named('web', NODE(9), 'one'), { ids: [NODE(1), NODE(9)] });
  t.deepEqual(asked, ['web', 'one'], 'an id is one');
  t.deepEqual(await named('web', 'nobody', 'twin'), { unknown: 'nobody' });
  t.deepEqual(await named('twin'), { several: 'twin' });
  const many = Array.from({ length: LOOKED_UP_NAMES_MAX + 1 }, (_, index) => `web-${index}`);
  asked.length = 0;
  t.deepEqual([await named(...many), asked], [{ tooMany: many.length }, []]);
  t.deepEqual(await named(...many.map((_, index) => NODE(index))), { ids: many.map((_, index) => NODE(index)) });
});

test('an alias is found with its cluster, where no machine is called so', async (t) => {
  const aliases = [{ name: 'web', cluster_name: 'prod', node_id: NODE(1) }];
  const api = {
    list_aliases: {
      query: async ({ name, cluster_name: cluster }: { name: string; cluster_name?: string }) => ({
        data: aliases.filter((one) => one.name === name && (cluster === undefined || one.cluster_name === cluster)),
      }),
    },
    list_nodes: {
      query: async ({ hostname }: { hostname: string }) => ({ data: hostname === 'db.prod' ? [{ id: NODE(2) }] : [] }),
    },
  } as unknown as Api;

  const found = await Promise.all(['web', 'web.prod', 'db.prod', 'web.lab', 'we*'].map((name) => idsOf(api, name)));

  t.deepEqual(found, [[NODE(1)], [NODE(1)], [NODE(2)], [], []]);
});

test('a targeting is what a form says, and reads so', (t) => {
  const none = { type: 'all', clusters: 'x', group: 'y', labels: '', version: '' };

  t.deepEqual(targetingOf(none), { type: 'all' });
  t.deepEqual(targetingOf({ ...none, type: 'clusters', clusters: 'a, b,', version: '1.*' }), {
    type: 'clusters',
    cluster_names: ['a', 'b'],
    node_filters: { version: '1.*' },
  });
  t.deepEqual(plainTargetingOf({ ...none, type: 'nodes', nodes: ['a'], labels: 'gpu' }), {
    type: 'nodes',
    node_ids: ['a'],
    labels: 'gpu',
  });
  t.is(targetingText(targetingOf({ ...none, type: 'group', labels: 'env=prod' })), 'group y · env=prod');
  t.is(targetingText({ type: 'nodes', withheld: true }), 'not shown in a list');
});

test('a group holds a node by its id or cluster; labels and filters are the question that is left', (t) => {
  const one = { id: 'a', cluster_name: 'prod' };

  t.true(reachOf({ type: 'all' }, one));
  t.true(reachOf({ type: 'nodes', node_ids: ['b', 'a'] }, one));
  t.false(reachOf({ type: 'nodes', node_ids: ['b'], labels: 'env=prod' }, one));
  t.true(reachOf({ type: 'clusters', cluster_names: ['prod'] }, one));
  t.false(reachOf({ type: 'clusters', cluster_names: ['lab'] }, one));
  t.deepEqual(
    reachOf({ type: 'clusters', cluster_names: ['prod'], labels: 'env', node_filters: { version: '1' } }, one),
    {
      type: 'nodes',
      node_ids: ['a'],
      labels: 'env',
      node_filters: { version: '1' },
    },
  );
});

test('a matrix has what each member says of its way to each other, and what is not known', (t) => {
  const member = (id: string, paths: PathMember['paths'], problem: string | null = null): PathMember => ({
    node_id: id,
    name: id,
    status: 'healthy',
    problem,
    paths,
    counts: { direct: 0, relayed: 0, none: 0 },
  });
  const path = { node_id: 'a', path: 'relayed', handshake_age_seconds: 3 } as const;
  const toGateway = { node_id: null, path: 'direct', handshake_age_seconds: null } as const;
  const members = [member('b', [path, toGateway]), member('a', [], 'The node is away.')];

  const matrix = matrixOf({ cluster_name: 'prod', member_count: 2, members });

  t.deepEqual(
    matrix.rows.map(({ member: { name }, cells, gateway }) => [name, ...cells.map(({ kind }) => kind), gateway.kind]),
    [
      ['a', 'self', 'unknown', 'unknown'],
      ['b', 'known', 'self', 'known'],
    ],
  );
  t.deepEqual([matrix.isWhole, matrix.silent], [true, 1]);
  t.false(matrixOf({ cluster_name: 'prod', member_count: 3, members }).isWhole);
});

test('of the peers of a node the gateway is seen first, then whom it does not reach, and not more than fit', (t) => {
  const peer = (name: string, path: PeerPath['path'], id: string | null = name): PeerPath => ({
    node_id: id,
    name,
    status: 'healthy',
    path,
    handshake_age_seconds: null,
  });
  const direct = Array.from({ length: PEERS_SEEN_MAX }, (_none, index) => peer(`direct ${index}`, 'direct'));
  const paths = [...direct, peer('b', 'relayed'), peer('c', 'none'), peer('a', 'none'), peer('', 'direct', null)];

  const { seen, more, counts } = peersOf({ paths });

  t.deepEqual(
    seen.slice(0, 5).map(({ name }) => name),
    ['', 'c', 'a', 'b', 'direct 0'],
  );
  t.deepEqual([seen.length, more.length], [PEERS_SEEN_MAX, 4]);
  t.deepEqual(counts, { direct: PEERS_SEEN_MAX + 1, relayed: 1, none: 2 });
});

test('webhooks in trouble are asked for by times; what is no trouble asks for all', (t) => {
  const nowMs = Date.UTC(2026, 0, 1);
  const before = (ms: number) => new Date(nowMs - ms).toISOString();

  t.deepEqual(troubleFilters('waiting', nowMs), { waiting_since__lte: before(WAITING_MS) });
  t.deepEqual(troubleFilters('dropped', nowMs), { dropped_at__gte: before(DROPPED_MS) });
  t.deepEqual(troubleFilters('<b>', nowMs), {});
  t.deepEqual(troubleFilters(undefined, nowMs), {});
});

test('all webhooks of a kind are offered wherever one of that kind is not named', (t) => {
  const webhook = { id: 'i', url: 'u', waiting: 1, last_status_code: null, last_error: null };
  const waits = { ...webhook, waiting_since: '2026-01-01T00:00:00.000Z', dropped: 0 };
  const gaveUp = { ...webhook, waiting_since: null, dropped: 2 };
  const cut = (waiting: number, dropped: number, named: readonly (typeof waits | typeof gaveUp)[]) =>
    cutOf({ waiting, dropped, deliveries_counted_max: 1_000, named });

  t.deepEqual(cut(0, 0, []), { waiting: null, dropped: null });
  t.deepEqual(cut(5, 1, [waits, waits, waits, waits, waits]), { waiting: null, dropped: 1 });
  t.deepEqual(cut(6, 0, [waits, waits, waits, waits, waits]), { waiting: 6, dropped: null });
  t.deepEqual(cut(3, 4, [waits, waits, waits, gaveUp, gaveUp]), { waiting: null, dropped: 4 });
  t.deepEqual(cut(1, 2, [{ ...waits, dropped: 1 }, gaveUp]), { waiting: null, dropped: null });
});
