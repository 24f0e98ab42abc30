/** The console in a real browser, Debian's Chromium, against a real admin and a real agent. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { answer, enter, press, tabTo } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** Nodes beside the one whose agent runs. */
const STORED_NODES = 300;

/** Names that would do something, if they were anything but text: scripts, markup, another direction, a long one. */
const HOSTILE_NAMES = [
  '<script>document.title="hit"</script>',
  '<img src=x onerror=document.title="hit">',
  '\u202egnitirw desrever\u2066',
  '{{constructor.constructor("document.title=1")()}}',
  `long-${'x'.repeat(240)}`,
];

/** The admin died, was started again, and the page found it: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  await storeNodes(
    fleet,
    Array.from({ length: STORED_NODES }, (_, index) => HOSTILE_NAMES[index] ?? `web-${index}`),
  );
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = (t: ExecutionContext, path?: string, options?: BrowserContextOptions) =>
  openPage(t, { browser, url: fleet.admin().url }, path, options);
const tile = (page: Page, name: RegExp) => page.getByRole('link', { name }).locator('.count');
const rows = (page: Page) => page.locator('.grid .body .row');

test.serial(
  'signing in, the overview, the list of nodes, a search and a row are reached by keyboard alone',
  async (t) => {
    const { page, problems, elsewhere } = await open(t);

    await signIn(page);
    await heading(page, 'Overview');
    await tile(page, /All nodes$/u)
      .getByText(String(STORED_NODES + 1), { exact: true })
      .waitFor();
    t.is(await tile(page, /^\d+ Unreachable/u).textContent(), String(STORED_NODES));
    t.is(await tile(page, /^\d+ Healthy/u).textContent(), '1');
    await page.getByRole('rowheader', { name: 'admin-1' }).waitFor();

    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await heading(page, 'Nodes');
    await rows(page).first().waitFor();
    t.is(await page.getByRole('grid').getAttribute('aria-rowcount'), String(STORED_NODES + 2));
    t.true((await rows(page).count()) < 60, 'only the window is drawn');

    await page.keyboard.press('/');
    await page.keyboard.type('web-29');
    await page.getByText(`11 of ${STORED_NODES + 1} nodes`).waitFor();
    await page.waitForURL(/\?q=web-29$/u);
    await page.keyboard.press('Enter');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    t.is(await page.locator('.row.active .name').textContent(), 'web-290', 'web-29 stands before it');
    t.is(
      await page.getByRole('grid').getAttribute('aria-activedescendant'),
      await page.locator('.row.active').getAttribute('id'),
    );
    await page.reload();
    await page.getByText(`11 of ${STORED_NODES + 1} nodes`).waitFor();

    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await heading(page, 'Overview');
    await page.goBack();
    await heading(page, 'Nodes');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);

test.serial('the palette finds pages, nodes and actions by the keyboard, and gives the focus back', async (t) => {
  const { page, problems } = await open(t);
  await signIn(page);
  await heading(page, 'Overview');
  const field = page.getByRole('combobox', { name: 'Search or do' });
  const chosen = page.locator('[role=option][aria-selected=true]');
  const sought = async (text: string, first: string) => {
    await page.locator('dialog.palette').waitFor({ state: 'detached' }); // the one before, which is closing
    await page.keyboard.press('Control+k');
    await field.and(page.locator(':focus')).waitFor();
    await page.keyboard.type(text);
    await chosen.filter({ hasText: first }).waitFor();
    t.is(await field.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'));
  };

  await sought('sess', 'Sessions');
  await page.keyboard.press('Enter');
  await heading(page, 'Sessions');
  await page
    .locator('.side')
    .getByRole('link', { name: 'Sessions' })
    .and(page.locator('[aria-current=page]'))
    .waitFor();

  await sought('web-29', 'web-29');
  t.is(await page.getByRole('group', { name: 'Nodes' }).getByRole('option').count(), 8, 'no more of a kind are shown');
  await page.keyboard.press('ArrowUp');
  await chosen.filter({ hasText: 'web-29' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Escape');

  await sought('dark', 'Colours: dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme=dark]').waitFor();
  await sought(HOSTILE_NAMES[0] ?? '', HOSTILE_NAMES[0] ?? '');
  await page.keyboard.press('Escape');
  t.is(await page.title(), 'Sessions · Edge fleet control');
  t.deepEqual(problems, []);
});

test.serial('on a narrow window a menu leads to the pages, and closes once it did', async (t) => {
  const { page } = await open(t, '/console', { viewport: { width: 360, height: 800 } });
  await signIn(page);
  await heading(page, 'Overview');
  const menu = page.getByRole('navigation', { name: 'Pages' });

  t.is(await menu.count(), 0);
  await page.getByRole('button', { name: 'Pages' }).click();
  await menu.getByRole('link', { name: 'Nodes' }).click();
  await heading(page, 'Nodes');
  await menu.waitFor({ state: 'hidden' });
});

test.serial('a wrong key is told so, and no key is kept by the page', async (t) => {
  const { page } = await open(t);

  await signIn(page, 'a-key-that-nobody-knows-1234');
  await page.getByRole('alert').getByText('This is no key of this service.').waitFor();
  t.is(await page.getByLabel('Key').inputValue(), '');
  await signIn(page);
  await heading(page, 'Overview');

  t.is(await page.evaluate('document.cookie'), '');
  const kept = await page.evaluate<string>('JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])');
  t.false(kept.includes(FLEET_KEYS.API_KEY));
});

test.serial('what machines call themselves is text, whatever it is', async (t) => {
  const { page, problems, elsewhere } = await open(t, '/console/nodes?sort=-since');
  await signIn(page);
  await heading(page, 'Nodes');

  for (const name of HOSTILE_NAMES) {
    await page.keyboard.press('/');
    await page.keyboard.insertText(name);
    const cell = page.locator('.grid .body .name > a > bdi').filter({ hasText: name });
    await cell.waitFor();
    t.is(await cell.textContent(), name);
    t.is(await cell.locator('*').count(), 0, 'nothing in it is markup');
    await page.keyboard.press('Escape');
  }
  t.is(await page.title(), 'Nodes · Edge fleet control');
  t.deepEqual([problems, elsewhere], [[], []]);
});

test.serial('what changes is seen at once, and after the admin died without a reload', async (t) => {
  const { page } = await open(t, '/console/nodes?status=healthy');
  await signIn(page);
  await heading(page, 'Nodes');
  await rows(page).first().waitFor();
  await page.evaluate('window.isThisVeryPage = true');
  const { id } = await fleet.node();
  const shows = (name: string) => page.locator('.grid .body .name').getByText(name, { exact: true }).waitFor();

  const alias = await fleet.rest.post<{ readonly id: string }>(`/nodes/${id}/aliases`, { name: 'first-name' });
  await shows('first-name');
  await fleet.rest.call('DELETE', `/aliases/${alias.id}`);

  await fleet.admin().kill();
  await page.getByText('No connection since').waitFor();
  await fleet.admin().start();
  await page.getByText('No connection since').waitFor({ state: 'detached', timeout: BACK_MS_MAX });
  await fleet.reaches(fleet.agent(), 'healthy');
  await fleet.rest.post(`/nodes/${id}/aliases`, { name: 'second-name' });
  await shows('second-name');
  t.true(await page.evaluate<boolean>('window.isThisVeryPage'));
});

test.serial('a session that somebody ends shows nothing any more, and says why', async (t) => {
  const [{ page: mine }, { page: other }] = [await open(t, '/console/sessions'), await open(t)];
  await signIn(other, FLEET_KEYS.MASTER_KEY);
  await heading(other, 'Overview');
  await signIn(mine);
  await heading(mine, 'Sessions');

  const row = mine.getByRole('row').filter({ hasText: 'master' });
  const end = row.getByRole('button').first();
  await enter(mine, end);
  const question = mine.getByRole('dialog', { name: 'End the session from' });
  await question.getByRole('button', { name: 'Cancel' }).and(mine.locator(':focus')).waitFor();
  await mine.keyboard.press('Escape');
  await end.and(mine.locator(':focus')).waitFor();
  await mine.keyboard.press('Enter');
  await answer(mine, 'End');
  await mine.getByRole('status').getByText('has ended').waitFor();

  await other.getByText('Your session is over').waitFor();
  t.is(await other.getByRole('heading', { level: 1 }).textContent(), 'Sign in');
  await press(mine, 'Sign out');
  await mine.getByText('You are signed out.').waitFor();
});

/** What of the page is moved by its style: what takes a time to become what it is, or never stands still. */
const moved = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('*')].filter((one) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
    return !/^0s(, 0s)*$/.test(transitionDuration) || animationName !== 'none' || scrollBehavior !== 'auto';
  }).map((one) => one.tagName + '.' + one.className)`);

test.serial('nothing moves for whoever wants less motion, and a screen of 3,840 pixels is used', async (t) => {
  const { page } = await open(t, '/console', { viewport: { width: 3_840, height: 2_160 }, bypassCSP: true });
  const widthOf = async (place: Locator) => (await place.boundingBox())?.width ?? 0;
  t.true((await widthOf(page.locator('main.sign-in'))) < 600, 'a form is no wider than a line');
  await signIn(page);
  await page.getByRole('rowheader', { name: 'admin-1' }).waitFor();
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  t.true((await moved(page)).length > 0, 'else there was nothing to leave out');
  await page.emulateMedia({ reducedMotion: 'reduce' });
  t.deepEqual(await moved(page), []);
  await looksWell(t, page, 'overview', [3_840]);

  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await rows(page).first().waitFor();
  await looksWell(t, page, 'nodes', [3_840]);
  t.true((await widthOf(page.getByRole('grid'))) > 3_400, 'the list goes to the edge, beside the navigation');
  t.is(await page.evaluate('getComputedStyle(document.body).fontSize'), '18px', 'letters are larger there');
});

test.serial('axe finds nothing on any page, light and dark, on a phone and a laptop', async (t) => {
  const { page } = await open(t, '/console', { bypassCSP: true }); // axe is a script from elsewhere
  const look = (name: string) => looksWell(t, page, name);

  await page.getByLabel('Key').waitFor();
  await look('sign in');
  await tabTo(page, page.getByLabel('Key'));
  await signIn(page);
  await page.getByRole('rowheader', { name: 'admin-1' }).waitFor();
  await look('overview');
  await page.keyboard.press('Control+k');
  await page.locator('[role=option]').first().waitFor();
  await look('palette');
  await page.keyboard.press('Escape');
  await page.locator('dialog.palette').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await look('keys');
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByRole('button', { name: 'Pages' }).click();
  await look('menu');
  await page.keyboard.press('Escape');
  for (const [path, name] of [
    ['/console/nodes', 'Nodes'],
    ['/console/nodes?q=nobody', 'Nodes'],
    ['/console/sessions', 'Sessions'],
    ['/console/admins', 'Admins'],
    ['/console/admins/admin-1', 'admin-1'],
    ['/console/health', 'Health'],
    ['/console/recordings', 'Recordings'],
    ['/console/nowhere', 'No such page'],
  ] as const) {
    await page.goto(fleet.admin().url + path);
    await heading(page, name);
    await page.locator('.grid .body .row, .state.empty, tbody tr, .state a').first().waitFor();
    await look(path);
  }
});
