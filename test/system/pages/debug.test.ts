/** The debug dashboard of a real admin with ten thousand actors, over HTTP and in Debian's Chromium. */
import ava from 'ava';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { insertNodes, nodeId } from '../../../bench/fleet/nodes.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { startTestServer, type TestServer } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { startBrowser } from '../../support/browser.ts';

const test = await peerTest('chromium');
const scope = createScope();

const NODES = 10_000;

const PASSWORD = 'a-password-for-debugging';
const ENV = {
  ADMIN_DEBUG_DASHBOARD_ENABLED: 'true',
  ADMIN_DEBUG_DASHBOARD_USERNAME: 'operator',
  ADMIN_DEBUG_DASHBOARD_PASSWORD: PASSWORD,
  AUTH_FAILURES_PER_MINUTE_MAX: '5',
};

let server: TestServer;
let fleet: Fleet;
let browser: Browser;

test.before(async () => {
  server = await startTestServer(); // its own, to be stopped at the end
  scope.teardown(() => server.stop());
  const { connection } = server;
  fleet = await startFleet(scope, { connection, agents: 1, env: ENV });
  const client = new Client(connection);
  await client.connect();
  try {
    await insertNodes(client, NODES);
  } finally {
    await client.end();
  }
  await until('all nodes to have an actor', async () => (await page('?kind=node')).includes(`${NODES + 1} found`));
  browser = await startBrowser(scope);
});

ava.after.always('the fleet and the browser end', () => scope.end());

function ask(query = '', credentials: string | null = `operator:${PASSWORD}`): Promise<Response> {
  return fetch(`${fleet.admin().url}/admin/debug${query}`, {
    headers: credentials === null ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
  });
}

async function page(query = ''): Promise<string> {
  const answer = await ask(query);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.text();
}

test.serial('nobody looks in without the user name and the password, whatever keys they have', async (t) => {
  const bare = await ask('', null);
  t.is(bare.status, 401);
  t.is(bare.headers.get('www-authenticate'), 'Basic realm="edge admin debug", charset="UTF-8"');
  t.is(
    (
      await fetch(`${fleet.admin().url}/admin/debug`, {
        headers: { authorization: 'Bearer master-key-of-the-fleet-12345' },
      })
    ).status,
    401,
  );

  t.is((await ask()).status, 200);
});

test.serial('it shows all families, the session of the agent, the tables, the channels and the leases', async (t) => {
  const html = await page();

  t.regex(html, /node<\/a>: 10001 under \d+ parents/u);
  t.regex(html, new RegExp(`<code>${fleet.agent().node}</code>`, 'u'));
  for (const text of ['command_execution', 'webhooks', 'bench-0', 'admin-1', ' MiB']) t.true(html.includes(text), text);
});

test.serial('ten thousand actors are searched and paged within a moment', async (t) => {
  const startedMs = performance.now();
  const found = await page(`?q=${nodeId(4_321)}`);
  const paged = await page('?kind=node&sort=id&page=100');

  t.true(found.includes('1 found, page 1 of 1'), found.slice(0, 200));
  t.true(paged.includes('page 100 of 101'));
  t.is([...paged.matchAll(/<td>node<\/td><td><code>/gu)].length, 100);
  t.true(performance.now() - startedMs < scaled(2_000 + BUSY_MS), `${performance.now() - startedMs} ms`);
});

test.serial('what a visitor writes into the address is text on the page, or refused', async (t) => {
  t.true(
    (await page(`?q=${encodeURIComponent('"><script>alert(1)</script>')}`)).includes('value="&quot;&gt;&lt;script&gt;'),
  );
  for (const query of ['?nonsense=1', '?kind=admin', '?page=0', '?page=x', '?refresh=1', `?q=${'x'.repeat(65)}`])
    t.is((await ask(query)).status, 400, query);
});

test.serial('no secret is on the page', async (t) => {
  const html = await page();

  for (const secret of [PASSWORD, 'master-key-of-the-fleet-12345', 'bench-token-of-node'])
    t.false(html.includes(secret), secret);
});

for (const scheme of ['light', 'dark'] as const) {
  test.serial(`in a browser it fits a phone and a desk, loads nothing, and runs no script (${scheme})`, async (t) => {
    const context = await browser.newContext({
      colorScheme: scheme,
      httpCredentials: { username: 'operator', password: PASSWORD },
    });
    t.teardown(() => context.close());
    const tab = await context.newPage();
    const problems: string[] = [];
    const asked: string[] = [];
    tab.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('401')) problems.push(message.text());
    });
    tab.on('request', (request) => asked.push(new URL(request.url()).pathname));
    for (const width of [360, 1_280]) {
      await tab.setViewportSize({ width, height: 900 });
      await tab.goto(`${fleet.admin().url}/admin/debug?kind=node`);
      t.true(
        await tab.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
        `${width} px`,
      );
    }
    await tab.getByLabel('Part of an id').fill(nodeId(7));
    await tab.getByRole('button', { name: 'Show' }).click();
    await tab.getByText('1 found, page 1 of 1').waitFor();

    t.deepEqual(problems, []);
    t.deepEqual([...new Set(asked)], ['/admin/debug']);
  });
}

test.serial('too many wrong passwords of an address are told to wait, and the right one still gets in', async (t) => {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 7; attempt += 1) statuses.push((await ask('', `operator:wrong-${attempt}`)).status);

  t.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
  t.is((await ask()).status, 200);
});

test.serial('while the database does not answer, the rest is shown', async (t) => {
  const pid = await server.pid();
  if (pid === undefined) throw new Error('the server runs no more');
  process.kill(pid, 'SIGQUIT'); // as after a crash

  await until('the page to say so', async () => (await page()).includes('It does not answer.'));
  t.regex(await page(), /node<\/a>: 10001 under/u);
});
