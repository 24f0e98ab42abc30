/** The page of one node in a real browser, Debian's Chromium, against a real admin and a real agent. */
import ava, { type ExecutionContext } from 'ava';
import { SAID_MAX } from '../../../console/notices.ts';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { NodeMetricsHistoryResource } from '../../../actors/resources/node-metrics.ts';
import { startBrowser } from '../../support/browser.ts';
import { answer, enter, press, tabTo, typedInto } from '../../support/console/keyboard.ts';
import { doNow, holdNotices, SAID_MS, undo, waiting } from '../../support/console/notices.ts';
import { heading, looksWell, openPage, pictured, signIn } from '../../support/console/page.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let id: string;

/** Would do something, if it were anything but text. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202e';

/** Two points and a rate between them, on a busy machine, in ms. */
const CHART_MS_MAX = 60_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  ({ id } = await fleet.node());
  await fleet.rest.post(`/nodes/${id}/aliases`, { name: 'press-7' });
  // before anybody watches: a feed reads what it has once
  await fleet.sql(`update node_facts set facts = jsonb_set(facts, '{kernel}', to_jsonb($2::text)) where node_id = $1`, [
    id,
    HOSTILE,
  ]);
  await fleet.sql(
    `insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.node.version_changed', $1, now(), json_build_object('previous_version', $2::text, 'version', '2'))`,
    [id, HOSTILE],
  );
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = async (t: ExecutionContext, key: string = FLEET_KEYS.MASTER_KEY, options?: BrowserContextOptions) => {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`, options);
  await signIn(opened.page, key);
  await heading(opened.page, 'press-7');
  return opened;
};
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test.serial('a node is diagnosed, named and labelled, and its metrics are drawn, by keyboard alone', async (t) => {
  const { page, problems, elsewhere } = await open(t);
  await holdNotices(page);
  await part(page, 'Diagnosis').getByText('checks pass').waitFor();
  await pictured(page, 'node');

  await tabTo(page, part(page, 'Aliases').getByRole('textbox'));
  await page.keyboard.type('press-8');
  await page.keyboard.press('Enter');
  await doNow(page, 'Make the alias press-8');
  await enter(page, page.getByRole('button', { name: 'Remove press-8' }));
  await page.getByRole('dialog').getByText('Remove the alias press-8?').waitFor();
  await answer(page, 'Remove');
  await doNow(page, 'Remove the alias press-8');
  await page.getByRole('button', { name: 'Remove press-8' }).waitFor({ state: 'detached' });
  await tabTo(page, part(page, 'Labels').getByRole('textbox'));
  await page.keyboard.type('env=prod');
  await page.keyboard.press('Enter');
  await doNow(page, 'Set the label env=prod');
  await part(page, 'Labels').getByText('env=prod').waitFor();
  await typedInto(page, part(page, 'Labels').getByRole('textbox'), '-bad-=x');
  await page.keyboard.press('Enter');
  await doNow(page, 'Set the label -bad-=x');
  await page.getByText('must be a label key').waitFor();
  t.is(await part(page, 'Labels').getByRole('textbox').inputValue(), '-bad-=x', 'to be mended');

  await part(page, 'History').getByText('went from unreachable to healthy').waitFor();
  const busy = part(page, 'Measured').getByRole('row', { name: /^busy \d/u });
  await busy.waitFor({ timeout: CHART_MS_MAX });
  t.is(await page.locator('.chart canvas').count(), 4);
  t.deepEqual((await fleet.node()).labels, { env: 'prod' });
  t.deepEqual([problems, elsewhere], [[], []]);
});

test.serial('charts begin with what its agent measured before the page was opened', async (t) => {
  await until('two points of a history', async () => {
    const { at } = await fleet.rest.get<NodeMetricsHistoryResource>(`/nodes/${id}/metrics/history`);
    return at.length >= 2;
  });
  const openedAt = new Date();
  const { page, problems } = await open(t);
  await part(page, 'Measured').getByText('The last hour as its agent keeps it').waitFor();

  const ageS = await until('its first point', async () => {
    const drawnAt = await firstTime(page);
    return drawnAt !== null && (openedAt.getMinutes() * 60 + openedAt.getSeconds() - drawnAt + 3_600) % 3_600;
  });

  t.true(ageS >= 14 && ageS < 1_800, `measured ${ageS} s before the page was opened`);
  t.deepEqual(problems, []);
});

test.serial('charts that could not be loaded are tried again, or loaded anew with the page', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${id}`);
  const charts = '**/assets/chart-*.js';
  await page.route(charts, (route) => route.abort());
  await signIn(page, FLEET_KEYS.MASTER_KEY);
  await part(page, 'Measured').getByText('This could not be loaded').waitFor();
  await part(page, 'Measured').getByRole('button', { name: 'Load anew' }).waitFor();

  await page.unroute(charts);
  await page.locator('.chart canvas').first().waitFor({ timeout: CHART_MS_MAX });

  t.is(await part(page, 'Measured').getByRole('button', { name: 'Load anew' }).count(), 0);
});

/** When the first point of the first chart was measured, in s of its hour: told while the pointer is on it. */
async function firstTime(page: Page): Promise<number | null> {
  const { left, middle } = await page
    .locator('.chart .u-over')
    .first()
    .evaluate((element) => {
      element.scrollIntoView({ block: 'center' });
      const box = element.getBoundingClientRect();
      return { left: box.left + 2, middle: box.top + box.height / 2 };
    });
  await page.mouse.move(left, middle);
  const told = await part(page, 'Measured').getByRole('columnheader').nth(1).textContent();
  const [, minutes, seconds] = /^\d\d:(\d\d):(\d\d)$/u.exec(told ?? '') ?? [];
  return minutes === undefined ? null : Number(minutes) * 60 + Number(seconds);
}

test.serial('labels and aliases of a node are taken back before they are done', async (t) => {
  const { page, problems } = await open(t);
  await holdNotices(page);
  await holdNotices(page, SAID_MS);
  const labels = { body: { labels: { kept: 'yes' } } };
  await settledAnswer(() => fleet.rest.call('PATCH', `/nodes/${id}/labels`, labels));
  await part(page, 'Labels').getByText('kept=yes').waitFor();

  await tabTo(page, part(page, 'Labels').getByRole('textbox'));
  await page.keyboard.type('taken=back');
  await page.keyboard.press('Enter');
  // more notices than stand at once: none of them takes the time of what waits
  for (let told = 0; told <= SAID_MAX; told += 1) await press(page, /^Copy: /u);
  await until('the first of them to go', async () => (await page.locator('.notice').count()) === SAID_MAX + 1);
  await undo(page, 'Set the label taken=back');
  await enter(page, page.getByRole('button', { name: 'Remove kept' }));
  await undo(page, 'Remove the label kept');
  await tabTo(page, part(page, 'Aliases').getByRole('textbox'));
  await page.keyboard.type('taken-back');
  await page.keyboard.press('Enter');
  await undo(page, 'Make the alias taken-back');
  await enter(page, page.getByRole('button', { name: 'Remove press-7' }));
  await answer(page, 'Remove');
  // Tab comes to it after all of the page: a key of its own leads there
  const last = waiting(page, 'Remove the alias press-7');
  await last.waitFor();
  await page.keyboard.press('u');
  await last.getByRole('button', { name: 'Undo' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await last.waitFor({ state: 'detached' });

  // done after all of them, and seen: what they would have done would be seen too
  await typedInto(page, part(page, 'Labels').getByRole('textbox'), 'last=one');
  await page.keyboard.press('Enter');
  await doNow(page, 'Set the label last=one');
  await part(page, 'Labels').getByText('last=one').waitFor();
  const node = await fleet.node();
  t.like(node, { labels: { kept: 'yes', last: 'one' } });
  t.false('taken' in node.labels);
  t.deepEqual(
    node.aliases.map(({ name }) => name),
    ['press-7'],
  );
  for (const key of ['kept', 'last']) await fleet.rest.call('DELETE', `/nodes/${id}/labels/${key}`);
  t.deepEqual(problems, []);
});

test.serial('a session of API_KEY is told that metrics have a key of their own', async (t) => {
  const { page } = await open(t, FLEET_KEYS.API_KEY);

  await part(page, 'Measured').getByText('Sign in with MASTER_KEY').waitFor();
  t.is(await page.locator('.chart').count(), 0);
});

test.serial('axe finds nothing, and it fits a phone', async (t) => {
  const { page } = await open(t, FLEET_KEYS.MASTER_KEY, { bypassCSP: true }); // axe is a script from elsewhere
  await part(page, 'Diagnosis').getByText('checks pass').waitFor();
  await page.locator('.chart canvas').first().waitFor();

  await looksWell(t, page, 'a node');
});

test.serial('what it says of itself is text; it goes away while looked at, and is deleted', async (t) => {
  const { page, problems } = await open(t);
  await fleet.agent().kill();
  await page.locator('.heading .status.unreachable').waitFor();
  await part(page, 'Status').locator('.why').getByText(/\w/u).waitFor();
  await part(page, 'SSH sessions').getByText('The node is not connected').waitFor();
  await part(page, 'History').getByText('went from healthy to unreachable').waitFor();

  await part(page, 'Machine').getByText(HOSTILE).waitFor();
  const sentence = part(page, 'History').locator('bdi').filter({ hasText: 'agent changed from' });
  t.is(await sentence.textContent(), `agent changed from ${HOSTILE} to 2`);

  await page.getByRole('button', { name: 'Delete node' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('press-7');
  await dialog.getByRole('button', { name: 'Delete node' }).click();
  await page.getByRole('alert').getByText('This node was deleted').waitFor();
  await page.reload();
  await page.getByText('There is no such node.').waitFor();
  t.not(await page.title(), 'hit');
  t.deepEqual(problems, []);
});
