/**
 * An update in a real browser, Debian's Chromium: its waves as they go, over agents by hand; by keyboard; looked at by
 * axe.
 */
import ava from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import {
  answer,
  answerWith,
  chosen,
  enter,
  press,
  pressOpening,
  tabTo,
  typedInto,
} from '../../support/console/keyboard.ts';
import { doNow, holdNotices, undo } from '../../support/console/notices.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { NEW, type UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { agentsOf, completed, requestFor, resultsOf } from '../updates/fixture.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** The page asks every 10 s; on a busy machine, in ms. */
const ASKED_MS_MAX = 60_000;

/** What a machine calls itself: it would do something if it were anything but text. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202egnitirw';

/** How far Kolkata is ahead of UTC, in ms. */
const KOLKATA_MS = 19_800_000;

test.before(async () => {
  fleet = await startFleet(scope, {});
  await storeNodes(fleet, ['away-1', 'away-2', HOSTILE]);
  await fleet.rest.post('/clusters', { name: 'empty' });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A row of the waves, once it says this: its state, then nodes that wait, are under way, done, failed and skipped. */
async function waveSays(page: Page, wave: number, state: string, counts: readonly number[]): Promise<void> {
  const words = counts.join(String.raw`\s*`);
  await page
    .locator('table.waves tbody tr')
    .filter({ has: page.getByRole('rowheader', { name: `Wave ${wave}`, exact: true }) })
    .filter({ hasText: new RegExp(String.raw`^Wave ${wave}\s*${state}\s*${words}`, 'u') })
    .waitFor({ timeout: ASKED_MS_MAX });
}

/** Heads of waves, and nodes by their ids, in their order. */
const listed = (page: Page): Promise<readonly string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.paged tbody tr')].map((row) => row.querySelector('th a')?.pathname.split('/').at(-1) ?? row.textContent)`,
  );

const back = async (agent: UpdatingAgent): Promise<void> => {
  agent.version = NEW;
  await agent.connect();
};

/** Rejects with what became of its nodes so far. */
async function otherwise(of: Fleet, request: { readonly id: string }): Promise<never> {
  const results = [...(await resultsOf(of, request)).values()];
  throw new Error(
    results.map(({ node_id: id, status, error }) => `${id} is ${status}, ${error ?? 'no error'}`).join('; '),
  );
}

test.serial(
  'an update shows whom it reaches, is taken back before it starts, then started, and deleted by its id, by keyboard',
  async (t) => {
    const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, '/console/updates');
    await signIn(page);
    await heading(page, 'Updates');
    await holdNotices(page);
    await page.getByText('No node was told to update yet.').waitFor();
    await page.getByText('Nothing is published here').waitFor();
    const clusters = page.getByRole('textbox', { name: 'Clusters' });

    await pressOpening(page, 'New update');
    await chosen(page, page.getByRole('combobox', { name: 'Nodes' }), 'nodes of clusters');
    await typedInto(page, clusters, 'empty');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('These filters reach no node.').waitFor();
    await typedInto(page, clusters, CLUSTER);
    await tabTo(page, page.getByLabel('At once'));
    await page.keyboard.insertText('1');
    await page.keyboard.press('Enter');
    const asked = page.getByRole('dialog', { name: 'Update 3 nodes?' });
    await asked.getByText('away-1').waitFor();
    await asked.getByText(HOSTILE).waitFor();
    await answer(page, 'Start the update');
    await undo(page, 'Update 3 nodes');
    t.deepEqual(await fleet.rest.get('/self_update_requests'), []);

    await pressOpening(page, 'New update');
    t.deepEqual([await clusters.inputValue(), await page.getByLabel('At once').inputValue()], [CLUSTER, '1']);
    await press(page, 'See who is reached');
    await answer(page, 'Start the update');
    await doNow(page, 'Update 3 nodes');
    await page.getByText('The update is started.').waitFor();
    await enter(page, page.locator('.paged').getByRole('link'));
    await heading(page, 'Update');
    await page.getByText(CLUSTER, { exact: true }).first().waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await pressOpening(page, 'Delete');
    await answerWith(page, id.slice(0, 8)); // it has no name
    await heading(page, 'Updates');
    t.is((await fleet.rest.call('GET', `/self_update_requests/${id}`)).status, 404);
    t.deepEqual(problems, []);
  },
);

test.serial('an update that waits is not in its form; taken back at another page, it is there again', async (t) => {
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, '/console/updates');
  await signIn(page);
  await heading(page, 'Updates');
  await holdNotices(page);
  const form = async (): Promise<readonly string[]> => [
    await page.getByRole('combobox', { name: 'Nodes' }).inputValue(),
    await page.getByLabel('At once').inputValue(),
  ];
  await pressOpening(page, 'New update');
  await chosen(page, page.getByRole('combobox', { name: 'Nodes' }), 'nodes of clusters');
  await typedInto(page, page.getByRole('textbox', { name: 'Clusters' }), CLUSTER);
  await typedInto(page, page.getByLabel('At once'), '2');
  await page.keyboard.press('Enter');
  await answer(page, 'Start the update');

  await pressOpening(page, 'New update');
  t.deepEqual(await form(), ['all', '']);
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  await enter(page, page.getByRole('link', { name: 'Groups', exact: true }));
  await heading(page, 'Groups');
  await undo(page, 'Update 3 nodes');
  await enter(page, page.getByRole('link', { name: 'Updates', exact: true }));
  await heading(page, 'Updates');
  await pressOpening(page, 'New update');
  t.deepEqual(await form(), ['clusters', '2']);
  t.is(await page.getByRole('textbox', { name: 'Clusters' }).inputValue(), CLUSTER);
  t.deepEqual(await fleet.rest.get('/self_update_requests'), []);
  t.deepEqual(problems, []);
});

test.serial(
  'an update is shown by its waves: who is told, done and failed, and what the next one waits for',
  async (t) => {
    const agents = await agentsOf(scope, fleet, ['takes', 'takes', 'refuses', 'takes', 'takes']);
    const inTurn = agents.toSorted((one, other) => (one.node < other.node ? -1 : 1));
    for (const [place, agent] of inTurn.entries()) agent.updater = place === 2 ? 'refuses' : 'takes';
    const ids = inTurn.map(({ node }) => node);
    const request = await requestFor(fleet, agents, { batch_size: 2, health_timeout: 3_600 });
    const path = `/console/updates/${request.id}`;
    const zone = { timezoneId: 'Asia/Kolkata' };
    const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, path, zone);
    await signIn(page);
    await heading(page, 'Update');
    // exactly when, for whoever points at it, in the time of their machine
    const there = new Date(Date.parse(request.inserted_at) + KOLKATA_MS);
    t.regex(
      (await page.locator('.facts time').getAttribute('title')) ?? '',
      new RegExp(`^${there.getUTCDate()} .*${there.toISOString().slice(11, 19)} GMT\\+5:30$`, 'u'),
    );

    await waveSays(page, 1, 'under way', [0, 2, 0, 0, 0]);
    await waveSays(page, 2, 'waiting', [2, 0, 0, 0, 0]);
    await waveSays(page, 3, 'waiting', [1, 0, 0, 0, 0]);
    await page.getByText('Wave 2 (2 nodes) begins once one of 2 nodes under way is healthy again').waitFor();
    await page.getByText('at the latest.').waitFor();
    await page.locator('.paged tr.group').nth(2).waitFor();
    t.deepEqual(await listed(page), [
      'Wave 1',
      ...ids.slice(0, 2),
      'Wave 2',
      ...ids.slice(2, 4),
      'Wave 3',
      ...ids.slice(4),
    ]);

    // the first of wave 2 refuses, so that the second one has its turn behind it
    await until('they are asked', () => inTurn.slice(0, 2).every(({ asked }) => asked.length === 1));
    await back(inTurn[0]!);
    await waveSays(page, 1, 'under way', [0, 1, 1, 0, 0]);
    await waveSays(page, 2, 'under way', [0, 1, 0, 1, 0]);
    await page.getByText('Wave 3 (1 node) begins once one of 2 nodes under way is healthy again').waitFor();

    await enter(page, page.getByRole('link', { name: 'Wave 2', exact: true }));
    await page.waitForURL(/\?wave=2$/u);
    await page.getByText('1 to 2 of 2').waitFor();
    t.deepEqual(await listed(page), ['Wave 2', ...ids.slice(2, 4)]);
    await page.locator('.paged').getByText('the updater answered 401').waitFor();
    await tabTo(page, page.getByRole('region', { name: 'Nodes' }));
    await page.keyboard.press('j');
    t.is(
      await page.evaluate(`document.activeElement.pathname.split('/').at(-1)`),
      ids[2],
      'heads of waves are no rows to go to',
    );

    await chosen(page, page.getByRole('combobox', { name: 'Wave' }), 'Any');
    for (const agent of [inTurn[1]!, inTurn[3]!, inTurn[4]!]) {
      await until('it is asked', async () => agent.asked.length === 1 || otherwise(fleet, request));
      await back(agent);
    }
    await completed(fleet, request);
    await waveSays(page, 1, 'done', [0, 0, 2, 0, 0]);
    await waveSays(page, 2, 'with failures', [0, 0, 1, 1, 0]);
    await waveSays(page, 3, 'done', [0, 0, 1, 0, 0]);
    t.is(await page.locator('.next-wave').count(), 0);
    t.deepEqual(problems, []);
  },
);

test.serial('axe finds nothing on the page of an update with waves, and of all of them', async (t) => {
  const [request] = await fleet.rest.get<readonly { readonly id: string }[]>('/self_update_requests');
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, `/console/updates/${request!.id}`, {
    bypassCSP: true, // axe is a script from elsewhere
  });
  await signIn(page);
  await page.locator('.paged tbody tr.group').first().waitFor();

  await looksWell(t, page, 'an update');
  await page.goto(`${fleet.admin().url}/console/updates`);
  await page.locator('.paged tbody tr').first().waitFor();
  await looksWell(t, page, 'updates');
});
