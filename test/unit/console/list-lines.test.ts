/**
 * The lines of each page that is a list, taken by a shell and by `edge` itself: they ask for what the page asks for.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EVENT_TYPES } from '../../../actors/events.ts';
import type { Filter, ListName, ListQuery } from '../../../actors/filters.ts';
import { listInput } from '../../../api/inputs/list-input.ts';
import { createProgram } from '../../../cli/program.ts';
import { LIST_FILTERS, LIST_PARAMETERS, type ListPage } from '../../../console/lists/parameters.ts';
import { listStateOf } from '../../../console/lists/query.ts';
import { listLinesOf } from '../../../console/lists/terminal.ts';
import { ROOT } from '../../support/source/source-text.ts';

const [ONE, OTHER] = ['0193a1c2-0000-7000-8000-000000000001', '0193a1c2-0000-7000-8000-000000000002'];

/**
 * Of each page: the list of the API behind it, its file, and values of its filters. What a shell would obey is among
 * them.
 */
const PAGES: { readonly [Page in ListPage]: readonly [ListName, file: string, Readonly<Record<string, string>>] } = {
  clusters: ['clusters', 'clusters', { name: 'lab' }],
  groups: ['groups', 'groups', { name: "it's $(mine)*" }],
  aliases: ['aliases', 'aliases', { name: 'web', cluster_name: 'prod*', node_id__in: ONE }],
  'enrollment-keys': [
    'enrollment_keys',
    'enrollment-keys',
    { name: 'a b', cluster_name: 'lab', state: 'is_never_used' },
  ],
  ssh: [
    'ssh_usernames',
    'ssh',
    { username: 'ada', cluster_name: 'lab', key_name: '-x', has_password: 'false', node_id__in: `${ONE},${OTHER}` },
  ],
  webhooks: [
    'webhooks',
    'webhooks',
    { url: 'example.com/?a=b&c', event_type: 'edge.node.status_changed', trouble: 'waiting' },
  ],
  'ssh-username': ['ssh_public_keys', 'ssh-username', {}],
  webhook: ['webhook_deliveries', 'webhook', { status__in: 'dropped', event_type: 'edge.core.test' }],
  deliveries: ['webhook_deliveries', 'deliveries', { status__in: 'pending', event_type: 'edge.core.test' }],
  recordings: ['ssh_recordings', 'recordings/recordings', { username: 'ada', node_id__in: ONE }],
  updates: ['self_update_requests', 'updates', { status__in: 'processing' }],
  commands: ['commands', 'commands', { command_text: 'up; time\n"x"', has_failed: 'false', has_open: 'true' }],
  executions: [
    'command_executions',
    'executions',
    {
      output: 'No space left',
      status__in: 'completed',
      exit_code__gte: '1',
      exit_code: '-1',
      completed_at__gte: '2026-01-31T12:00:00.000Z',
      completed_at__lte: '2026-02-01T00:00:00.000Z',
      cluster_name: 'lab',
      node_id__in: ONE,
      command_id__in: OTHER,
    },
  ],
};

/** What says of which thing the rows are, where they are of one. */
const OF: { readonly [Page in ListPage]?: string } = {
  webhook: 'webhook_id__in',
  'ssh-username': 'ssh_username_id__in',
};

/** A service that holds nothing, and what it was asked for. */
async function startService(t: ExecutionContext) {
  const asked: { readonly operation: string; readonly input: unknown }[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    const operation = pathname.split('/').at(-1) ?? '';
    const input = JSON.parse(searchParams.get('input') ?? '{}') as object;
    const data = operation === 'list_event_types' ? EVENT_TYPES.map((type) => ({ type })) : [];
    asked.push({ operation, input });
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ result: { data: { ...input, data, pagination: { total_count: 0, has_next: false } } } }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { asked, url: `http://127.0.0.1:${port}` };
}

/** The words of a line, as a shell hands them to its program. */
function wordsOf(line: string, program: string): readonly string[] {
  const script = `${program}() { printf '%s\\0' "$@"; }; ${line}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { EDGE_API_KEY: 'key' } })
    .split('\0')
    .slice(0, -1);
}

/** Which rows, and in which order: `a in (x)` is `a = x`, and no order is the newest first. */
function meaningOf({ filters, sort }: ListQuery) {
  const plain = filters.map(({ field, op, value }: Filter) =>
    op === 'in' && Array.isArray(value) && value.length === 1 ? [field, 'eq', value[0]] : [field, op, value],
  );
  return {
    filters: plain.toSorted((one, other) => String(one[0]).localeCompare(String(other[0]))),
    sort: sort.length === 0 ? [{ field: 'inserted_at', descending: true }] : sort,
  };
}

/** Its page, and the list in it that it shares with another one. */
function sourceOf(page: ListPage): string {
  const textOf = (file: string): string => readFileSync(join(ROOT, `console/pages/${file}.tsx`), 'utf8');
  const own = textOf(PAGES[page][1]);
  return own.includes('<DeliveryList') ? own + textOf('delivery-list') : own;
}

function sorted(names: readonly string[]): readonly string[] {
  return names.toSorted((one, other) => one.localeCompare(other));
}

/** Every filter alone, all of them, and every order that the page offers. */
function searchesOf(page: ListPage): readonly string[] {
  const [, , values] = PAGES[page];
  const source = sourceOf(page);
  const sorts = [...source.matchAll(/\bsort: '(?<field>\w+)'/gu)].map(({ groups }) => groups?.['field'] ?? '');
  const all = new URLSearchParams(values).toString();
  return [
    '',
    ...Object.entries(values).map((pair) => `?${new URLSearchParams([[...pair]]).toString()}`),
    `?${all}`,
    ...sorts.flatMap((sort) => [`?${all}&sort=${sort}`, `?${all}&sort=-${sort}`]),
  ];
}

for (const page of Object.keys(PAGES) as ListPage[])
  test(`in a terminal, ${page} is the list of the page`, async (t) => {
    const { asked, url } = await startService(t);
    const [list] = PAGES[page];
    const of = OF[page];
    const input = listInput(list);
    for (const search of searchesOf(page)) {
      const state = listStateOf(search, LIST_FILTERS[page]);
      const parametersOf = LIST_PARAMETERS[page] as (of: typeof state) => object;
      const wanted = input.parse({ ...parametersOf(state), ...(of !== undefined && { [of]: ONE }) });
      const { cli, curl, isInOtherOrder } = listLinesOf(page, state as never, url, ONE);

      const words = wordsOf(cli, 'edge');
      await (
        await createProgram(words[0])
      ).parseAsync([...words, '-q', '--url', url, '--key', 'key'], { from: 'user' });
      const { operation, input: given } = asked.pop() ?? {};
      const byCurl = new URL(wordsOf(curl, 'curl').at(-1) ?? '');

      t.is(operation, `list_${list}`, cli);
      const byEdge = meaningOf(input.parse(given));
      t.deepEqual(byEdge.filters, meaningOf(wanted).filters, cli);
      if (!isInOtherOrder) t.deepEqual(byEdge.sort, meaningOf(wanted).sort, cli);
      t.deepEqual(input.parse(Object.fromEntries(byCurl.searchParams)), wanted, curl);
      t.is(byCurl.pathname, `/api/v1/${list}`, curl);
    }
  });

test('a page shows the lines of its own list, and filters by what its address keeps', (t) => {
  for (const page of Object.keys(PAGES) as ListPage[]) {
    const source = sourceOf(page);
    const shown = [...source.matchAll(/\{ name: '(?<filter>\w+)', label: /gu)].map(
      ({ groups }) => groups?.['filter'] ?? '',
    );
    t.deepEqual(
      shown.filter((one) => !(LIST_FILTERS[page] as readonly string[]).includes(one)),
      [],
      page,
    );
    t.deepEqual(sorted(Object.keys(PAGES[page][2])), sorted(LIST_FILTERS[page]), `${page}: a value for each filter`);
    t.regex(source, new RegExp(`<(?:ListElsewhere|DeliveryList)\\s+page="${page}"`, 'u'), page);
  }
});

test('where edge cannot sort as the page does, the page says so', (t) => {
  const state = listStateOf('?sort=-cluster_name', LIST_FILTERS.ssh);

  const { cli, isInOtherOrder } = listLinesOf('ssh', state, 'http://service');

  t.deepEqual([cli, isInOtherOrder], ['edge sshuser ls', true]);
});

test('what is no state of a key narrows neither the page nor its lines', (t) => {
  const state = listStateOf('?state=lost', LIST_FILTERS['enrollment-keys']);

  t.is(listLinesOf('enrollment-keys', state, 'http://service').cli, 'edge key ls');
  t.deepEqual(LIST_PARAMETERS['enrollment-keys'](state), { page: 1, page_size: 50 });
});
