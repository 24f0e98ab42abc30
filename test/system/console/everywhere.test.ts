/**
 * What is the same on every page of the console, in a real browser: its lines for a terminal, its keys, its palette.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { tabTo } from '../../support/console/keyboard.ts';
import { heading, openPage, signIn, type Opened } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { RunningProgram } from '../../support/edge-program.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { ROOT } from '../../support/source/source-text.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let node: string;

/** More clusters and commands than the palette shows unasked, and more nodes than a preview names unasked. */
const CLUSTERS = 110;
const COMMANDS = 25;
const NODES = 240;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1, env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' } });
  const { rest } = fleet;
  node = (await fleet.node()).id;
  for (let index = 1; index <= CLUSTERS; index += 1)
    await rest.post('/clusters', { name: `lab-${String(index).padStart(3, '0')}` });
  for (let index = 1; index <= COMMANDS; index += 1)
    await fleet.run(`echo number-${index}`, { targeting: { type: 'nodes', node_ids: [node] } });
  await storeNodes(
    fleet,
    Array.from({ length: NODES }, (_, index) => `away-${index}`),
  );
  await rest.post(`/nodes/${node}/aliases`, { name: 'front-1' });
  const { url } = (await openReceiver(scope)).endpoint((response) => response.writeHead(204).end());
  for (const name of ['one', 'two']) {
    await fleet.key({ name });
    await rest.post('/groups', { name, targeting: { type: 'all' } });
    await rest.post(`/nodes/${node}/ssh_usernames`, { username: `user-${name}`, password: 'a-password-of-mine' });
    await rest.post('/webhooks', {
      url: `${url}?${name}`,
      secret: 'a-secret-of-the-receiver-with-32-characters',
      subscribed_events: [name === 'one' ? 'edge.core.test' : 'edge.node.status_changed'],
    });
  }
  await rest.post('/events/test');
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A page of somebody who is signed in. */
async function open(t: ExecutionContext, path: string): Promise<Opened> {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, path);
  await signIn(opened.page);
  return opened;
}

/** Goes there without a page being loaded. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}

/** The lines of the page that is seen, of which that of a node has many: for `edge` and for `curl`. */
async function linesOf(page: Page): Promise<readonly [edge: string, curl: string]> {
  const lines = page.locator('details.elsewhere pre, dl.lines pre');
  await lines.nth(1).waitFor({ state: 'attached' });
  const [edge = '', ...others] = await lines.allTextContents();
  return [edge, others.find((line) => /^curl (?!-x)/u.test(line)) ?? ''];
}

test.serial('every page says what it shows as a command and as a request', async (t) => {
  const [command] = await fleet.rest.get<readonly { readonly id: string }[]>('/commands?page_size=1');
  const [webhook] = await fleet.rest.get<readonly { readonly id: string }[]>('/webhooks?page_size=1');
  const [user] = await fleet.rest.get<readonly { readonly id: string }[]>('/ssh_usernames?page_size=1');
  const { page, problems } = await open(t, '/console/sessions');
  for (const [path, title] of [
    ['', 'Overview'],
    ['sessions', 'Sessions'],
    ['nodes', 'Nodes'],
    ['run', 'Run'],
    ['commands', 'Commands'],
    ['executions', 'Executions'],
    ['clusters', 'Clusters'],
    [`clusters/${CLUSTER}`, CLUSTER],
    ['groups', 'Groups'],
    ['groups/one', 'one'],
    ['aliases', 'Aliases'],
    ['events', 'Events'],
    ['updates', 'Updates'],
    ['enrollment-keys', 'Enrolment keys'],
    ['ssh', 'SSH access'],
    [`ssh/${user?.id}`, 'user-two'],
    ['webhooks', 'Webhooks'],
    [`webhooks/${webhook?.id}`, 'Webhook'],
    ['deliveries', 'Deliveries'],
    ['admins', 'Admins'],
    ['admins/admin-1', 'admin-1'],
    ['health', 'Health'],
    ['recordings', 'Recordings'],
    [`updates/${node}`, 'Update'], // of what is not there, too
    [`recordings/${node}`, 'Recording'],
    [`nodes/${node}`, 'front-1'],
    [`commands/${command?.id}`, null],
    [`nodes/${node}/terminal`, null],
  ] as const) {
    await go(page, path === '' ? '/console' : `/console/${path}`);
    if (title !== null) await heading(page, title);
    else await page.getByRole('heading', { level: 1 }).waitFor();
    const [edge, curl] = await linesOf(page);
    t.true(edge.startsWith('edge '), `${path}: ${edge}`);
    t.true(curl.startsWith('curl ') && curl.includes(fleet.admin().url), `${path}: ${curl}`);
  }
  t.deepEqual(problems, []);
});

/** Lists with a filter and an order, and how many rows each shows. */
const LISTS = [
  ['clusters?name=lab-01&sort=-name', 10],
  ['groups?name=tw&sort=name', 1],
  [`aliases?name=front&cluster_name=${CLUSTER}&sort=-name`, 1],
  ['enrollment-keys?name=two&state=is_never_used&sort=name', 1],
  ['ssh?username=user&has_password=true&sort=-username', 2],
  ['webhooks?url=127.0.0.1&event_type=edge.core.test', 1],
  ['deliveries?status__in=pending,dropped&event_type=edge.core.test&sort=-attempt_count', 1],
  ['commands?command_text=number-1&has_failed=false&has_open=false&sort=inserted_at', 11],
  ['executions?output=number-2&status__in=completed&exit_code=0&sort=-inserted_at', 7],
  ['recordings?username=nobody', 0],
  ['updates?status__in=completed', 0],
] as const;

test.serial('edge and curl list what the page lists, in its order', async (t) => {
  const { page, problems } = await open(t, '/console');
  await heading(page, 'Overview');
  const edge = join(fleet.directory, 'edge');
  await writeFile(edge, `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'cli/edge.ts')}' -o json "$@"\n`);
  await chmod(edge, 0o755);
  const env = {
    PATH: `${fleet.directory}:${process.env['PATH'] ?? ''}`,
    EDGE_URL: fleet.admin().url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  };
  const answered = async (line: string): Promise<unknown> => {
    const { status, stdout, stderr } = await new RunningProgram(
      '/bin/sh',
      ['-c', line.replace(/^curl /u, 'curl -s ')],
      env,
    ).ended;
    t.deepEqual([status, stderr], [0, ''], line);
    return JSON.parse(stdout);
  };
  const [status, overview] = await Promise.all((await linesOf(page)).map(answered));
  t.like(status, { admins: 1, degraded: false });
  t.like(overview, { data: { admins: [{ name: 'admin-1' }] } });
  for (const [path, count] of LISTS) {
    await go(page, `/console/${path}`);
    await page.getByText(count === 0 ? 'Nothing is as you asked for.' : `1 to ${count} of ${count}`).waitFor();
    const lines = await linesOf(page);
    const [byEdge, byCurl] = (await Promise.all(lines.map(answered))) as [
      readonly { readonly id: string }[],
      { readonly data: readonly { readonly id: string }[] },
    ];
    const ids = byCurl.data.map(({ id }) => id);
    t.deepEqual([byEdge.map(({ id }) => id), ids.length], [ids, count], lines.join('\n'));
  }
  t.deepEqual(problems, []);
});

test.serial('j, k and Enter lead through every table', async (t) => {
  const { page, problems } = await open(t, '/console/events');
  await page.locator('.status.live').waitFor();
  await fleet.rest.post('/events/test');
  const event = page.getByRole('rowheader', { name: 'edge.core.test' });
  await event.first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.insertText('edge.core.test');
  await page.keyboard.press('Enter');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('edge.core.test').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await go(page, '/console/sessions');
  await tabTo(page, page.getByRole('region', { name: 'Sessions' }));
  await page.keyboard.press('j');
  await page.locator('tbody tr:first-child button:focus').waitFor();
  await go(page, '/console/health');
  const checks = page.getByRole('region', { name: /^Checks/u }).or(page.locator('section .scroll'));
  await tabTo(page, checks.first());
  await page.keyboard.press('End');
  await page.locator('tbody tr:last-child:focus').waitFor();
  await page.keyboard.press('k');
  await page.locator('tbody tr:nth-last-child(2):focus').waitFor();
  await go(page, '/console/admins');
  await tabTo(page, page.getByRole('region', { name: 'Admins and what they own' }));
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/admins\/./u);
  await go(page, '/console');
  await tabTo(page, page.getByRole('region', { name: 'Not healthy' }));
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/nodes\/./u);
  await go(page, `/console/nodes/${node}`);
  await tabTo(page, page.getByRole('region', { name: 'What ran here' }));
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/commands\/./u);
  t.deepEqual(problems, []);
});

test.serial('each pair of keys stands once in the list of keys', async (t) => {
  const { page } = await open(t, '/console/sessions');
  await heading(page, 'Sessions');
  await page.keyboard.press('?');
  const keys = await page.locator('dialog.keyboard dt').allTextContents();

  t.true(keys.includes('g n'));
  t.deepEqual(
    keys.filter((one, index) => keys.indexOf(one) !== index),
    [],
  );
});

test.serial('the palette finds what no first page has, and what can be done on a node', async (t) => {
  const { page, problems } = await open(t, '/console/sessions');
  await heading(page, 'Sessions');
  const chosen = async (words: string, option: RegExp): Promise<void> => {
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('combobox').and(page.locator(':focus')).waitFor();
    await page.keyboard.insertText(words);
    const found = page.getByRole('option', { name: option }).first();
    await found.waitFor();
    // others may stand before it
    for (let step = 0; step < 30 && (await found.getAttribute('aria-selected')) !== 'true'; step += 1)
      await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
  };

  await chosen(`lab-${CLUSTERS}`, new RegExp(`^lab-${CLUSTERS}$`, 'u'));
  await heading(page, `lab-${CLUSTERS}`);
  await chosen('number-2', /^echo number-2 ?1 node$/u);
  await page.getByText('echo number-2', { exact: true }).first().waitFor();
  t.regex(page.url(), /\/console\/commands\/[\da-f-]{36}$/u);
  await chosen('run away-17', /^Run a command on away-17$/u);
  await heading(page, 'Run');
  await page.getByText('away-17', { exact: true }).waitFor();
  await chosen('terminal away-17', /^Terminal of away-17$/u);
  await heading(page, 'Terminal of away-17');
  t.deepEqual(problems, []);
});

test.serial('a run names all of its nodes before, and takes their names', async (t) => {
  const { page, problems } = await open(t, `/console/run?in=all`);
  await heading(page, 'Run');
  const list = page.locator('.run-preview li');
  await list.nth(NODES).waitFor({ state: 'attached' });
  t.is(await list.count(), NODES + 1);

  await page.getByRole('radio', { name: 'These nodes' }).check();
  const names = page.getByRole('textbox', { name: 'Nodes, by name or id' });
  await names.fill('front-1, nobody-is-called-so');
  await page.getByText('No node is called "nobody-is-called-so".').waitFor();
  await names.fill(`front-1.${CLUSTER}, away-3`);
  await page.locator('.run-preview').getByText('2 nodes').waitFor();
  t.is(await list.count(), 2);
  // typed and sent at once: what is not looked up yet runs nowhere else
  const script = page.getByRole('textbox', { name: 'Command' });
  await script.fill('echo by-name');
  await names.fill('front-1');
  await page.evaluate(`
    document.querySelector('form.run').dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }));
    const typed = document.querySelector('form.run textarea');
    typed.value = 'echo typed-on';
    typed.dispatchEvent(new Event('input', { bubbles: true }));
  `);
  await page.getByRole('alert').getByText('The form was changed before it was sent').waitFor();
  t.deepEqual(await fleet.rest.get('/commands?command_text=echo typed-on'), []);
  await script.fill('echo by-name');
  await script.press('ControlOrMeta+Enter');
  await page.waitForURL(/\/console\/commands\//u);
  const [made] = await fleet.rest.get<readonly { readonly targeting: object }[]>('/commands?command_text=echo by-name');
  t.like(made, { targeting: { node_ids: [node] } });
  t.deepEqual(problems, []);
});
