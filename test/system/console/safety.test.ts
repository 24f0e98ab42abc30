/**
 * What other pages can do to somebody who is signed in to the console, and what becomes of open pages when admins die.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import ava, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import type { Browser, Locator, Page } from 'playwright-core';
import { openBalancer, type Balancer } from '../../support/net/balancer.ts';
import { startBrowser } from '../../support/browser.ts';
import { certificates } from '../../support/net/certificates.ts';
import { holdNotices } from '../../support/console/notices.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { listening } from '../../support/net/listening.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let database: TestConnection;
let fleet: Fleet;
let balancer: Balancer;

/** An admin died, and the page found another one: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

const STALE = 'No connection since';

test.before(async () => {
  database = await createDatabase(scope);
  fleet = await startFleet(scope, { admins: 2, agents: 1, connection: database });
  balancer = await openBalancer(scope);
  for (const { url } of fleet.admins) balancer.add(url);
  browser = await startBrowser(scope, ['--ignore-certificate-errors']);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A page of somebody else, whose script does what it is told. */
async function foreignPage(t: ExecutionContext, host: string): Promise<string> {
  const server: Server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>another page</title>');
  });
  return `http://${host}:${await listening(t, server)}/`;
}

/** Everything that a page can try with the session of whoever looks at it; what it got, by what it tried. */
const ATTEMPTS = `(async (admin) => {
  const tried = (attempt) => attempt.then((answer) => answer.type + ' ' + answer.status, () => 'refused');
  const socket = (path) => new Promise((resolve) => {
    const opened = new WebSocket(admin.replace('http', 'ws') + path);
    opened.onopen = () => { opened.close(); resolve('open'); };
    opened.onerror = () => resolve('refused');
  });
  const framed = () => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.onload = () => resolve(frame.contentWindow.length === 0 ? 'loaded' : 'loaded with frames');
    frame.src = admin + '/console';
    document.body.append(frame);
  });
  const credentials = 'include';
  return {
    read: await tried(fetch(admin + '/console/session', { credentials })),
    list: await tried(fetch(admin + '/console/session/all', { credentials })),
    end: await tried(fetch(admin + '/console/session', { method: 'DELETE', credentials })),
    call: await tried(fetch(admin + '/api/v1/nodes', { credentials })),
    live: await socket('/console/live'),
    trpc: await socket('/api/trpc'),
    frame: await framed(),
  };
})`;

for (const [title, host] of [
  ['another port of the same host, to which browsers send cookies', '127.0.0.1'],
  ['another host', 'localhost'],
] as const)
  test.serial(`a page of ${title} reads nothing, changes nothing, and shows nothing in a frame`, async (t) => {
    const { url } = fleet.admin();
    const { page } = await openPage(t, { browser, url });
    await signIn(page);
    await heading(page, 'Overview');
    const other = await page.context().newPage();
    const said: string[] = [];
    other.on('console', (message) => said.push(message.text()));
    await other.goto(await foreignPage(t, host));

    const got = await other.evaluate<Record<string, string>>(`${ATTEMPTS}(${JSON.stringify(url)})`);

    t.deepEqual(
      [got['read'], got['list'], got['end'], got['call'], got['live']],
      ['refused', 'refused', 'refused', 'refused', 'refused'],
    );
    t.regex(said.join('\n'), /frame-ancestors 'none'/u, 'the frame stays empty');
    // by a form: cross-site requests that browsers send without asking first
    await other.evaluate(
      `document.body.innerHTML = '<form method=post enctype=text/plain action="${url}/console/session"><input name=key value=x></form>'; document.forms[0].submit()`,
    );
    await other.waitForURL(`${url}/console/session`);
    t.regex(await other.locator('body').innerText(), /"code":"forbidden"/u);

    await page.reload();
    await heading(page, 'Overview');
  });

/** What would do something if the page ran it: a script, a handler, an address, a style; each says so in the title. */
const INJECTED = `<script>document.title += ' script'</script>
  <script type="module">document.title += ' module'</script>
  <script src="data:text/javascript,document.title += ' data'"></script>
  <img src="/console/assets/none" onerror="document.title += ' handler'">
  <style>body { --injected: style }</style><p style="--injected: attribute">`;

test.serial('markup that somebody brought into the page runs nothing, by the policy of the page itself', async (t) => {
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  await page.route('**/console', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace('<body>', `<body>${INJECTED}`) });
  });
  await page.goto(`${fleet.admin().url}/console`);
  await page.getByLabel('Key').waitFor(); // its own script runs

  const refusedBy = (rule: string): number =>
    said.filter((text) => text.includes('Policy directive') && text.includes(rule)).length;
  await until('all six to be refused', () => {
    if (refusedBy("script-src 'self'") === 4 && refusedBy("style-src 'self'") === 2) return true;
    throw new Error(said.join('\n'));
  });
  t.is(await page.title(), 'Sign in · Edge fleet control');
  const styled = `getComputedStyle(document.querySelector('p[style]')).getPropertyValue('--injected')`;
  t.is(await page.evaluate(styled), '');
  // and no text becomes markup later
  const made = `(() => { try { document.body.innerHTML = '<b>hit</b>'; return 'done'; } catch ({ name }) { return name; } })()`;
  t.is(await page.evaluate(made), 'TypeError');
});

test.serial('over HTTPS the cookie is of this host alone, secure, and seen by no script', async (t) => {
  const made = await certificates(temporaryDirectory(t));
  const port = Number(new URL(fleet.admin().url).port);
  const proxy = createTlsServer({ cert: readFileSync(made.server), key: readFileSync(made.serverKey) }, (near) => {
    const far = connect(port, '127.0.0.1');
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  const url = `https://127.0.0.1:${await listening(t, proxy)}`;
  const { page, problems } = await openPage(t, { browser, url });

  await signIn(page);
  await heading(page, 'Overview');
  await page.getByRole('rowheader', { name: 'admin-1' }).waitFor();

  const cookies = await page.context().cookies();
  t.deepEqual(
    cookies.map(({ name, path, httpOnly, secure, sameSite }) => ({ name, path, httpOnly, secure, sameSite })),
    [{ name: '__Host-edge-console', path: '/', httpOnly: true, secure: true, sameSite: 'Strict' }],
  );
  t.is(await page.evaluate('document.cookie'), '');
  t.deepEqual(problems, []);
});

test.serial('a session that nobody used for half an hour shows the sign-in, with why', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin(1).url });
  await signIn(page, FLEET_KEYS.MASTER_KEY);
  await heading(page, 'Overview');

  // what the page asked for as it opened may count as use for a moment
  await until('the sign-in', async () => {
    await fleet.sql(
      `update console_session set last_used_at = now() - interval '31 minutes'
        where token_hash = (select token_hash from console_session order by inserted_at desc limit 1)`,
    );
    return page.getByText('Your session is over').isVisible();
  });
  t.is(await page.getByRole('heading', { level: 1 }).textContent(), 'Sign in');
});

test.serial(
  'whoever signs out is told so once it is so: neither where it is refused nor where nobody answers',
  async (t) => {
    const { page } = await openPage(t, { browser, url: fleet.admin().url });
    await signIn(page);
    await heading(page, 'Overview');
    const holder = new Client(database);
    await holder.connect();
    t.teardown(() => holder.end());
    const signOut = page.getByRole('button', { name: 'Sign out' });
    const notOut = page.getByRole('status').getByText('You may still be signed in.');

    await holder.query('begin; lock table console_session in share row exclusive mode');
    await signOut.click();
    await notOut.filter({ hasText: 'The service cannot do this right now.' }).waitFor();
    await holder.query('rollback');
    await page.route('**/console/session', (route) => route.abort());
    await signOut.click();
    await notOut.filter({ hasText: 'The admin does not answer.' }).waitFor();
    await page.unroute('**/console/session');
    await page.reload();
    await heading(page, 'Overview');
    await signOut.click();

    await page.getByText('You are signed out.').waitFor();
    t.pass();
  },
);

test.serial('what can be taken back is done before somebody ends the own session', async (t) => {
  const { id } = await fleet.node();
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`);
  await signIn(page);
  const alias = page.getByRole('region', { name: 'Aliases', exact: true }).getByRole('textbox');
  await alias.waitFor();
  await holdNotices(page);

  await alias.fill('named-before-the-end');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('link', { name: 'Sessions', exact: true }).click();
  await heading(page, 'Sessions');
  await page.getByRole('row').filter({ hasText: 'this one' }).getByRole('button').click();

  await page.getByText('You are signed out.').waitFor();
  await until('the alias', async () =>
    (await fleet.node()).aliases.some(({ name }) => name === 'named-before-the-end'),
  );
  t.pass();
});

test.serial('whichever admin dies, pages behind a balancer go on at another one, and miss no event', async (t) => {
  const { page } = await openPage(t, { browser, url: balancer.url }, '/console/nodes');
  const sockets: unknown[] = [];
  page.on('websocket', (socket) => sockets.push(socket));
  await signIn(page);
  await heading(page, 'Nodes');
  await page.getByText('Healthy').first().waitFor();
  const other = await page.context().newPage();
  await other.goto(`${balancer.url}/console/events`);
  await other.locator('.status.live').waitFor();
  for (const one of [page, other]) await one.evaluate('window.isThisVeryPage = true');
  const { id } = await fleet.node();
  const published: Locator[] = [];

  for (const [place, dying] of fleet.admins.entries()) {
    const staying = fleet.admins[1 - place]!;
    await dying.kill();
    const { time } = await postAt<{ readonly time: string }>(staying.url, '/events/test');
    published.push(other.locator(`.rows time[datetime="${time}"]`));
    await page.getByText(STALE).waitFor({ state: 'detached', timeout: BACK_MS_MAX });
    await postAt(staying.url, `/nodes/${id}/aliases`, { name: `after-${dying.name}` });
    await seen(page, `after-${dying.name}`);
    await page.locator('.tools .admin').getByText(staying.name).waitFor({ timeout: BACK_MS_MAX });
    await published.at(-1)?.waitFor({ timeout: BACK_MS_MAX });
    await dying.start();
  }
  t.true(sockets.length >= 2, 'one of them had the page');
  for (const one of published) t.is(await one.count(), 1, 'an event is shown once');
  for (const one of [page, other]) t.true(await one.evaluate<boolean>('window.isThisVeryPage'));
});

/** Until its cluster has an owner again an admin answers 503. */
async function postAt<T>(url: string, path: string, body: object = {}): Promise<T> {
  for (;;) {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.ok || answer.status === 409) return ((await answer.json()) as { readonly data: T }).data;
    if (answer.status !== 503) throw new Error(`${answer.status} for ${path}`);
    await once(AbortSignal.timeout(200), 'abort');
  }
}

async function seen(page: Page, name: string): Promise<void> {
  await page.getByRole('searchbox').fill(name);
  await page.locator('.grid .body .row').first().waitFor({ timeout: BACK_MS_MAX });
  await page.getByRole('searchbox').fill('');
}
