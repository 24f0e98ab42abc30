/**
 * What a node's page shows of its work, its logins and its ports, in a real browser, against a real agent and its SSH
 * server.
 */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import type { SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { startBrowser } from '../../support/browser.ts';
import { refusesFirst } from '../../support/console/answers.ts';
import { answerWith, enter, pressOpening, tabTo } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { connectRaw, logsIn } from '../../support/ssh/raw-ssh-client.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let id: string;

/** Parts of the page ask every 10 s; on a busy machine, in ms. */
const ASKED_MS_MAX = 60_000;

/** Of the SSH username that has one. */
const PASSWORD = 'a-password-of-the-node-parts-test';

/** What a stranger types at a login. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202e';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1, env: { SSH_RECORDING: 'pty' } });
  ({ id } = await fleet.node());
  await fleet.rest.post(`/nodes/${id}/aliases`, { name: 'press-7' });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const part = (page: Page, name: string) => page.locator('.node section', { has: page.getByRole('heading', { name }) });

const open = async (t: ExecutionContext, options = {}) => {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`, options);
  await signIn(opened.page, FLEET_KEYS.API_KEY);
  await heading(opened.page, 'press-7');
  return opened;
};

test.serial('what ran there is listed with how it ended, the latest first, and leads to its command', async (t) => {
  const { page, problems } = await open(t);
  await part(page, 'Executions').getByText('Nothing ran here yet.').waitFor();
  const targeting = { type: 'nodes', node_ids: [id] } as const;
  await fleet.settled(await fleet.run('true', { targeting }));
  await fleet.settled(await fleet.run('exit 7 # <b>it</b>\nnever', { targeting }));

  const rows = part(page, 'Executions').locator('tbody tr');
  await part(page, 'Executions').getByRole('link', { name: 'All 2 executions' }).waitFor({ timeout: ASKED_MS_MAX });
  await rows.first().getByText('completed').waitFor({ timeout: ASKED_MS_MAX }); // it was asked when that was under way
  const cells = async (row: number) => (await rows.nth(row).locator('th, td').allTextContents()).slice(0, 3);
  t.deepEqual(await cells(0), ['exit 7 # <b>it</b>', 'completed', '7']);
  t.deepEqual(await cells(1), ['true', 'completed', '0']);
  await enter(page, rows.first().getByRole('link'));
  await page.waitForURL(/\/console\/commands\//u);
  t.deepEqual(problems, []);
});

test.serial('a username and its key are made, and deleted once their names are typed, by keyboard alone', async (t) => {
  const { page, problems } = await open(t);
  const access = part(page, 'SSH access');
  const key = newKey('ada@laptop');
  const users = () => fleet.rest.get<readonly SshUsernameResource[]>(`/ssh_usernames?node_id__in=${id}`);
  await access.getByText('Nobody may log in.').waitFor();

  await tabTo(page, access.getByRole('textbox', { name: 'Username' }));
  await page.keyboard.type('ada');
  await page.keyboard.press('Enter');
  await page.getByText('The username ada is made. Give it a key.').waitFor();
  await access.getByText('keys only').waitFor();
  await tabTo(page, access.getByRole('textbox', { name: 'Public key of ada' }));
  await page.keyboard.insertText(key.line);
  await page.keyboard.press('Enter');
  await page.getByText('The key ada@laptop is added.').waitFor();
  await access.getByText(key.fingerprint).waitFor();
  t.deepEqual(
    (await users()).map(({ username }) => username),
    ['ada'],
  );

  await pressOpening(page, 'Remove ada@laptop');
  await page.getByRole('dialog').getByText(key.fingerprint).waitFor();
  await answerWith(page, 'ada@laptop');
  await access.getByText(key.fingerprint).waitFor({ state: 'detached' });
  await pressOpening(page, 'Remove ada');
  await tabTo(page, page.getByRole('dialog').getByRole('textbox'));
  await page.keyboard.type('ada');
  await page.keyboard.press('Enter');
  await access.getByText('Nobody may log in.').waitFor();
  t.deepEqual(await users(), []);
  t.deepEqual(problems, []);
});

test.serial('who logged in is named, who was refused is text, and what was recorded leads to its player', async (t) => {
  const { ssh_port: port } = await fleet.node();
  const { id: user } = await fleet.rest.post<SshUsernameResource>(`/nodes/${id}/ssh_usernames`, {
    username: 'ops',
    password: PASSWORD,
  });
  const { page, problems } = await open(t);
  await part(page, 'Logins by SSH').getByText('Nobody tried to log in').waitFor();
  await part(page, 'Recordings').getByText('There are none.').waitFor();

  t.false(await logsIn(port, HOSTILE, 'a-password-of-nobody'));
  const sessions = part(page, 'SSH sessions');
  await sessions.getByText('Nobody is logged in.').waitFor();
  const client = await connectRaw(t, port, { username: 'ops', password: PASSWORD });
  await enter(page, sessions.getByRole('button', { name: 'Look again' }));
  await sessions.getByText('ops').waitFor();
  t.regex(
    (await sessions.locator('li').textContent()) ?? '',
    /: nothing open through an admin or on the machine, for /u,
  );
  await new Promise<void>((resolve, reject) => {
    client.exec('echo recorded', { pty: true }, (error, channel) => {
      if (error === undefined) channel.resume().on('close', resolve);
      else reject(error);
    });
  });
  client.end();
  await until('that the server knows', async () => {
    await enter(page, sessions.getByRole('button', { name: 'Look again' }));
    await sessions.getByRole('button', { name: 'Look again', disabled: false }).waitFor();
    return (await sessions.getByText('Nobody is logged in.').count()) === 1;
  });

  const logins = part(page, 'Logins by SSH').locator('li bdi');
  await logins.nth(1).waitFor({ timeout: ASKED_MS_MAX });
  t.deepEqual(await logins.allTextContents(), [
    'ops logged in by SSH with a password',
    `a login by SSH as ${HOSTILE} was refused`,
  ]);
  t.is(await part(page, 'History').getByText('by SSH').count(), 0, 'logins stand apart from what happens to it');
  const recording = part(page, 'Recordings').getByRole('link', { name: 'ops: echo recorded' });
  await recording.waitFor({ timeout: ASKED_MS_MAX });
  await enter(page, recording);
  await heading(page, 'Recording of ops');
  t.not(await page.title(), 'hit');
  t.deepEqual(problems, []);
  await fleet.rest.call('DELETE', `/ssh_usernames/${user}`);
});

test.serial('what its page shows the beginning of leads to the rest, and lists take its name', async (t) => {
  await fleet.sql(
    `insert into event (id, type, subject, time, data)
    select gen_random_uuid(), kind, $1, now() - interval '1 day' - interval '1 minute' * place,
      json_build_object('username', 'user-' || place, 'result', 'failed', 'previous_version', place - 1, 'version', 'v' || place)
    from generate_series(1, 30) as place, unnest(array['edge.node.version_changed', 'edge.ssh_username.verified']) as kind`,
    [id],
  );
  const { page, problems } = await open(t);
  const [history, logins] = [part(page, 'History'), part(page, 'Logins by SSH')];

  await history.getByText(/^1 to 25 of \d\d$/u).waitFor();
  await enter(page, history.getByRole('button', { name: 'Next' }));
  await history.getByText('enrolled for the first time').waitFor();
  await enter(page, history.getByRole('button', { name: 'Previous' }));
  await history.getByText(/^1 to 25 of \d\d$/u).waitFor();
  await logins.getByText('1 to 10 of 32').waitFor();
  for (const shown of ['11 to 20 of 32', '21 to 30 of 32', '31 to 32 of 32']) {
    await enter(page, logins.getByRole('button', { name: 'Next' }));
    await logins.getByText(shown).waitFor();
  }
  await logins.getByText('ops logged in by SSH with a password').waitFor();
  await enter(page, part(page, 'Recordings').getByRole('link', { name: 'The only one, in the list' }));
  await heading(page, 'Recordings');
  await page.getByText('1 to 1 of 1').waitFor();
  await page.goBack();
  await enter(page, part(page, 'Executions').getByRole('link', { name: 'All 2 executions' }));
  await heading(page, 'Executions');
  await page.getByText('1 to 2 of 2').waitFor();
  t.true(page.url().endsWith(`/console/executions?node_id__in=${id}`));

  const nodes = page.getByRole('searchbox', { name: 'Nodes, by name or id' });
  await nodes.fill('nobody-is-called-so');
  await page.getByText('No node is called "nobody-is-called-so".').waitFor();
  await nodes.fill('press-7');
  await page.waitForURL(/node_id__in=press-7$/u);
  await page.getByText('No node is called').waitFor({ state: 'detached' });
  await page.getByText('1 to 2 of 2').waitFor();
  const lines = await page.locator('details.elsewhere pre').allTextContents();
  t.deepEqual(
    lines.map((line) => line.includes(id)),
    [true, true],
    lines.join('\n'),
  );
  t.deepEqual(problems, []);
});

test.serial('its ports are those that its agent said, and a node in no VPN says that it has no peers', async (t) => {
  const node = await fleet.node();
  const { page, problems } = await open(t, { bypassCSP: true }); // axe is a script from elsewhere

  const ports = await part(page, 'Ports').locator('dd').allTextContents();

  t.deepEqual(ports.map(Number), [
    node.http_port,
    node.ssh_port,
    node.host_metrics_port,
    node.wireguard_metrics_port,
    node.http_proxy_port,
    node.socks5_proxy_port,
  ]);
  const tooOld = 'The agent of this node is too old to tell who is logged in: update it.';
  await refusesFirst(page, 'get_node_ssh_sessions', { code: 'conflict', message: tooOld });
  await page.reload();
  await part(page, 'SSH sessions').getByRole('status').getByText(tooOld).waitFor();
  await part(page, 'VPN peers').getByText('It is in no VPN, or alone there.').waitFor();
  await part(page, 'Logins by SSH').locator('li').first().waitFor();
  await looksWell(t, page, 'the parts of a node');
  t.deepEqual(problems, []);
});
