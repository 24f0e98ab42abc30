/** The console while its admins are upgraded one after the other, in a real browser: two admins of two builds. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ava from 'ava';
import type { Browser } from 'playwright-core';
import { buildConsole } from '../../../deploy/console.ts';
import { startBrowser } from '../../support/browser.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { openRequestBalancer, type RequestBalancer } from '../../support/net/request-balancer.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let balancer: RequestBalancer;

test.before(async () => {
  const another: Readonly<Record<string, string>> = { NODE_OPTIONS: await otherBuild() };
  fleet = await startFleet(scope, { admins: 2, envOf: (name) => (name === 'admin-2' ? another : {}) });
  const urls = fleet.admins.map(({ url }) => url);
  balancer = await openRequestBalancer(scope, urls);
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** An option of Node for an admin that serves another build of the console, whose files all have other names. */
async function otherBuild(): Promise<string> {
  const directory = temporaryDirectory(scope);
  const built = join(directory, 'console');
  await buildConsole(built, { minify: false });
  const hooks = join(directory, 'other-console.mjs');
  await writeFile(
    hooks,
    `import { registerHooks } from 'node:module';
    registerHooks({
      resolve: (name, context, next) => name.startsWith('#console/')
        ? { url: ${JSON.stringify(`${pathToFileURL(built).href}/`)} + name.slice(9), format: 'module', shortCircuit: true }
        : next(name, context),
    });`,
  );
  return `--import ${pathToFileURL(hooks).href}`;
}

/** The script that the page of an admin names. */
async function scriptOf(url: string): Promise<string> {
  const page = await (await fetch(`${url}/console`)).text();
  return /<script type="module" src="([^"]+)">/u.exec(page)?.[1] ?? 'none';
}

test.serial(
  'behind a balancer a page of either build finds its files, whichever admin is asked for them',
  async (t) => {
    const urls = fleet.admins.map(({ url }) => url);
    const scripts = await Promise.all(urls.map(scriptOf));
    t.not(scripts[0], scripts[1]);
    for (const place of [0, 1])
      await until('admins that know each other', async () => (await fetch(urls[1 - place]! + scripts[place]!)).ok);

    for (const place of [0, 1]) {
      balancer.turnTo(place);
      const { page, problems } = await openPage(t, { browser, url: balancer.url });
      t.true((await page.content()).includes(scripts[place]!), 'it is of this build');
      await signIn(page);
      await heading(page, 'Overview');
      await page.getByRole('link', { name: 'Nodes', exact: true }).click();
      await heading(page, 'Nodes');
      t.deepEqual(problems, []);
    }
  },
);

test.serial('a page whose script is gone says so, and is there as soon as one is had', async (t) => {
  const { url } = fleet.admin();
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  await page.route(`${url}${await scriptOf(url)}`, (route) => route.fulfill({ status: 404, body: '' }));
  await page.goto(`${url}/console/nodes?q=kept`);

  const told = page.getByRole('alert').getByText('The console could not be loaded');
  await told.waitFor();
  await page.unrouteAll();

  await page.getByLabel('Key').waitFor();
  await page.evaluate(`(() => {
    const script = document.createElement('script');
    document.head.append(script);
    script.dispatchEvent(new Event('error'));
  })()`);
  t.is(await told.count(), 0, 'a script of somebody else is no part of it');
  t.true(page.url().endsWith('/console/nodes?q=kept'));
});
