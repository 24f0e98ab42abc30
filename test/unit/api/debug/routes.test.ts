/** The debug dashboard's own limits: how many look at once, and what may be asked for. */
import { fastify } from 'fastify';
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { DatabaseSnapshot } from '../../../../actors/inspection.ts';
import { ok, refuse } from '../../../../actors/refusal.ts';
import { createDebug, DEBUG_PATH } from '../../../../api/debug/routes.ts';
import { createWebPages } from '../../../../api/origins.ts';
import type { MountKit } from '../../../../api/rest/server.ts';
import { systemClock } from '../../../../transport/net/clock.ts';
import { until } from '../../../support/until.ts';

/** A database in which nothing is. */
const EMPTY: DatabaseSnapshot = {
  version: '17',
  bytes: 0,
  connections: 1,
  longestTransactionMs: 0,
  waitingForLocks: 0,
  pool: { open: 1, idle: 1, waiting: 0 },
  tables: [],
  channels: [],
  tasks: [],
  leases: [],
  leaseCount: 0,
  admins: [],
};

/** A dashboard with nothing to see but a database that answers when the test says so. */
async function dashboard(
  t: ExecutionContext,
  credentials: { readonly username: string; readonly password: string } | null = null,
) {
  const looks: PromiseWithResolvers<DatabaseSnapshot>[] = [];
  const app = fastify();
  t.teardown(() => app.close());
  const asked: unknown[] = [];
  const debug = createDebug({
    admin: { name: 'one', version: '0' },
    credentials,
    failuresPerMinuteMax: 3,
    clock: systemClock,
    inspection: {
      families: () => [],
      search: () => ({ actors: [], total: 0 }),
      counters: () => ({ deadLetters: 0, crashes: 0, escalations: 0 }),
      sessions: () => ({ sessions: [], total: 0 }),
      links: () => [],
      database() {
        const look = Promise.withResolvers<DatabaseSnapshot>();
        looks.push(look);
        return look.promise;
      },
    },
    elsewhere: {
      names: () => ['two'],
      page: async (name, query) => {
        asked.push(query);
        return Promise.resolve(
          name === 'two' ? ok('the page of two') : refuse('not_found', 'No admin of this name is alive.'),
        );
      },
    },
  });
  debug.mount({ app, pages: createWebPages({ urls: [], hosts: [] }) } as unknown as MountKit);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    looks,
    asked,
    page: debug.page,
    look: (query = '', headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}${DEBUG_PATH}${query}`, { headers }),
  };
}

test('four look at once, the next one is told to come again, and room is back when one of them is done', async (t) => {
  const { looks, look } = await dashboard(t);
  const first = Array.from({ length: 4 }, () => look());
  await until('four that look', () => looks.length === 4);

  const refused = await look();
  for (const one of looks) one.reject(new DatabaseUnavailable('away'));
  const pages = await Promise.all(first);
  const after = look();
  await until('the next one', () => looks.length === 5);
  looks[4]?.reject(new DatabaseUnavailable('away'));

  t.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);
  t.deepEqual(
    [...pages, await after].map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
});

test('what is asked for has its limits, and what is not known is refused before anything is looked at', async (t) => {
  const { looks, look } = await dashboard(t);
  const wrong = [
    `?q=${'x'.repeat(65)}`,
    '?page=0',
    '?page=1e9',
    '?page=x',
    '?sort=state',
    '?kind=agent',
    '?refresh=1',
    '?more=1',
    '?q=a&q=b',
  ];

  for (const query of wrong) t.is((await look(query)).status, 400, query);
  t.is(looks.length, 0);
});

test('without the right name and password nothing is looked at, whatever is sent', async (t) => {
  const { looks, look } = await dashboard(t, { username: 'admin', password: 'a password with: a colon' });
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  for (const authorization of [
    '',
    'Basic',
    'Basic !',
    basic('admin'),
    basic('admin:'),
    basic('admin:a password with'),
    basic(':a password with: a colon'),
    'Bearer a',
  ]) {
    const { status, headers } = await look('', authorization === '' ? {} : { authorization });
    t.true(status === 401 || status === 429, authorization);
    t.is(
      headers.get(status === 401 ? 'www-authenticate' : 'retry-after')?.replace(/ .*|\d+/u, ''),
      status === 401 ? 'Basic' : '',
      authorization,
    );
  }
  t.is(looks.length, 0);
  const right = look('', { authorization: basic('admin:a password with: a colon') });
  await until('a look', () => looks.length === 1);
  looks[0]?.reject(new DatabaseUnavailable('away'));
  t.is((await right).status, 200);
});

test('the page of another admin is asked of it, with all that was asked for; nobody else is asked for this one', async (t) => {
  const { look, looks, asked } = await dashboard(t);

  const other = await look('?admin=two&kind=node');
  const unknown = await look('?admin=three');
  const own = look('?admin=one&kind=node');
  await until('a look', () => looks.length === 1);
  looks[0]?.reject(new DatabaseUnavailable('away'));
  const html = await (await own).text();

  t.deepEqual([other.status, await other.text(), unknown.status], [200, 'the page of two', 404]);
  t.deepEqual(asked, [{ admin: 'two', kind: 'node' }, { admin: 'three' }]);
  t.regex(html, /<b>one<\/b> · <a href="\?admin=two">two<\/a>/u);
  t.regex(html, /<input type="hidden" name="admin" value="one">/u);
});

test('the page names who sweeps, reconciles and moves updates, and what nobody does', async (t) => {
  const { look, looks } = await dashboard(t);

  const own = look();
  await until('a look', () => looks.length === 1);
  looks[0]?.resolve({
    ...EMPTY,
    tasks: [
      { task: 'reconciler', admin: null },
      { task: 'sweeps', admin: '<two>' },
    ],
  });
  const html = await (await own).text();

  t.regex(html, /<a href="#tasks">tasks<\/a>/u);
  t.regex(html, /<h2 id="tasks">.*<td>reconciler<\/td><td><span class="bad">nobody<\/span><\/td>/u);
  t.regex(html, /<td>sweeps<\/td><td>&lt;two&gt;<\/td>/u);
});

test('what another admin asks for is made here, whoever it names, and goes no further', async (t) => {
  const { page, looks, asked } = await dashboard(t);
  const made = page({ admin: 'two' });
  await until('a look', () => looks.length === 1);
  looks[0]?.reject(new DatabaseUnavailable('away'));

  const html = await made;

  t.regex(html.ok ? html.value : '', /Inside one/u);
  t.like(await page({ colour: 'blue' }), { ok: false, refusal: { code: 'bad_request' } });
  t.deepEqual(asked, []);
});
