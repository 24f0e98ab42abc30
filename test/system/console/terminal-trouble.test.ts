/** What a terminal of the console does when its admin dies, and what names of files do to it, in a real browser. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { openCuttable } from '../../support/net/cuttable.ts';
import { holdNotices } from '../../support/console/notices.ts';
import { openPage, signIn } from '../../support/console/page.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let node: string;

/** A page that lost its admin is back within this, in ms. */
const BACK_MS_MAX = 120_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  node = (await fleet.node()).id;
  await fleet.rest.post(`/nodes/${node}/ssh_usernames`, { username: 'ops' });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A terminal in which somebody is signed in by a key of the browser. */
async function terminal(t: ExecutionContext, url = fleet.admin().url) {
  const opened = await openPage(t, { browser, url }, `/console/nodes/${node}/terminal`);
  const { page } = opened;
  await signIn(page);
  await page.getByRole('button', { name: 'Open the terminal' }).click();
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  const says = async (command: string, output: string): Promise<void> => {
    await page.keyboard.type(command);
    await page.keyboard.press('Enter');
    await page.locator('.xterm-rows').getByText(output).first().waitFor();
  };
  return { ...opened, says };
}

test.serial('an admin that dies takes the shell along; the page opens another when it is back', async (t) => {
  const { page, says } = await terminal(t);
  await says('echo before-$((1+1))', 'before-2');
  await page.evaluate('window.isThisVeryPage = true');
  await holdNotices(page);

  await fleet.admin().kill();
  await page.getByRole('status').getByText('The connection was cut').waitFor();
  await page.keyboard.type('typed into nothing');
  await page.getByRole('status').getByText('What you type now goes nowhere.').waitFor();
  await page.keyboard.press('F6');
  t.true(await page.evaluate<boolean>("document.activeElement.closest('.terminal-bar .tools') !== null"));
  await page.keyboard.press('F6');
  await fleet.admin().start();

  await page.getByRole('status').getByText('Signed in as ops.').waitFor({ timeout: BACK_MS_MAX });
  await page.getByText('18 bytes that you typed before this shell was there went nowhere.').waitFor();
  t.is(await page.getByText('What you type now goes nowhere.').count(), 0);
  await says('echo back-$((1+1))', 'back-2');
  await page.locator('.xterm-rows').getByText('before-2').first().waitFor();
  t.is(await page.locator('.xterm-rows').getByText('typed into nothing').count(), 0);
  t.true(await page.evaluate<boolean>('window.isThisVeryPage'));
  const keys = await fleet.rest.get<readonly unknown[]>('/ssh_public_keys?username=ops');
  t.is(keys.length, 2, 'each had its own, and the one that the dead admin left lets nobody in');
});

test.serial(
  'a path that goes silent is found out though nobody does anything, and another shell is opened',
  async (t) => {
    const path = await openCuttable(t, () => fleet.admin().url);
    const { page, says } = await terminal(t, path.url);
    await says('echo before-$((1+1))', 'before-2');

    path.cut('silent');
    await page.getByRole('status').getByText('The connection was cut').waitFor({ timeout: BACK_MS_MAX });
    path.mend();

    await page.getByRole('status').getByText('Signed in as ops.').waitFor({ timeout: BACK_MS_MAX });
    await says('echo back-$((1+1))', 'back-2');
    t.pass();
  },
);

test.serial('whatever a file is called, it is listed as text and downloaded as it is', async (t) => {
  const { page, problems } = await terminal(t);
  const title = await page.title();
  const folder = join(temporaryDirectory(t), 'a "folder" <b>of names');
  mkdirSync(folder);
  // ten: of a page that has more downloads at once browsers ask first
  const names = [
    '"><img src=x onerror=document.title=1>',
    '\u202Egpj.txt',
    'two\nlines\ttabbed',
    '-rf',
    '%2e%2e%2fetc',
    "'; rm -rf nothing #",
    '\u001B[31mred\u001B]0;taken\u0007',
    'x'.repeat(255),
    ' ',
    'grüße → 日本',
  ];
  for (const [index, name] of names.entries()) writeFileSync(join(folder, name), `content ${index}`);

  await page.getByRole('button', { name: 'Files' }).click();
  const files = page.getByRole('region', { name: 'Files' }).first();
  await page.getByLabel('Folder', { exact: true }).fill(folder);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await files.getByText('grüße → 日本').waitFor();

  const downloads = files.getByRole('button', { name: /^Download/u });
  t.is(await downloads.count(), names.length);
  const contents: string[] = [];
  for (let index = 0; index < names.length; index += 1) {
    const downloading = page.waitForEvent('download');
    await downloads.nth(index).click();
    const download = await downloading;
    contents.push(readFileSync(await download.path(), 'utf8'));
    t.notRegex(download.suggestedFilename(), /[/\\\n]/u);
  }
  t.deepEqual(contents.toSorted(), names.map((_name, index) => `content ${index}`).toSorted());
  t.is(await page.title(), title);
  t.is(await files.locator('img').count(), 0);
  t.deepEqual(problems, []);
});
