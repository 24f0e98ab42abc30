/** Open pages of the console while the admin or its database is away, and when it is back, in a real browser. */
import { writeFile } from 'node:fs/promises';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { startTestServer, type TestServer } from '../../support/database/server.ts';
import { processesOf, signal } from '../../support/database/server-processes.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { openBalancer, type Balancer } from '../../support/net/balancer.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let server: TestServer;
let fleet: Fleet;
let balancer: Balancer;

/** What was away is back, and pages found it: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

/** So long the database stands still, in ms. */
const STANDSTILL_MS = 10_000;

test.before(async () => {
  server = await startTestServer();
  scope.teardown(() => server.stop());
  fleet = await startFleet(scope, { admins: 2, agents: 1, connection: server.connection });
  await storeNodes(fleet, ['till-1', 'till-2']);
  balancer = await openBalancer(scope);
  for (const { url } of fleet.admins) balancer.add(url);
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** Signed in, and to be told from a page that was loaded anew. */
async function open(t: ExecutionContext, path: string, name: string, url: string = fleet.admin().url): Promise<Page> {
  const { page } = await openPage(t, { browser, url }, path);
  await signIn(page);
  await heading(page, name);
  await page.evaluate('window.isThisVeryPage = true');
  return page;
}

const isSame = (page: Page) => page.evaluate<boolean>('window.isThisVeryPage === true');

test.serial(
  'a page that was opened while the admin was away is there once that is back, without a reload',
  async (t) => {
    const page = await open(t, '/console', 'Overview');

    await fleet.admin().kill();
    await page.getByText('No connection since').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.getByText('This could not be loaded').waitFor();
    await fleet.admin().start();

    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor({ timeout: BACK_MS_MAX });
    t.true(await isSame(page));
  },
);

test.serial(
  'while the database stands still, nodes and events are told to be of before, and go on once it is back',
  async (t) => {
    const nodes = await open(t, '/console/nodes', 'Nodes');
    await nodes.getByText('till-1').first().waitFor();
    const events = await nodes.context().newPage();
    await events.goto(`${fleet.admin().url}/console/events`);
    const isLive = events.locator('.status.live');
    await isLive.waitFor();
    await events.evaluate('window.isThisVeryPage = true');
    const bar = (page: Page) => page.locator('.bar').getByText('What you see is as it was then');
    const pids = await processesOf((await server.pid())!);
    t.teardown(() => signal(pids, 'SIGCONT'));

    const beganMs = performance.now();
    signal(pids, 'SIGSTOP');
    for (const page of [nodes, events]) await bar(page).waitFor();
    await events.getByText('The database cannot be reached since').waitFor();
    await isLive.waitFor({ state: 'detached' });
    await until('the end of the standstill', () => performance.now() - beganMs >= STANDSTILL_MS);
    t.is(await bar(nodes).count(), 1, 'it stays until the database is back');
    signal(pids, 'SIGCONT');

    for (const page of [nodes, events]) await bar(page).waitFor({ state: 'detached', timeout: BACK_MS_MAX });
    await isLive.waitFor();
    const { id } = await fleet.node();
    const labels = { body: { labels: { shelf: 'after' } } };
    await until('a label', async () => (await fleet.rest.call('PATCH', `/nodes/${id}/labels`, labels)).status === 200);
    const { time } = await fleet.rest.post<{ readonly time: string }>('/events/test');
    await nodes.getByRole('searchbox').fill('shelf=after'); // no column of a laptop has labels
    await nodes.getByText('1 of 3 nodes').waitFor();
    await events.locator(`.rows time[datetime="${time}"]`).waitFor();
    for (const page of [nodes, events]) t.true(await isSame(page));
  },
);

/** The admin that the connection of this page leads to. */
async function servingOf(page: Page) {
  const said = await until('who serves the page', () => page.locator('.tools .admin').textContent());
  const [serving, other] = fleet.admin().name === said ? fleet.admins : fleet.admins.toReversed();
  return { serving: serving!, other: other! };
}

test.serial('whichever admin dies, the output of a running command goes on at the other one', async (t) => {
  const goes = (step: string): string => `${fleet.directory}/goes-${step}`;
  const waits = (step: string): string => `while [ ! -e '${goes(step)}' ]; do sleep 0.2; done`;
  const { id: node } = await fleet.node();
  const { id } = await fleet.run(`echo begun; ${waits('1')}; echo first; ${waits('2')}; echo second; ${waits('3')}`, {
    targeting: { type: 'nodes', node_ids: [node] },
  });
  const page = await open(t, `/console/commands/${id}`, 'Command', balancer.url);
  const live = page.locator('article.live');
  await live.getByText('begun').waitFor();

  for (const [step, said] of [
    ['1', 'first'],
    ['2', 'second'],
  ] as const) {
    const { serving, other } = await servingOf(page);
    await serving.kill();
    await page.locator('.tools .admin').getByText(other.name).waitFor({ timeout: BACK_MS_MAX });
    await writeFile(goes(step), '');
    await live.getByText(said).waitFor({ timeout: BACK_MS_MAX });
    await serving.start();
  }
  await writeFile(goes('3'), '');

  await page.getByText('1 of 1 node has ended').waitFor({ timeout: BACK_MS_MAX });
  const output = page.locator('pre.output').first();
  await until('the whole output', async () => (await output.textContent())?.trim() === 'begun\nfirst\nsecond');
  t.true(await isSame(page));
});
