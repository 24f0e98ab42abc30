/** The list of nodes in a real browser: what is chosen, and what is done with it. */
import ava, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { SelfUpdateRequestResource } from '../../../actors/resources/self-update.ts';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { labellingsOf } from '../../support/console/frames.ts';
import { enter, tabTo, ticked, typedInto } from '../../support/console/keyboard.ts';
import { nodesHeld } from '../../support/console/nodes-held.ts';
import { doNow, holdNotices } from '../../support/console/notices.ts';
import { heading, looksWell, openPage, partLooksWell, pictured, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** Each changes all rows that are looked at, one after the other. */
const ROUNDS = 10;

/** More than the address of a command holds. */
const STORED = 240;

const OTHER_CLUSTER = 'other-place';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 0 });
  await fleet.rest.post('/clusters', { name: OTHER_CLUSTER });
  await storeNodes(
    fleet,
    Array.from({ length: STORED }, (_, index) => `web-${index}`),
  );
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = async (t: ExecutionContext, path = '/console/nodes', options?: BrowserContextOptions) => {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, path, options);
  await signIn(opened.page);
  await heading(opened.page, 'Nodes');
  await rows(opened.page).first().waitFor();
  return opened;
};
const rows = (page: Page) => page.locator('.grid .body .row');
const chosenNames = (page: Page) => page.locator('.grid .row[aria-selected=true] .cell.name').allTextContents();
const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

/** Keys one after the other, as a person types them. */
async function keys(page: Page, ...pressed: readonly string[]): Promise<void> {
  for (const key of pressed) await page.keyboard.press(key);
}

/** Goes by Tab to the button of that very name, and presses it. */
const pressed = (page: Page, name: string) => enter(page, page.getByRole('button', { name, exact: true }));

async function typed(page: Page, text: string): Promise<void> {
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

test.serial(
  'nodes are filtered, selected, labelled, moved and moved back by keyboard alone, and stay selected',
  async (t) => {
    const { page, problems, elsewhere } = await open(t);
    await holdNotices(page);

    await keys(page, '/');
    await page.keyboard.type('web-1');
    await says(page, '111 of 240 nodes');
    await keys(page, 'Enter', 'j', 'x', 'j', 'j', 'Shift+X');
    t.deepEqual(await chosenNames(page), ['web-1', 'web-10', 'web-11']);
    t.is(await page.getByRole('grid').getAttribute('aria-multiselectable'), 'true');

    await keys(page, '/', 'Control+a');
    await page.keyboard.type('web-2');
    await says(page, '3 of them not in this list');
    await says(page, '3 chosen');

    await pressed(page, 'Label');
    await page.getByLabel('Labels', { exact: true }).and(page.locator(':focus')).waitFor();
    await typed(page, 'tier=front old-');
    await page.getByRole('dialog', { name: 'Label 3 nodes' }).getByText('web-11 (fleet, ').waitFor();
    await keys(page, 'Enter');
    await says(page, 'Label 3 nodes, in a moment.');
    await pressed(page, 'Send away'); // does it now
    await says(page, 'Done: 3 nodes.');
    await says(page, '3 chosen');
    const labelled = await fleet.rest.get<readonly NodeResource[]>(`/nodes?labels=${encodeURIComponent('tier=front')}`);
    t.deepEqual(labelled.map(({ name }) => name).sort(), ['web-1', 'web-10', 'web-11']);
    await pictured(page, 'nodes');

    await pressed(page, 'Move');
    await page.getByLabel('To the cluster').and(page.locator(':focus')).waitFor();
    await typed(page, OTHER_CLUSTER);
    await page.getByRole('dialog', { name: `Move 3 nodes to ${OTHER_CLUSTER}` }).waitFor();
    await keys(page, 'Enter');
    await pressed(page, 'Undo');
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
    t.deepEqual(await fleet.rest.get(`/nodes?cluster_name=${OTHER_CLUSTER}`), []);

    await tabTo(page, page.getByRole('grid'));
    await keys(page, 'Escape');
    await page.getByText('3 chosen').waitFor({ state: 'detached' });

    await pressed(page, 'Show all');
    await tabTo(page, page.getByRole('grid'));
    await keys(page, 'Control+a');
    await says(page, `${STORED} chosen`);
    await pressed(page, 'Run a command');
    await heading(page, 'Run');
    await says(page, new RegExp(`${STORED} nodes`, 'u'));
    t.true(page.url().endsWith('/console/run'));
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);

test.serial(
  'filters say what each would show, a view is kept, columns are chosen, a node is deleted by its name',
  async (t) => {
    const { page, problems } = await open(t, '/console/nodes?q=web-1', { bypassCSP: true });

    await typedInto(page, page.getByRole('searchbox'), 'web-1 x86_64'); // of which no column shows the second
    await rows(page).first().getByText('matches x86_64', { exact: true }).waitFor();
    await typedInto(page, page.getByRole('searchbox'), 'web-1');
    await page.getByText('matches x86_64').first().waitFor({ state: 'detached' });
    await pressed(page, 'Labels');
    await ticked(page, page.getByRole('group', { name: 'Labels' }).getByLabel('tier=front'));
    await says(page, '3 of 240 nodes');
    await page.waitForURL(/label=tier%3Dfront/u);
    await keys(page, 'Escape');

    await pressed(page, 'Views');
    await typedInto(page, page.getByLabel('Keep this list as'), '<b>front</b>');
    await keys(page, 'Enter');
    await pressed(page, 'Show all');
    await says(page, '240 nodes');

    await pressed(page, 'Columns');
    const id = page.getByLabel('Id', { exact: true });
    await ticked(page, id);
    await page.getByRole('columnheader', { name: 'Id', exact: true }).waitFor();
    await id.and(page.locator(':focus')).waitFor(); // though it stands elsewhere now
    await keys(page, 'Escape');
    await page.reload();
    await page.getByRole('columnheader', { name: 'Id', exact: true }).waitFor();
    await pressed(page, 'Views');
    await enter(page, page.getByRole('link', { name: '<b>front</b>' }));
    await says(page, '3 of 240 nodes');

    await tabTo(page, page.getByRole('grid'));
    await keys(page, 'j', 'j', 'x', 'j', 'x', 'k', 'x'); // web-10 no more
    await pressed(page, 'Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete one node' });
    await dialog.getByText('web-11 (fleet, ').waitFor();
    await page.keyboard.type('web-1');
    await keys(page, 'Enter');
    await page.keyboard.type('1');
    await keys(page, 'Enter');
    await says(page, '2 of 239 nodes');
    await says(page, 'Done: one node.');
    await page.getByText('1 chosen').waitFor({ state: 'detached' });
    await page.getByLabel('Choose web-10', { exact: true }).click();
    await says(page, '1 chosen');
    await looksWell(t, page, 'nodes with one chosen');
    t.deepEqual(problems, []);
  },
);

test.serial('axe finds nothing in what opens over the list: columns, views, a filter', async (t) => {
  const { page } = await open(t, '/console/nodes?q=web-1', { bypassCSP: true, viewport: { width: 360, height: 800 } });
  await pressed(page, 'Views');
  await typed(page, '<b>kept</b>');
  await pressed(page, 'Show all');
  for (const name of ['Columns', 'Views', 'Cluster']) {
    await page.setViewportSize({ width: 360, height: 800 });
    await pressed(page, name);
    await partLooksWell(t, page, '.popover.placed', name);
    await keys(page, 'Escape');
    await page.locator('.popover.placed').waitFor({ state: 'detached' });
  }
});

test.serial('a box shows whether its row is chosen, whatever its browser made of a click', async (t) => {
  const { page } = await open(t);
  const box = (name: string) => page.getByLabel(name, { exact: true });

  await box('Choose web-10').click();
  await box('Choose web-10').click({ modifiers: ['Shift'] });
  t.true(await box('Choose web-10').isChecked());
  t.deepEqual(await chosenNames(page), ['web-10']);

  await tabTo(page, page.getByRole('grid'));
  await keys(page, 'Escape');
  await page.getByRole('searchbox').fill('is-called-by-nobody');
  await rows(page).first().waitFor({ state: 'detached' });
  const all = box('Choose all that are shown');
  if ((await all.count()) > 0) await all.click();
  t.is(await all.and(page.locator(':checked')).count(), 0, 'there is nothing to choose');
});

test.serial('actions that fall due at once are done one after the other', async (t) => {
  const { page, problems } = await open(t);
  const calls = labellingsOf(page);
  await page.reload(); // over a connection that is heard from its beginning
  const { total } = await fleet.rest.call('GET', '/nodes?page_size=1');
  await says(page, `${total} nodes`); // the first are shown before the last are there
  const fallDue = await holdNotices(page);
  await tabTo(page, page.getByRole('grid'));
  await keys(page, 'Control+a');
  await says(page, /^\d+ chosen/u);
  for (const label of ['first=1', 'second=2', 'third=3']) {
    await page.getByRole('button', { name: 'Label', exact: true }).click();
    await page.getByLabel('Labels', { exact: true }).and(page.locator(':focus')).waitFor();
    await typed(page, label);
    await page.getByRole('dialog').getByText(label).waitFor();
    await keys(page, 'Enter');
  }
  await page.getByRole('button', { name: 'Undo' }).nth(2).waitFor();
  t.deepEqual(calls, [], 'all three wait');

  await fallDue();
  await page.getByRole('status', { name: 'Labelling third=3' }).getByText('Done: ').waitFor();

  const asked = ['first', 'second', 'third'];
  t.deepEqual(
    calls,
    asked.flatMap((label) => [
      ...Array.from({ length: 3 }, () => `asked for ${label}`),
      ...Array.from({ length: 3 }, () => `done with ${label}`),
    ]),
  );
  const labelled = await fleet.rest.call('GET', '/nodes?labels=first,second,third&page_size=1');
  t.is(labelled.total, total);
  t.deepEqual(problems, []);
});

test.serial('many nodes are moved, and told to update, where nobody takes it back', async (t) => {
  const { page, problems } = await open(t, '/console/nodes?q=web-20');
  await holdNotices(page);
  const of = async (query: string) =>
    (await fleet.rest.get<readonly NodeResource[]>(`/nodes?${query}`)).map(({ id }) => id);
  const ids = (await of('hostname=web-20*')).toSorted();
  await tabTo(page, page.getByRole('grid'));
  await keys(page, 'Control+a');
  await says(page, `${ids.length} chosen`);

  await pressed(page, 'Move');
  await page.getByLabel('To the cluster').and(page.locator(':focus')).waitFor();
  await typed(page, OTHER_CLUSTER);
  await page.getByRole('dialog', { name: `Move ${ids.length} nodes to ${OTHER_CLUSTER}` }).waitFor();
  await keys(page, 'Enter');
  await doNow(page, `Move ${ids.length} nodes to ${OTHER_CLUSTER}`);
  await page
    .getByRole('status', { name: `Moving to ${OTHER_CLUSTER}` })
    .getByText(`Done: ${ids.length} nodes.`)
    .waitFor();
  t.deepEqual((await of(`cluster_name=${OTHER_CLUSTER}`)).toSorted(), ids);
  await says(page, `${ids.length} chosen`);

  await pressed(page, 'Update');
  await page
    .getByRole('dialog', { name: `Update ${ids.length} nodes` })
    .getByText('web-20 (')
    .waitFor();
  await keys(page, 'Enter');
  await doNow(page, `Update ${ids.length} nodes`);
  await says(page, `An update of ${ids.length} nodes was asked for.`);
  const requests =
    await fleet.rest.get<readonly Pick<SelfUpdateRequestResource, 'targeting'>[]>('/self_update_requests');
  t.deepEqual(
    requests.map(({ targeting }) => targeting.node_ids?.toSorted()),
    [ids],
  );
  t.deepEqual(problems, []);
});

test.serial('a list whose rows change one after the other keeps nothing of what they were', async (t) => {
  const { page } = await open(t);
  const devTools = await page.context().newCDPSession(page);
  const drawn = await Promise.all((await rows(page).all()).slice(0, 12).map((row) => row.getAttribute('id')));
  const ids = drawn.map((id) => id?.replace('row-', '') ?? '');
  const { total } = await fleet.rest.call('GET', '/nodes?page_size=1');

  for (let round = 1; round <= ROUNDS; round += 1)
    for (const id of ids)
      await fleet.rest.call('PATCH', `/nodes/${id}/labels`, { body: { labels: { round: String(round) } } });

  await until('the page knows the last of them', async () => {
    const { current } = await nodesHeld(devTools, String(ROUNDS));
    return current >= ids.length;
  });
  const { held } = await nodesHeld(devTools, String(ROUNDS));
  t.true(held < total + ids.length * 4, `${held} objects of ${total} nodes after ${ROUNDS * ids.length} changes`);
});
