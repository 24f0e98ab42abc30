/** Pages of the console that are lists, in a real browser: clusters, keys, SSH usernames, webhooks, events. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import {
  answerWith,
  enter,
  kept,
  press,
  pressOpening,
  tabTo,
  typed,
  typedInto,
} from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn, type Opened } from '../../support/console/page.ts';
import { readQr } from '../../support/console/qr.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { openReceiver, type Endpoint } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let endpoint: Endpoint;

/** Clusters beside that of the fleet: more than a page of a list has. */
const CLUSTERS = 60;
/** What somebody answers or names things: it would do something if it were anything but text. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202egnitirw';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1, env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' } });
  await storeNodes(fleet, ['away-1', HOSTILE]);
  for (let index = 1; index <= CLUSTERS; index += 1)
    await fleet.rest.post('/clusters', { name: `lab-${String(index).padStart(2, '0')}` });
  endpoint = (await openReceiver(scope)).endpoint((response) => response.writeHead(500).end(HOSTILE));
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A page of somebody who is signed in. */
async function open(t: ExecutionContext, path: string, options?: BrowserContextOptions): Promise<Opened> {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, path, options);
  await signIn(opened.page);
  return opened;
}

const rows = (page: Page) => page.locator('.paged tbody tr');

test.serial('clusters are paged, searched, made, changed, and deleted by their names, by keyboard alone', async (t) => {
  const { page, problems, elsewhere } = await open(t, '/console');
  await heading(page, 'Overview');
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await heading(page, 'Clusters');
  await rows(page).nth(49).waitFor();
  await page.getByText(`1 to 50 of ${CLUSTERS + 1}`).waitFor();
  await enter(page, page.getByRole('link', { name: 'Next' }));
  await page.getByText(`51 to ${CLUSTERS + 1} of ${CLUSTERS + 1}`).waitFor();
  t.true(page.url().endsWith('?page=2'));

  await press(page, 'Name');
  await page.keyboard.press('/');
  await page.keyboard.type('lab-07');
  await page.waitForURL(/name=lab-07&sort=name$/u);
  await page.getByText('1 to 1 of 1').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await heading(page, 'lab-07');

  await page.goBack();
  await heading(page, 'Clusters');
  await pressOpening(page, 'New cluster');
  await typed(page, 'Wrong Name', '5');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('name ').waitFor();
  await typedInto(page, page.getByRole('textbox', { name: /^Name Lower/u }), 'made-here');
  await page.keyboard.press('Enter');
  await heading(page, 'made-here');
  await page.getByText('at most 5').waitFor();

  await pressOpening(page, 'Change the limit');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText('9');
  await page.keyboard.press('Enter');
  await page.getByText('at most 9').waitFor();
  await pressOpening(page, 'Delete');
  await page.keyboard.insertText('made-here');
  await page.keyboard.press('Enter');
  await heading(page, 'Clusters');
  await page.getByText('Cluster made-here is deleted.').waitFor();
  t.is((await fleet.rest.call('GET', '/clusters/made-here')).status, 404);
  t.deepEqual([problems, elsewhere], [[], []]);
});

test.serial('a cluster shows its nodes, and asks its members for their paths', async (t) => {
  const { page, problems } = await open(t, `/console/clusters/${CLUSTER}`);
  await heading(page, CLUSTER);
  await page.getByRole('link', { name: /^2 Unreachable/u }).waitFor();
  await page.getByRole('link', { name: /^1 Healthy/u }).waitFor();

  await press(page, 'Look now');
  await page.getByRole('button', { name: 'Look again' }).waitFor();
  await page.getByText('No machine is in the VPN of this cluster.').or(page.locator('table.matrix')).first().waitFor();
  t.deepEqual(problems, []);
});

test.serial('a key comes with the line that installs, and the page keeps nothing of it', async (t) => {
  const { page, problems } = await open(t, '/console/enrollment-keys');
  await heading(page, 'Enrolment keys');
  await pressOpening(page, 'New key');
  await typed(page, CLUSTER, HOSTILE);
  await tabTo(page, page.getByLabel('Labels'));
  await page.keyboard.insertText('env=prod,gpu');
  await page.keyboard.press('Enter');

  const dialog = page.getByRole('dialog', { name: 'Run this on the machine' });
  await dialog.waitFor();
  const line = (await dialog.locator('code').first().textContent()) ?? '';
  const [, key = ''] = /^curl -fsSL \S+\/install\.sh \| sudo sh -s -- --key (\S+)/u.exec(line) ?? [];
  t.is(await readQr(page), line);
  const [found] = await fleet.rest.get<readonly { id: string; name: string; labels: object }[]>(
    `/enrollment_keys?key=${key}`,
  );
  t.like(found, { name: HOSTILE, labels: { env: 'prod', gpu: '' } });

  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(HOSTILE).first().waitFor();
  t.false((await kept(page)).includes(key));
  await pressOpening(page, `The line of the key ${HOSTILE}`);
  t.is(await dialog.locator('code').first().textContent(), line);
  t.is(await readQr(page), line);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  t.false((await kept(page)).includes(key));
  await pressOpening(page, `Delete the key ${HOSTILE}`);
  await answerWith(page, found?.id.slice(0, 8) ?? ''); // no keyboard has its name
  await page.getByText('The key is deleted.').waitFor();
  t.is((await fleet.rest.call('GET', `/enrollment_keys/${found?.id ?? ''}`)).status, 404);
  t.deepEqual(problems, []);
});

test.serial('somebody is let in by SSH with a key, gets another one, and is let out again', async (t) => {
  const { page, problems } = await open(t, '/console/ssh');
  const node = await fleet.node();
  const [first, second] = [newKey('laptop'), newKey('<b>desk</b>')];
  await page.getByText('Nobody may log in by SSH yet.').waitFor();

  await pressOpening(page, 'New username');
  await typed(page, 'nobody-is-called-so', 'deploy', 'a-password-of-mine', first.line);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('No node is called "nobody-is-called-so".').waitFor();
  await typedInto(page, page.getByLabel('Node'), node.id);
  await page.keyboard.press('Enter');
  await page.getByText('deploy may log in.').waitFor();
  await enter(page, page.getByRole('link', { name: 'deploy' }));
  await heading(page, 'deploy');
  await page.getByText(first.fingerprint).waitFor();
  t.false((await kept(page)).includes('a-password-of-mine'));

  await pressOpening(page, 'Add a key');
  await typed(page, second.line);
  await page.keyboard.press('Enter');
  await page.getByText(second.fingerprint).waitFor();
  await page.getByRole('rowheader', { name: '<b>desk</b>' }).waitFor();
  await pressOpening(page, 'Delete the key laptop');
  await answerWith(page, 'laptop');
  await page.getByRole('region', { name: 'Public keys' }).getByText(first.fingerprint).waitFor({ state: 'detached' });
  t.deepEqual(problems, []);
});

test.serial('a webhook shows its secret once, and what became of what was sent there as text', async (t) => {
  const { page, problems } = await open(t, '/console/webhooks');
  await page.getByText('Events are sent nowhere yet.').waitFor();

  await pressOpening(page, 'New webhook');
  await typed(page, endpoint.url);
  await tabTo(page, page.getByRole('checkbox', { name: 'edge.core.test' }));
  await page.keyboard.press('Space');
  await tabTo(page, page.getByLabel('Headers'));
  await page.keyboard.insertText('X-From: console');
  await enter(page, page.getByLabel('Secret'));
  const dialog = page.getByRole('dialog', { name: 'The webhook is there' });
  const secret = (await dialog.locator('code').textContent()) ?? '';
  t.regex(secret, /^[\da-f]{64}$/u);
  await page.keyboard.press('Enter');
  await page.locator('dialog.form').waitFor({ state: 'detached' }); // a closed one has no role
  t.false((await kept(page)).includes(secret));

  await enter(page, page.getByRole('link', { name: endpoint.url }));
  await heading(page, 'Webhook');
  await press(page, 'Send a test event');
  await pressOpening(page, 'Tries of edge.core.test');
  await page.getByRole('dialog').getByText('status 500').first().waitFor();
  await page.getByRole('dialog').getByText(HOSTILE).first().waitFor();
  t.is(endpoint.arrivals[0]?.headers['x-from'], 'console');
  const shown = page.getByRole('dialog').locator('details');
  await enter(page, shown.locator('summary'));
  t.regex((await shown.locator('pre').textContent()) ?? '', new RegExp(`"id": "${endpoint.arrivals[0]?.id}"`, 'u'));
  await page.keyboard.press('Escape');

  endpoint.manner = (response) => response.writeHead(410).end();
  await page.getByText('dropped').last().waitFor({ timeout: 120_000 });
  endpoint.manner = (response) => response.writeHead(204).end();
  await press(page, 'Send again: edge.core.test');
  await page.locator('.paged .status.healthy').waitFor({ timeout: 120_000 });
  await pressOpening(page, /^Delete$/u);
  await answerWith(page, new URL(endpoint.url).host);
  await heading(page, 'Webhooks');
  t.deepEqual(problems, []);
});

test.serial('the list of sessions is read again while somebody looks at it', async (t) => {
  const { url } = fleet.admin();
  const { page } = await open(t, '/console/sessions');
  await page.getByRole('region', { name: 'Sessions' }).waitFor();

  await fetch(`${url}/console/session`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json', 'user-agent': 'another one' },
    body: JSON.stringify({ key: FLEET_KEYS.API_KEY }),
  });

  await page.getByText('another one').waitFor();
  t.pass();
});

test.serial('the latest events are there, more come, stand still, and go on where they stood', async (t) => {
  const { time } = await fleet.rest.post<{ readonly time: string }>('/events/test');
  const { page, problems } = await open(t, '/console');
  await heading(page, 'Overview');
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await heading(page, 'Events');
  await page.locator('.status.live').waitFor();
  await page.locator(`.rows time[datetime="${time}"]`).waitFor();
  await press(page, 'Clear');
  await page.getByText('There is nothing to show yet.').waitFor();
  const { id } = await fleet.node();

  await fleet.run(`echo '${HOSTILE}'`, { targeting: { type: 'nodes', node_ids: [id] } });
  await page.getByRole('rowheader', { name: 'edge.command_execution.completed' }).waitFor();
  await pressOpening(page, 'Envelope of edge.command_execution.completed');
  const envelope = page.getByRole('dialog').locator('pre');
  t.like(JSON.parse((await envelope.textContent()) ?? ''), {
    type: 'edge.command_execution.completed',
    data: { node_id: id, command_text: `echo '${HOSTILE}'` },
  });
  await page.keyboard.press('Enter');

  await press(page, 'Pause');
  await page.getByText('Paused').waitFor();
  await fleet.rest.post('/events/test');
  await press(page, 'Go on');
  await page.getByRole('rowheader', { name: 'edge.core.test' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.insertText(`${id} completed`);
  await page.getByRole('rowheader', { name: 'edge.core.test' }).waitFor({ state: 'detached' });
  t.deepEqual([problems, await page.title()], [[], 'Events · Edge fleet control']); // no script of theirs ran
});

test.serial('axe finds nothing on any of these pages, light and dark, on a phone and a laptop', async (t) => {
  await fleet.key({ name: HOSTILE, labels: { env: 'prod' } });
  const { id } = await fleet.rest.post<{ readonly id: string }>('/webhooks', {
    url: `${endpoint.url}?${'x'.repeat(900)}`,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: ['edge.core.test'],
  });
  const { page } = await open(t, '/console/clusters', { bypassCSP: true }); // axe is a script from elsewhere
  for (const [path, name] of [
    ['/console/clusters', 'Clusters'],
    [`/console/clusters/${CLUSTER}`, CLUSTER],
    ['/console/enrollment-keys', 'Enrolment keys'],
    ['/console/ssh', 'SSH access'],
    ['/console/webhooks', 'Webhooks'],
    [`/console/webhooks/${id}`, 'Webhook'],
    ['/console/events', 'Events'],
  ] as const) {
    if (path !== '/console/clusters') await page.goto(fleet.admin().url + path);
    await heading(page, name);
    await page.locator('.paged tbody tr, .facts, .status.live').first().waitFor();
    if (name === 'Events') await fleet.rest.post('/events/test');
    await page.locator('tbody tr, .facts').first().waitFor(); // none of them is empty
    await looksWell(t, page, path);
  }
});
