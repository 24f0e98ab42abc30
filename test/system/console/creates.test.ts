/** What is created at pages of the console while the connection fails or somebody goes elsewhere, in a real browser. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { losesAnswerOf } from '../../support/console/answers.ts';
import { press, pressOpening } from '../../support/console/keyboard.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1, env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' } });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A page of somebody who is signed in, that something is done to before it has a connection. */
async function openAfter<T>(
  t: ExecutionContext,
  path: string,
  prepare: (page: Page) => Promise<T>,
): Promise<{ readonly page: Page; readonly prepared: T }> {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere');
  const prepared = await prepare(page);
  await page.goto(fleet.admin().url + path);
  await signIn(page);
  return { page, prepared };
}

const count = async (path: string): Promise<number> => (await fleet.rest.get<readonly unknown[]>(path)).length;

for (const { what, path, list, open, fill, send, made } of [
  {
    what: 'webhook',
    path: '/console/webhooks',
    list: '/webhooks',
    open: 'New webhook',
    fill: async (page: Page) => {
      await page.getByLabel('URL').last().fill('http://127.0.0.1:8080/hook');
      await page.getByRole('checkbox', { name: 'edge.core.test' }).check();
    },
    send: (page: Page) => press(page, /^Create$/u),
    made: (page: Page) => page.getByRole('dialog', { name: 'The webhook is there' }).waitFor(),
  },
  {
    what: 'enrollment_key',
    path: `/console/enrollment-keys?cluster_name=${CLUSTER}`,
    list: '/enrollment_keys?name=once',
    open: 'New key',
    fill: (page: Page) => page.getByRole('dialog').getByLabel('Name').fill('once'),
    send: (page: Page) => press(page, /^Create$/u),
    made: (page: Page) => page.getByRole('dialog', { name: 'Run this on the machine' }).waitFor(),
  },
  {
    what: 'self_update_request',
    path: '/console/updates',
    list: '/self_update_requests',
    open: 'New update',
    fill: (page: Page) => page.getByRole('combobox', { name: 'Nodes' }).selectOption('all'),
    send: async (page: Page) => {
      await press(page, 'See who is reached');
      await press(page, 'Start the update');
    },
    made: (page: Page) => heading(page, 'Update'),
  },
])
  test.serial(`a create_${what} whose answer is lost says so, and pressed again it is the same one`, async (t) => {
    const before = await count(list);
    const { page, prepared } = await openAfter(t, path, (blank) => losesAnswerOf(blank, `create_${what}`));
    await pressOpening(page, open);
    await fill(page);

    await send(page);
    await page.getByRole('alert').getByText('It is not known whether this was done').waitFor();
    await page.getByText('No connection since').waitFor({ state: 'detached' });
    await send(page);

    await made(page);
    t.deepEqual([prepared.inputs.length, new Set(prepared.inputs).size, await count(list)], [2, 1, before + 1]);
  });

test.serial('a secret is sent as it was typed, and other fields without the spaces at their ends', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, '/console/webhooks');
  const sent: string[] = [];
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => sent.push(payload.toString())));
  await signIn(page);
  await pressOpening(page, 'New webhook');
  await page.getByRole('checkbox', { name: 'edge.core.test' }).check();
  await page.getByLabel('Headers').fill('X-From: console');
  await page.getByLabel('Secret').fill('  a secret with spaces at its ends  ');
  await page.getByLabel('URL').last().fill(' http://127.0.0.1:8080/spaces ');
  await press(page, /^Create$/u);
  await page.getByRole('link', { name: 'http://127.0.0.1:8080/spaces' }).waitFor();

  const create = sent.find((frame) => frame.includes('create_webhook')) ?? '';
  t.true(create.includes('"secret":"  a secret with spaces at its ends  "'));
  t.true(create.includes('"url":"http://127.0.0.1:8080/spaces"'));
});

test.serial('a new key is for the cluster that is looked at, and for none where that may be several', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, '/console/enrollment-keys?cluster_name=*');
  await signIn(page);
  const cluster = page.getByRole('dialog').getByRole('combobox', { name: 'Cluster' });

  await pressOpening(page, 'New key');
  t.is(await cluster.inputValue(), '');
  await page.goto(`${fleet.admin().url}/console/enrollment-keys?cluster_name=beyond-the-first-100`);
  await pressOpening(page, 'New key');
  t.is(await cluster.inputValue(), 'beyond-the-first-100');
});
