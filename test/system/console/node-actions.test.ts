/** What is done to a node on its page and to a view of the list, and what cannot be taken back, in a real browser. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { startBrowser } from '../../support/browser.ts';
import { answer, answerWith, press, pressOpening, tabTo } from '../../support/console/keyboard.ts';
import { doNow, holdNotices, undo } from '../../support/console/notices.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
/** A node that takes part in self-updates. */
let updating: UpdatingAgent;

/** As a machine may call itself: no field of a browser holds it. */
const TWO_LINES = 'two\nlines';

/** How often charts are given a new point, in ms. Source: console/pages/node/measured.ts. */
const SAMPLE_MS = 5_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  await fleet.rest.post('/clusters', { name: 'elsewhere' });
  await storeNodes(fleet, [TWO_LINES]);
  updating = new UpdatingAgent(scope, await enrollRaw(scope, fleet), 'takes');
  await updating.connect();
  await fleet.rest.post(`/nodes/${updating.node}/aliases`, { name: 'press-7' });
  await until('it is healthy', async () => (await read(updating.node)).status === 'healthy');
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const read = (id: string) => fleet.rest.get<NodeResource>(`/nodes/${id}`);

async function open(t: ExecutionContext, path: string, name: string) {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, path);
  await signIn(opened.page, FLEET_KEYS.MASTER_KEY);
  await heading(opened.page, name);
  await holdNotices(opened.page);
  return opened;
}

test.serial(
  'an update and a move of a node are taken back before they are done, and done where they are not',
  async (t) => {
    const { page, problems } = await open(t, `/console/nodes/${updating.node}`, 'press-7');
    const updates = () => fleet.rest.get<readonly unknown[]>('/self_update_requests');
    const update = async (): Promise<void> => {
      await pressOpening(page, 'Update agent');
      await answer(page, 'Update agent');
    };
    const field = page.getByRole('combobox', { name: 'Move to a cluster' });
    const move = async (cluster: string): Promise<void> => {
      await tabTo(page, field);
      await page.keyboard.type(cluster);
      await page.keyboard.press('Enter');
      await answer(page, 'Move');
    };

    await update();
    await undo(page, 'Update the agent of press-7');
    await move('elsewhere');
    await undo(page, 'Move press-7 to elsewhere');
    await update();
    await doNow(page, 'Update the agent of press-7');
    await page.getByText('The update is asked for.').waitFor();
    t.is((await updates()).length, 1);
    t.is((await read(updating.node)).cluster_name, 'fleet');

    await move('nowhere-at-all');
    await until('the field to be empty', async () => (await field.inputValue()) === '');
    await doNow(page, 'Move press-7 to nowhere-at-all');
    await page.locator('.notice.failed').first().waitFor();
    await until('the name to come back, to be mended', async () => (await field.inputValue()) === 'nowhere-at-all');
    await field.fill('');
    await move('elsewhere');
    await doNow(page, 'Move press-7 to elsewhere');
    await page.getByText('It moves to elsewhere.').waitFor();
    t.is((await read(updating.node)).cluster_name, 'elsewhere');
    t.deepEqual(problems, []);
  },
);

test.serial('a view of the list of nodes is forgotten where nobody takes that back, by keyboard', async (t) => {
  const { page, problems } = await open(t, '/console/nodes?q=press', 'Nodes');
  const forget = async (): Promise<void> => {
    await press(page, 'Views');
    await press(page, 'Forget of press');
    await page.keyboard.press('Escape');
  };
  const view = page.getByRole('link', { name: 'of press' });
  await press(page, 'Views');
  await page.getByLabel('Keep this list as').fill('of press');
  await page.keyboard.press('Enter');
  await page.getByText('Kept as of press.').waitFor();
  await press(page, 'Show all'); // the menu has the name of the view that is seen

  await forget();
  await undo(page, 'Forget of press');
  await press(page, 'Views');
  await view.waitFor();
  await page.keyboard.press('Escape');
  await forget();
  await doNow(page, 'Forget of press');

  await press(page, 'Views');
  await page.getByText('No view is kept in this browser yet.').waitFor();
  t.is(await view.count(), 0);
  t.deepEqual(problems, []);
});

test.serial('a node whose name nobody can type, and its recovery key, are deleted by its id', async (t) => {
  const nodes = await fleet.rest.get<readonly NodeResource[]>('/nodes?page_size=100');
  const { id = '' } = nodes.find(({ name }) => name === TWO_LINES) ?? {};
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`);
  await signIn(page);

  await pressOpening(page, 'Make recovery key');
  await answer(page, 'Make recovery key');
  await page.getByText('The recovery key is made.').waitFor();
  await page.getByLabel('Recovery key', { exact: true }).waitFor();
  await pressOpening(page, 'Remove recovery key');
  await answerWith(page, id.slice(0, 8));
  await page.getByText('The node has no recovery key.').waitFor();
  t.is(await page.getByLabel('Recovery key', { exact: true }).count(), 0);
  await pressOpening(page, 'Delete node');
  await answerWith(page, id.slice(0, 8));

  await page.getByRole('alert').getByText('This node was deleted').waitFor();
  t.is((await fleet.rest.call('GET', `/nodes/${id}`)).status, 404);
  t.deepEqual(problems, []);
});

test.serial('charts have the colours of the theme that somebody chose, without waiting for a point', async (t) => {
  const { id } = await fleet.node();
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`);
  await page.evaluate(`(() => {
    const start = setInterval;
    globalThis.setInterval = (act, ms, ...words) => (ms === ${SAMPLE_MS} ? 0 : start(act, ms, ...words));
  })()`);
  await signIn(page, FLEET_KEYS.MASTER_KEY);
  await page.locator('.chart canvas').first().waitFor();
  const theme = page.getByRole('combobox', { name: 'Colours' });

  for (const chosen of ['light', 'dark', 'light'] as const) {
    await theme.selectOption(chosen);
    await until(`a chart in ${chosen}`, () => hasColourOfLines(page));
  }
  t.deepEqual(problems, []);
});

/** Whether the first chart is drawn with what is the colour of lines now. */
function hasColourOfLines(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const canvas = document.querySelector('.chart canvas');
    const probe = document.createElement('span');
    probe.style.color = 'var(--line)';
    document.body.append(probe);
    const dot = new OffscreenCanvas(1, 1).getContext('2d');
    dot.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    dot.fillRect(0, 0, 1, 1);
    const wanted = dot.getImageData(0, 0, 1, 1).data;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4)
      if (wanted.every((value, part) => data[at + part] === value)) return true;
    return false;
  })()`);
}

test.serial('the overview says what to do about a node, and asks it when somebody wants to know', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const ill = await fleet.addAgent({ AGENT_SSH_PORT: String(port) });
  await fleet.reaches(ill, 'unhealthy');
  const { name } = await fleet.node(ill);
  const { checks } = await fleet.rest.get<NodeDiagnosisResource>(`/nodes/${ill.node}/diagnostics`);
  const { page, problems } = await open(t, '/console', 'Overview');
  const row = page.locator('.ill-nodes tr', { hasText: name });

  await row.getByText('Some of its services do not work.').waitFor();
  await press(page, `Diagnose ${name}`);
  await row.getByRole('status').locator('li').first().waitFor();

  const hints = checks.flatMap(({ hint }) => hint ?? []);
  t.deepEqual(await row.getByRole('status').locator('li').allTextContents(), [...new Set(hints)]);
  t.true(hints.length > 0);
  t.is(await row.getByRole('button').count(), 0);
  t.deepEqual(problems, []);
});
