/**
 * What is created and asked for at pages of the console while the connection fails or somebody goes elsewhere, in a
 * real browser; and how their dialogs and notices look.
 */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { KEPT_OUTPUT_CHARACTERS_MAX } from '../../../console/run/grouping.ts';
import { startBrowser } from '../../support/browser.ts';
import { losesAnswerOf, refusesFirst } from '../../support/console/answers.ts';
import { enter, press, pressOpening, tabTo, typed, typedInto } from '../../support/console/keyboard.ts';
import { doNow, holdNotices, SAID_MS } from '../../support/console/notices.ts';
import { heading, looksWell, openPage, partLooksWell, signIn } from '../../support/console/page.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** How somebody may name things: longer than a phone is wide, and turned round. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202egnitirw';

/** More of one output than a page keeps by itself. */
const UNKEPT_CHARACTERS = KEPT_OUTPUT_CHARACTERS_MAX + 1_000_000;

test.before(async () => {
  fleet = await startFleet(scope, {
    agents: 1,
    env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' },
    agentEnv: { COMMAND_OUTPUT_MAX_BYTES: String(2 * KEPT_OUTPUT_CHARACTERS_MAX) },
  });
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
    fill: (page: Page) => holdNotices(page),
    send: async (page: Page) => {
      if ((await page.locator('dialog[open]').count()) === 0) {
        await enter(page, page.getByRole('link', { name: 'Updates', exact: true }));
        await pressOpening(page, 'New update');
      }
      await press(page, 'See who is reached');
      await press(page, 'Start the update');
      // it is done while they look at another page
      await enter(page, page.getByRole('link', { name: 'Groups', exact: true }));
      await heading(page, 'Groups');
      await doNow(page, 'Update 1 node');
    },
    made: (page: Page) => page.getByText('The update is started.').waitFor(),
  },
])
  test.serial(`a create_${what} whose answer is lost says so, and pressed again it is the same one`, async (t) => {
    const before = await count(list);
    const { page, prepared } = await openAfter(t, path, (blank) => losesAnswerOf(blank, `create_${what}`));
    await pressOpening(page, open);
    await fill(page);

    await send(page);
    await page.locator('[role=alert], .notice.failed').getByText('It is not known whether this was done').waitFor();
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

test.serial('the line of a command that expires stands still until its form is changed', async (t) => {
  const { page } = await openAfter(t, '/console/run?in=all&expires=1h', (blank) => blank.clock.install());
  await heading(page, 'Run');
  const line = page.getByLabel('As a request', { exact: true });
  const expiry = async (): Promise<string> => /"expired_at":"[^"]+"/u.exec((await line.textContent()) ?? '')?.[0] ?? '';
  const first = await expiry();
  t.not(first, '');

  await page.clock.fastForward(90_000); // what is drawn by the clock is drawn anew
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  t.is(await expiry(), first);
  await page.getByLabel('Command', { exact: true }).fill('uptime');
  await until('the line of the changed form', async () => ((await line.textContent()) ?? '').includes('uptime'));
  t.not(await expiry(), first);
});

test.serial('an output that cannot be loaded says why, and is loaded where somebody asks again', async (t) => {
  const { id } = await fleet.run(`head -c ${UNKEPT_CHARACTERS} /dev/zero | tr '\\0' x`);
  const { page } = await openAfter(t, `/console/commands/${id}`, (blank) =>
    refusesFirst(blank, 'get_command_execution'),
  );
  const beginning = page.getByText(`This is the beginning of ${UNKEPT_CHARACTERS.toLocaleString('en')} characters.`);
  await beginning.waitFor();
  await holdNotices(page);

  await press(page, 'Load all of it');
  await page.locator('.notice.failed').getByText('This is refused.').waitFor();
  await press(page, 'Load all of it');

  await beginning.waitFor({ state: 'detached' });
  t.pass();
});

/** A page that axe may look at, of somebody who is signed in. */
async function openForAxe(t: ExecutionContext, path: string): Promise<Page> {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, path, { bypassCSP: true });
  await signIn(page);
  await page.locator('.shell').waitFor(); // who goes elsewhere before is not signed in
  return page;
}

const lookAt = (t: ExecutionContext, page: Page, name: string) => partLooksWell(t, page, 'dialog[open]', name);

test.serial('axe finds nothing in forms, in what they made, and in questions before something is done', async (t) => {
  const page = await openForAxe(t, '/console/clusters');
  for (const [path, button] of [
    ['/console/clusters', 'New cluster'],
    ['/console/ssh', 'New username'],
    [`/console/clusters/${CLUSTER}`, 'Change the limit'],
  ] as const) {
    await page.goto(fleet.admin().url + path);
    await pressOpening(page, button);
    await lookAt(t, page, button);
  }

  await page.goto(`${fleet.admin().url}/console/enrollment-keys?cluster_name=${CLUSTER}`);
  await pressOpening(page, 'New key');
  await lookAt(t, page, 'New key');
  await typed(page, '', HOSTILE); // the cluster is there already
  await page.keyboard.press('Enter');
  await page.locator('canvas.qr[width]:not([width="0"])').waitFor();
  await lookAt(t, page, 'a new key');
  await page.keyboard.press('Enter');
  await pressOpening(page, `Delete the key ${HOSTILE}`);
  await lookAt(t, page, 'a deletion that asks for a name');
  await page.keyboard.press('Escape');

  await page.goto(`${fleet.admin().url}/console/updates`);
  await pressOpening(page, 'New update');
  await lookAt(t, page, 'New update');
  await page.getByRole('combobox', { name: 'Nodes' }).selectOption('all');
  await press(page, 'See who is reached');
  await page.getByRole('dialog', { name: 'Update 1 node?' }).waitFor();
  await lookAt(t, page, 'a question with the list of what it is about');
  t.pass();
});

test.serial(
  'axe finds nothing on the page of an SSH username, in its dialogs, and in the notice of what is done',
  async (t) => {
    const { id } = await fleet.node();
    const user = await fleet.rest.post<{ readonly id: string }>(`/nodes/${id}/ssh_usernames`, {
      username: 'seen',
      password: 'a-password-of-mine',
      public_keys: [{ key_name: HOSTILE, public_key: newKey('laptop').line }],
    });
    const page = await openForAxe(t, `/console/ssh/${user.id}`);
    await page.getByRole('rowheader', { name: HOSTILE }).waitFor();

    await looksWell(t, page, 'an SSH username');
    await pressOpening(page, 'Add a key');
    await lookAt(t, page, 'Add a key');
    await holdNotices(page, SAID_MS);
    await page.keyboard.insertText(newKey('desk').line);
    await press(page, /^Add$/u);
    await partLooksWell(t, page, '.notice.done', 'a notice of what is done');
    await pressOpening(page, `Delete the key ${HOSTILE}`);
    await page.getByRole('dialog').getByText('SHA256:').waitFor();
    await lookAt(t, page, 'the deletion of a key');
  },
);

test.serial(
  'axe finds nothing where a webhook is made, on its page with tries, in a try, in an envelope',
  async (t) => {
    const { url } = (await openReceiver(t)).endpoint((response) => response.writeHead(410).end(HOSTILE.repeat(9)));
    const page = await openForAxe(t, '/console/webhooks');
    await pressOpening(page, 'New webhook');
    await lookAt(t, page, 'New webhook');
    await typed(page, url);
    await tabTo(page, page.getByRole('checkbox', { name: 'edge.core.test' }));
    await page.keyboard.press('Space');
    await press(page, /^Create$/u);
    await page.getByRole('dialog', { name: 'The webhook is there' }).waitFor();
    await lookAt(t, page, 'a new webhook');
    await page.keyboard.press('Enter');

    await enter(page, page.getByRole('link', { name: url }));
    await heading(page, 'Webhook');
    await press(page, 'Send a test event');
    await page.getByRole('button', { name: 'Send again: edge.core.test' }).waitFor();
    await looksWell(t, page, 'a webhook with tries');
    await pressOpening(page, 'Tries of edge.core.test');
    await enter(page, page.getByRole('dialog').locator('summary'));
    await page.getByRole('dialog').getByText(HOSTILE).first().waitFor();
    await lookAt(t, page, 'tries');

    const { id } = await fleet.rest.post<{ readonly id: string }>('/events/test');
    await page.goto(`${fleet.admin().url}/console/events?q=${id}`);
    await pressOpening(page, 'Envelope of edge.core.test');
    await lookAt(t, page, 'an envelope');
  },
);

test.serial('axe finds nothing in notices of what can be taken back and of what failed', async (t) => {
  const { id } = await fleet.node();
  const page = await openForAxe(t, `/console/nodes/${id}`);
  const alias = page.getByRole('region', { name: 'Aliases', exact: true }).getByRole('textbox');
  await holdNotices(page);

  await typedInto(page, alias, 'seen');
  await page.keyboard.press('Enter');
  await partLooksWell(t, page, '.notice:has(.undo)', 'a notice with a way back');
  await doNow(page, 'Make the alias seen');
  await typedInto(page, alias, 'Not-a-name');
  await page.keyboard.press('Enter');
  await doNow(page, 'Make the alias Not-a-name');
  await partLooksWell(t, page, '.notice.failed', 'a notice of what failed');
});
