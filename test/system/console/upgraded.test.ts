/** Pages of the console that were loaded before an upgrade, in a real browser. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** The admin died, was started again, and the page found it: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 0 });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = (t: ExecutionContext) => openPage(t, { browser, url: fleet.admin().url });

test.serial('a page of before an upgrade says so when its admin is back, and loads anew', async (t) => {
  const { page } = await open(t);
  await signIn(page);
  await heading(page, 'Overview');
  const told = page.getByText('The console was upgraded');
  await fleet.admin().kill();
  await page.getByText('No connection since').waitFor();
  await fleet.admin().start();
  await page.getByText('No connection since').waitFor({ state: 'detached', timeout: BACK_MS_MAX });
  await page.waitForLoadState('networkidle');
  t.is(await told.count(), 0, 'it is the same console');

  await upgraded(page);
  await fleet.admin().kill();
  await page.getByText('No connection since').waitFor();
  await fleet.admin().start();
  await told.waitFor({ timeout: BACK_MS_MAX });
  await page.unroute('**/console');
  await page.getByRole('button', { name: 'Load anew' }).click();
  await heading(page, 'Overview');
  t.is(await told.count(), 0);
});

test.serial(
  'whoever signs in at a page of before an upgrade is told so, at the first time and at another one',
  async (t) => {
    const { page } = await open(t);
    const told = page.getByText('The console was upgraded');

    await upgraded(page);
    await signIn(page);
    await told.waitFor();
    await page.unroute('**/console');
    await page.getByRole('button', { name: 'Load anew' }).click();
    await heading(page, 'Overview');
    await page.waitForLoadState('networkidle');
    t.is(await told.count(), 0);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await upgraded(page);
    await signIn(page);
    await told.waitFor();
  },
);

/** From now on the admin serves this page the console of another build, which names other files. */
async function upgraded(page: Page): Promise<void> {
  await page.route('**/console', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replaceAll('/console/assets/', '/console/assets/new-'),
    });
  });
}
