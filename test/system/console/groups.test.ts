/** Pages of the console for groups and aliases, and what of them other pages show, in a real browser. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { holdsAnswersOf } from '../../support/console/answers.ts';
import { enter, pressOpening, tabTo, typed, typedInto } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn, type Opened } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** What somebody says that a group is for: it would do something if it were anything but text. */
const HOSTILE = '<img src=x onerror=document.title="hit">\u202egnitirw';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  await storeNodes(fleet, ['away-1', HOSTILE]);
  await fleet.rest.post('/clusters', { name: 'lab' });
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

test.serial(
  'a group is made, shows who is in it, leads on, and is deleted by its name, by keyboard alone',
  async (t) => {
    const { page, problems, elsewhere } = await open(t, '/console/groups');
    const group = () => settledAnswer(() => fleet.rest.call('GET', '/groups/canaries'));
    await page.getByText('There is no group yet.').waitFor();

    await pressOpening(page, 'New group');
    await typed(page, 'canaries', HOSTILE);
    await page.keyboard.press('End'); // the last of the choices: these nodes
    await tabTo(page, page.getByRole('textbox', { name: 'These nodes' }));
    await page.keyboard.insertText('away-1, nobody-is-called-so');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('No node is called "nobody-is-called-so".').waitFor();
    await typedInto(page, page.getByRole('textbox', { name: 'These nodes' }), 'away-1');
    await page.keyboard.press('Enter');
    await page.getByText('Group canaries is there: one node in it now.').waitFor();
    await heading(page, 'canaries');
    await page.locator('.facts').getByText(HOSTILE).waitFor();

    await enter(page, page.getByRole('link', { name: 'away-1' }));
    await heading(page, 'away-1');
    await enter(page, page.getByRole('region', { name: 'Groups' }).getByRole('link', { name: 'canaries' }));
    await heading(page, 'canaries');
    await enter(page, page.getByRole('link', { name: 'Run a command on it' }));
    await heading(page, 'Run');
    t.true(page.url().endsWith('?group=canaries'));

    await fleet.rest.post('/groups', { name: 'whole', targeting: { type: 'clusters', cluster_names: [CLUSTER] } });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or do' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('canar');
    await page.locator('[role=option][aria-selected=true]').filter({ hasText: 'canaries' }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${fleet.admin().url}/console/groups`);
    await rows(page).nth(1).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('canar');
    await page.getByText('1 to 1 of 1').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await heading(page, 'canaries');
    await pressOpening(page, 'Delete');
    await page.keyboard.insertText('canarie');
    await page.keyboard.press('Enter');
    t.is((await group()).status, 200, 'its name was not typed yet');
    await page.keyboard.insertText('s');
    await page.keyboard.press('Enter');
    await page.getByText('Group canaries is deleted.').waitFor();
    await heading(page, 'Groups');
    t.is((await group()).status, 404);
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);

test.serial('a node names the groups that it is in, and a cluster those that name it', async (t) => {
  const { id } = await fleet.node();
  const labels = { body: { labels: { tier: 'front' } } };
  await settledAnswer(() => fleet.rest.call('PATCH', `/nodes/${id}/labels`, labels));
  for (const [name, targeting] of Object.entries({
    fronts: { type: 'all', labels: 'tier=front' },
    backs: { type: 'all', labels: 'tier=back' },
    healthy: { type: 'clusters', cluster_names: [CLUSTER], node_filters: { status: 'healthy' } },
    away: { type: 'all', node_filters: { status: 'unreachable' } },
    elsewhere: { type: 'clusters', cluster_names: ['lab'] },
  }))
    await fleet.rest.post('/groups', { name, targeting });
  const { page, problems } = await open(t, `/console/nodes/${id}`);

  const groups = page.getByRole('region', { name: 'Groups' });
  await groups.getByRole('link', { name: 'fronts' }).waitFor();
  t.deepEqual(await groups.getByRole('listitem').allTextContents(), ['fronts', 'healthy', 'whole']);
  await page.goto(`${fleet.admin().url}/console/clusters/${CLUSTER}`);
  await enter(page, page.locator('.facts').getByRole('link', { name: 'whole' }));
  await heading(page, 'whole');
  t.deepEqual(problems, []);
});

test.serial(
  'an alias is made, found, leads to its node and back, and is deleted by its name, by keyboard alone',
  async (t) => {
    const { page, problems } = await open(t, '/console/aliases');
    const { id } = await fleet.node();
    await page.getByText('No node has an alias yet.').waitFor();

    await pressOpening(page, 'New alias');
    await typed(page, id, 'Not-a-name');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('name ').waitFor();
    await typedInto(page, page.getByRole('textbox', { name: /^Name/u }).last(), 'till-7');
    await page.keyboard.press('Enter');
    await page.getByText('The alias till-7 is made.').waitFor();
    await fleet.rest.post(`/nodes/${id}/aliases`, { name: 'till-8' });
    await enter(page, page.getByRole('link', { name: 'till-7' }));
    await enter(page, page.getByRole('region', { name: 'Aliases' }).getByRole('link', { name: 'In the list' }));
    await heading(page, 'Aliases');
    await page.waitForURL(new RegExp(`node_id__in=${id}$`, 'u'));

    await page.keyboard.press('/');
    await page.keyboard.type('till-8');
    await page.getByText('1 to 1 of 1').waitFor();
    await pressOpening(page, `Delete the alias till-8 of ${CLUSTER}`);
    await page.keyboard.insertText('till-8');
    await page.keyboard.press('Enter');
    await page.getByText('The alias till-8 is deleted.').waitFor();
    const left = await fleet.rest.get<readonly { readonly name: string }[]>('/aliases');
    t.deepEqual(
      left.map(({ name }) => name),
      ['till-7'],
    );
    t.deepEqual(problems, []);
  },
);

test.serial('whoever went elsewhere before a group was made or deleted stays there, and hears of it', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere');
  const makings = await holdsAnswersOf(page, 'create_group');
  await page.goto(`${fleet.admin().url}/console/groups`);
  await signIn(page);

  makings.hold();
  await pressOpening(page, 'New group');
  await typed(page, 'slow');
  await page.keyboard.press('Enter');
  await until('it is asked for', () => makings.asked.size === 1);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await heading(page, 'Run');
  makings.release();
  await page.getByText('Group slow is there').waitFor();
  t.true(page.url().endsWith('/console/run'));

  const deletions = await holdsAnswersOf(page, 'delete_group');
  await page.goto(`${fleet.admin().url}/console/groups/slow`);
  deletions.hold();
  await pressOpening(page, 'Delete');
  await page.keyboard.insertText('slow');
  await page.keyboard.press('Enter');
  await until('its end is asked for', () => deletions.asked.size === 1);
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await heading(page, 'Run');
  deletions.release();
  await page.getByText('Group slow is deleted.').waitFor();
  t.true(page.url().endsWith('/console/run'));
});

test.serial('a list of groups or aliases that cannot be had says why, and is asked for again', async (t) => {
  const { page } = await open(t, '/console/groups?sort=nonsense');
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
  await page.goto(`${fleet.admin().url}/console/groups/nobody`);
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
  t.is(await page.getByRole('button', { name: 'Delete' }).count(), 0, 'there is nothing to delete');
  await page.goto(`${fleet.admin().url}/console/aliases?name=nobody`);
  await page.getByText('Nothing is as you asked for.').waitFor();
});

test.serial(
  'axe finds nothing on the pages of groups and aliases, light and dark, on a phone and a laptop',
  async (t) => {
    await fleet.rest.post('/groups', { name: 'seen', description: HOSTILE, targeting: { type: 'all' } });
    await fleet.rest.post(`/nodes/${(await fleet.node()).id}/aliases`, { name: 'seen' });
    const { page } = await open(t, '/console/groups', { bypassCSP: true }); // axe is a script from elsewhere
    for (const [path, name] of [
      ['/console/groups', 'Groups'],
      ['/console/groups/seen', 'seen'],
      ['/console/groups?name=nobody', 'Groups'],
      ['/console/groups/nobody', 'nobody'],
      ['/console/aliases', 'Aliases'],
    ] as const) {
      if (path !== '/console/groups') await page.goto(fleet.admin().url + path);
      await heading(page, name);
      await page.locator('.paged tbody tr, .state.empty, .state.failed').first().waitFor();
      await looksWell(t, page, path);
    }
    for (const [path, button] of [
      ['/console/groups', 'New group'],
      ['/console/aliases', 'New alias'],
    ] as const) {
      await page.goto(fleet.admin().url + path);
      await pressOpening(page, button);
      await looksWell(t, page, button);
    }
  },
);
