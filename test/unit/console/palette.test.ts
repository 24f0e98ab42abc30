/** What the palette finds, and that keys lead to one page each. */
import { EventEmitter, once } from 'node:events';
import test from 'ava';
import {
  ASKED_COMMANDS_MAX,
  ASKED_ROWS_MAX,
  askedItems,
  PaletteSearch,
  type PaletteApi,
} from '../../../console/palette-asked.ts';
import {
  ACTED_NODES_MAX,
  findItems,
  findWithActions,
  FOUND_MAX,
  FOUND_OF_KIND_MAX,
  NODE_VERBS,
  scoreOf,
  type Item,
  type Kind,
} from '../../../console/palette.ts';
import { OWN_PAGES, placeOf, sectionOf } from '../../../console/routes.ts';

const item = (kind: Kind, text: string, more?: string): Item => ({
  kind,
  id: `${kind}-${text}`,
  text,
  ...(more !== undefined && { more }),
  leads: { to: '/console' },
});
const texts = (items: readonly Item[]): readonly string[] => items.map(({ text }) => text);

test('a word is found best in whole, then at beginnings, within, and last by its letters', (t) => {
  const scores = ['web', 'web-1', 'my-web', 'cobweb', 'w-e-b'].map((text) => scoreOf(text, 'web'));

  t.deepEqual(
    scores,
    scores.toSorted((one, other) => (other ?? 0) - (one ?? 0)),
  );
  t.is(new Set(scores).size, 5);
  t.is(scoreOf('bew', 'web'), null);
  t.is(scoreOf('a-b', 'ab'), null, 'two letters in order are in nearly everything');
  t.is(scoreOf('cobweb my-web', 'web'), scoreOf('my-web', 'web'), 'the best place counts');
});

test('every word must be found, in the text or beside it, and the best stands first', (t) => {
  const items = [
    item('nodes', 'cobweb-2', 'berlin'),
    item('nodes', 'web-2', 'paris'),
    item('nodes', 'web-12', 'berlin'),
    item('nodes', 'web-2-old', 'berlin'),
  ];

  t.deepEqual(texts(findItems(items, ' WEB  2 berlin ')), ['web-2-old', 'web-12', 'cobweb-2']);
  t.deepEqual(texts(findItems(items, 'web nowhere')), []);
});

test('kinds stand together, the one with the best first; without a word there are no nodes', (t) => {
  const items = [item('pages', 'Nodes'), item('actions', 'Sign out'), item('nodes', 'sign'), item('nodes', 'a-sign')];

  t.deepEqual(texts(findItems(items, 'sign')), ['sign', 'a-sign', 'Sign out']);
  t.deepEqual(texts(findItems(items, '')), ['Nodes', 'Sign out']);
});

test('what is shown is bounded, however much there is and whatever is typed', (t) => {
  const items = (['nodes', 'clusters', 'commands', 'pages', 'actions'] as const).flatMap((kind) =>
    Array.from({ length: 1_000 }, (_, index) => item(kind, `web-${index}`)),
  );

  const found = findItems(items, 'web');

  t.is(found.length, FOUND_MAX);
  t.is(found.filter(({ kind }) => kind === 'pages').length, FOUND_OF_KIND_MAX);
  t.deepEqual(findItems(items, 'x'.repeat(1_000_000)), []);
  t.is(findItems(items, 'web '.repeat(10_000)).length, FOUND_MAX);
});

test('each key leads to one page, and each page below one of the navigation belongs to it', (t) => {
  const jumps = OWN_PAGES.flatMap((page) => placeOf(page).jump ?? []);

  t.is(new Set(jumps).size, jumps.length);
  for (const jump of jumps) t.regex(jump, /^[a-z]$/u);
  for (const page of OWN_PAGES) if (placeOf(page).group !== null) t.is(sectionOf(page), page);
});

const found = (items: readonly Item[], sought: string): readonly string[] =>
  findWithActions(
    () => items,
    sought,
    ({ text }) => NODE_VERBS.map((verb) => ({ verb, item: item('on-node', `${verb} ${text}`) })),
  ).map(({ text }) => text);

test('what can be done on a node stands behind the nodes that were found, and is asked for by its word', (t) => {
  const items = [item('nodes', 'web-1'), item('nodes', 'web-12'), item('pages', 'web of things')];

  t.deepEqual(found(items, 'web-1'), ['web-1', 'web-12', 'run web-1', 'terminal web-1', 'diagnose web-1']);
  t.deepEqual(found(items, 'term web-1'), ['terminal web-1', 'terminal web-12']);
  t.deepEqual(found(items, 'web-12 diag'), ['diagnose web-12']);
  t.deepEqual(found(items, 'things'), ['web of things']);
  t.deepEqual(found(items, 'run'), [], 'on which node is not said');
  t.deepEqual(found([], 'run web'), []);
});

test('more nodes than a few are not offered with an action', (t) => {
  const items = Array.from({ length: 1_000 }, (_, index) => item('nodes', `web-${index}`));

  t.is(found(items, 'run web').length, ACTED_NODES_MAX);
});

/** When it is asked, in ms. */
const NOW_MS = Date.UTC(2026, 0, 15, 12);

/** A service with more clusters, groups and commands than a page of a list has, and what it was asked. */
function serviceOf() {
  const asked: unknown[] = [];
  const names = Array.from({ length: 500 }, (_, index) => `lab-${String(index).padStart(3, '0')}`);
  const listOf =
    <Row>(rows: readonly Row[], textOf: (row: Row) => string, field: string) =>
    async (query: Readonly<Record<string, unknown>>) => {
      asked.push(query);
      const given = query[field];
      const pattern = typeof given === 'string' ? given.replaceAll('*', '') : '';
      return { data: rows.filter((row) => textOf(row).includes(pattern)).slice(0, Number(query['page_size'])) };
    };
  const named = names.map((name) => ({ name, targeting: { type: 'all' } }));
  const commands = names.map((name, index) => ({
    id: `c-${index}`,
    command_text: `set -e\necho ${name}\nuptime # Of ${name}`,
    summary: { total: index },
  }));
  const api = {
    list_clusters: { query: listOf(named, ({ name }) => name, 'name') },
    list_groups: { query: listOf(named, ({ name }) => name, 'name') },
    list_commands: { query: listOf(commands, ({ command_text: text }) => text, 'command_text') },
  };
  return { asked, api: api as unknown as PaletteApi };
}

test('clusters, groups and commands beyond the first page are found by what is typed', async (t) => {
  const { api, asked } = serviceOf();
  const typed = 'lab-477 up';

  const items = await askedItems(api, typed, NOW_MS);

  t.deepEqual(
    findItems(items, 'lab-477').map(({ kind, text, leads }) => [kind, text, 'to' in leads && leads.to]),
    [
      ['clusters', 'lab-477', '/console/clusters/lab-477'],
      ['groups', 'lab-477', '/console/groups/lab-477'],
      ['commands', 'echo lab-477', '/console/commands/c-477'],
    ],
  );
  t.deepEqual(texts(findItems(items, typed)), ['echo lab-477'], 'the other word stands in another line of the script');
  t.deepEqual(asked, [
    { page_size: ASKED_ROWS_MAX, sort: 'name', name: '*lab-477*' },
    { page_size: ASKED_ROWS_MAX, sort: 'name', name: '*lab-477*' },
    {
      page_size: ASKED_COMMANDS_MAX,
      sort: '-inserted_at',
      command_text: '*lab-477*',
      inserted_at__gte: '2026-01-08T12:00:00.000Z',
    },
  ]);
});

test('without a word the first and the latest are asked for; what cannot be had is left out', async (t) => {
  const { api, asked } = serviceOf();
  const broken = { ...api, list_groups: { query: () => Promise.reject(new Error('away')) } } as unknown as PaletteApi;

  const items = await askedItems(broken, ' * ', NOW_MS);

  t.deepEqual(
    [...new Set(items.map(({ kind }) => kind))].map((kind) => [kind, items.filter((one) => one.kind === kind).length]),
    [
      ['clusters', ASKED_ROWS_MAX],
      ['commands', ASKED_COMMANDS_MAX],
    ],
  );
  t.deepEqual(asked, [
    { page_size: ASKED_ROWS_MAX, sort: 'name' },
    { page_size: ASKED_COMMANDS_MAX, sort: '-inserted_at' },
  ]);
});

test('a word of fewer letters than three is looked for among the latest commands, and no script is looked through for it', async (t) => {
  const { api, asked } = serviceOf();

  for (const typed of ['l', 'la']) {
    const items = await askedItems(api, typed, NOW_MS);

    t.is(items.filter(({ kind }) => kind === 'commands').length, ASKED_COMMANDS_MAX);
    t.is(findItems(items, typed).filter(({ kind }) => kind === 'commands').length, FOUND_OF_KIND_MAX);
    t.deepEqual(asked.at(-1), { page_size: ASKED_COMMANDS_MAX, sort: '-inserted_at' }, typed);
  }
  await askedItems(api, 'lab', NOW_MS);
  t.like(asked.at(-1), { command_text: '*lab*' });
});

test('one question is asked at a time, and of what was typed meanwhile the last alone', async (t) => {
  const answers: (() => void)[] = [];
  const asked: string[] = [];
  const told = new EventEmitter();
  const search = new PaletteSearch(
    async (sought) => {
      asked.push(sought);
      told.emit('asked');
      await new Promise<void>((answer) => answers.push(answer));
      return [item('clusters', sought)];
    },
    (items) => told.emit('found', texts(items)),
  );
  const first = once(told, 'asked');
  search.want('w');
  search.want('we', 0);
  await first;
  search.want('web', 0);
  await new Promise((later) => setImmediate(() => setTimeout(later, 1)));
  search.want('web-1', 0);
  await new Promise((later) => setImmediate(() => setTimeout(later, 1)));

  t.deepEqual(asked, ['we'], 'nothing more while an answer is on its way');
  const second = once(told, 'asked');
  const found = once(told, 'found');
  answers.shift()?.();
  t.deepEqual(await found, [['we']]);
  await second;
  t.deepEqual(asked, ['we', 'web-1']);
  told.on('found', () => t.fail('nobody wants it any more'));
  search.stop();
  answers.shift()?.();
  await new Promise((later) => setImmediate(later));
});
