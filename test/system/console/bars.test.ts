/**
 * What stands above pages of the console, in a real browser: that they are of before an upgrade, that nothing comes any
 * more, that somebody may be listening, that no key is asked for.
 */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startTestAdmin } from '../../support/admin.ts';
import { startBrowser } from '../../support/browser.ts';
import { heading, openPage, partLooksWell, signIn } from '../../support/console/page.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** The admin died, was started again, and the page found it: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

/** How this machine is called where it is not known to be this one. */
const OTHER_NAME = 'fleet.example';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 0 });
  browser = await startBrowser(scope, [`--host-resolver-rules=MAP ${OTHER_NAME} 127.0.0.1`]);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = (t: ExecutionContext, options?: BrowserContextOptions) =>
  openPage(t, { browser, url: fleet.admin().url }, '/console', options);
const byOtherName = (url: string): string => url.replace('127.0.0.1', OTHER_NAME);

test.serial('a page of before an upgrade says so when its admin is back, and loads anew', async (t) => {
  const { page } = await open(t, { bypassCSP: true }); // axe is a script from elsewhere
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
  await partLooksWell(t, page, '.bar', 'that nothing comes any more');
  await fleet.admin().start();
  await told.waitFor({ timeout: BACK_MS_MAX });
  await partLooksWell(t, page, '.bar', 'that there is another build');
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

test.serial('a page that is loaded while the database is away is signed in as soon as it is back', async (t) => {
  const { page } = await open(t, { bypassCSP: true });
  await signIn(page);
  await heading(page, 'Overview');
  const sessions = /\/console\/session(?:\?|$)/u;
  const error = { code: 'service_unavailable', message: 'The database is away.' };

  await page.route(sessions, (route) => route.fulfill({ status: 503, json: { error } }));
  await page.reload();
  await page.getByText('does not answer, so it is not known whether you are signed in').waitFor();
  await partLooksWell(t, page, 'main', 'that nobody can be asked');
  await page.unroute(sessions);

  await heading(page, 'Overview');
});

test.serial('a page says that it came in the clear from another machine, and that no key is asked for', async (t) => {
  const plain = (page: Page) => page.getByText('This page came over plain HTTP');
  const keyless = (page: Page) => page.getByText('No key is asked for here');
  const { page: asked } = await openPage(t, { browser, url: byOtherName(fleet.admin().url) });
  await plain(asked).waitFor();
  await signIn(asked);
  await asked.getByRole('alert').getByText('CONSOLE_INSECURE_HTTP=true').waitFor();
  t.is(await keyless(asked).count(), 0);

  const settings = { API_AUTH_ENABLED: 'false', CONSOLE_INSECURE_HTTP: 'true', ADMIN_ALLOWED_HOSTS: OTHER_NAME };
  const { url } = await startTestAdmin(t, settings);
  const { page, problems } = await openPage(t, { browser, url }, '/console', { bypassCSP: true });
  await heading(page, 'Overview');
  await keyless(page).waitFor();
  t.is(await plain(page).count(), 0, 'it never left this machine');
  await partLooksWell(t, page, '.bar', 'that no key is asked for');
  t.deepEqual(problems, []);

  await page.goto(`${byOtherName(url)}/console/sessions`);
  await heading(page, 'Sessions');
  await keyless(page).waitFor();
  await plain(page).waitFor();
  await partLooksWell(t, page, '.bars:has(.bar)', 'both');
});

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
