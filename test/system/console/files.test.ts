/** Files of a node beside its terminal in the console, in a real browser: moved both ways, made, renamed, deleted. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { answerWith, enter, press, pressOpening, tabTo, typedInto } from '../../support/console/keyboard.ts';
import { barsSeen, watchBars } from '../../support/console/bars.ts';
import { looksWell, openPage, signIn } from '../../support/console/page.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let node: string;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1 });
  node = (await fleet.node()).id;
  await fleet.rest.post(`/nodes/${node}/ssh_usernames`, { username: 'ops' });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** A terminal in which somebody is signed in by a key of the browser. */
async function terminal(t: ExecutionContext) {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${node}/terminal`);
  const { page } = opened;
  await signIn(page);
  await press(page, 'Open the terminal');
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  return opened;
}

/** Shows the files in this folder: F6 leaves the terminal for them. */
async function showFolder(page: Page, folder: string): Promise<void> {
  await page.keyboard.press('F6');
  await page.keyboard.press('Enter');
  await typedInto(page, page.getByLabel('Folder', { exact: true }), folder);
  await page.keyboard.press('Enter');
}

/** A file that is long under way, in bytes, and how often its bar is to go on meanwhile, at least. */
const [BAR_BYTES, BAR_STEPS_MIN] = [20_000_000, 5];

/** Presses a button, and chooses this where the browser asks for a file, which is no part of the page. */
async function choose(page: Page, name: string, path: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true });
  await button.and(page.locator(':enabled')).waitFor(); // it is not, while the folder is listed anew
  const chooser = page.waitForEvent('filechooser');
  await enter(page, button);
  await (await chooser).setFiles(path);
}

test.serial('files are listed, uploaded, replaced when that is confirmed, and downloaded as they were', async (t) => {
  const { page, problems } = await terminal(t);
  const directory = temporaryDirectory(t);
  const [folder, own] = [join(directory, 'far'), join(directory, 'data.bin')];
  mkdirSync(folder);
  writeFileSync(join(folder, '<img src=x onerror=document.title=1>'), 'hostile');
  const content = Buffer.alloc(3_000_000, 'edge');
  writeFileSync(own, content);

  await page.getByRole('button', { name: 'Files' }).click();
  await page.getByRole('region', { name: 'Files' }).first().waitFor();
  await page.getByLabel('Folder', { exact: true }).fill(folder);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('<img src=x onerror').waitFor();
  const input = page.locator('input[type=file]:not([webkitdirectory])');
  await input.setInputFiles(own);
  await page.getByText('data.bin is whole: 2.9 MiB.').waitFor();
  t.deepEqual(readFileSync(join(folder, 'data.bin')), content);

  writeFileSync(own, 'another one');
  await input.setInputFiles(own);
  await answerWith(page, 'data.bin');
  await page.getByText('data.bin is whole: 11 B.').waitFor();
  t.is(readFileSync(join(folder, 'data.bin'), 'utf8'), 'another one');

  writeFileSync(join(folder, 'data.bin'), content);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download data.bin' }).click();
  const file = await (await downloading).path();
  t.deepEqual(readFileSync(file), content);
  t.deepEqual(readdirSync(folder).toSorted(), ['<img src=x onerror=document.title=1>', 'data.bin'], 'no part is left');
  t.deepEqual(problems, []);
  await looksWell(t, page, 'the terminal with files');
});

test.serial('one file is uploaded and downloaded by keyboard alone, and its bar says how far it is', async (t) => {
  const { page, problems } = await terminal(t);
  const directory = temporaryDirectory(t);
  const [far, own] = [join(directory, 'far'), join(directory, 'large.bin')];
  const content = Buffer.alloc(BAR_BYTES, 'edge');
  mkdirSync(far);
  writeFileSync(own, content);
  const files = page.getByRole('region', { name: 'Files' }).first();
  await showFolder(page, far);
  await files.getByText('This folder is empty.').waitFor();

  await watchBars(page);
  await choose(page, 'Upload a file here', own);
  await files.getByText('large.bin is whole: 19.1 MiB.').waitFor();
  t.true(content.equals(readFileSync(join(far, 'large.bin'))));
  const downloading = page.waitForEvent('download');
  await press(page, 'Download large.bin');
  t.true(content.equals(readFileSync(await (await downloading).path())));

  for (const kind of ['Uploading', 'Downloading']) {
    const seen = (await barsSeen(page)).filter(({ label }) => label === `${kind} large.bin`);
    const values = seen.map(({ value }) => value);
    t.deepEqual(
      values,
      values.toSorted((one, other) => one - other),
      `${kind} never goes back`,
    );
    t.true(seen.every(({ max }) => max === BAR_BYTES));
    const between = new Set(values.filter((value) => value > 0 && value < BAR_BYTES));
    t.true(between.size >= BAR_STEPS_MIN, `${kind}: ${[...between].join(' ')}`);
  }
  t.deepEqual(problems, []);
});

test.serial('a folder is made, files are renamed, and deleted by their names, by keyboard alone', async (t) => {
  const { page, problems } = await terminal(t);
  const title = await page.title();
  const folder = temporaryDirectory(t);
  const hostile = '<img src=x onerror=document.title=1>';
  writeFileSync(join(folder, '\u202Egpj.exe'), 'turned round');
  writeFileSync(join(folder, 'old.txt'), 'a file');
  writeFileSync(join(folder, 'there.txt'), 'another file');
  const files = page.getByRole('region', { name: 'Files' }).first();
  await showFolder(page, folder);
  await files.getByText('old.txt').waitFor();

  await pressOpening(page, 'New folder');
  await page.keyboard.insertText('../up');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('A name has no slash').waitFor();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(hostile);
  await page.keyboard.press('Enter');
  await files.getByRole('button', { name: `Show ${hostile}` }).waitFor();
  t.true(statSync(join(folder, hostile)).isDirectory());

  await pressOpening(page, 'Rename old.txt');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText('there.txt');
  await page.keyboard.press('Enter');
  await files.getByRole('status').getByText('There is a file of this name already.').waitFor();
  t.is(readFileSync(join(folder, 'there.txt'), 'utf8'), 'another file');
  await pressOpening(page, 'Rename old.txt');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText('new.txt');
  await page.keyboard.press('Enter');
  await files.getByRole('status').getByText('It is called new.txt now.').waitFor();
  t.is(readFileSync(join(folder, 'new.txt'), 'utf8'), 'a file');

  writeFileSync(join(folder, hostile, 'within'), 'kept');
  const removed = async (name: string, asked: string): Promise<void> => {
    await pressOpening(page, `Delete ${name}`);
    await page.keyboard.insertText(`${asked}-`);
    await page.keyboard.press('Enter'); // it is not its name: nothing happens
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
  };
  await removed(hostile, hostile);
  await files.getByRole('status').locator('.ill').waitFor();
  t.is(readFileSync(join(folder, hostile, 'within'), 'utf8'), 'kept', 'a folder with something in it stays');
  rmSync(join(folder, hostile, 'within'));
  await removed(hostile, hostile);
  await files.getByRole('button', { name: `Show ${hostile}` }).waitFor({ state: 'detached' });
  await removed('\\u{202e}gpj.exe', 'delete');
  await files.getByText('gpj.exe is deleted.').waitFor();
  await files.and(page.locator(':focus')).waitFor();
  t.deepEqual(readdirSync(folder).toSorted(), ['new.txt', 'there.txt']);
  t.is(await page.title(), title);
  t.deepEqual(problems, []);
});

test.serial('a folder that is listed while another one is typed writes nothing into its field', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${node}/terminal`);
  const held: (() => void)[] = [];
  let isHeld = true;
  await page.routeWebSocket(/terminal/u, (near) => {
    const far = near.connectToServer();
    near.onMessage((message) => far.send(message));
    far.onMessage((message) => {
      const isListing = typeof message === 'string' && message.includes('"type":"listed"');
      if (isHeld && isListing) held.push(() => near.send(message));
      else near.send(message);
    });
  });
  await page.reload(); // what is routed is what a page opens that is loaded from then on
  await signIn(page);
  await press(page, 'Open the terminal');
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  const folder = temporaryDirectory(t);
  writeFileSync(join(folder, 'there.txt'), 'a file');

  await page.keyboard.press('F6');
  await page.keyboard.press('Enter');
  await until('the first listing', () => held.length > 0);
  const field = page.getByLabel('Folder', { exact: true });
  await tabTo(page, field);
  isHeld = false;
  for (const tell of held) tell();
  await page
    .getByRole('region', { name: 'What is in the folder' })
    .or(page.getByText('This folder is empty.'))
    .first()
    .waitFor();
  await page.keyboard.insertText(folder);
  await page.keyboard.press('Enter');

  await page.getByText('there.txt').waitFor();
  t.pass();
});

test.serial('j, k and Enter lead through the files, and to rows of which nothing can be used', async (t) => {
  const { page } = await terminal(t);
  const folder = temporaryDirectory(t);
  mkdirSync(join(folder, 'within'));
  writeFileSync(join(folder, 'within', 'deep.txt'), 'a file');
  writeFileSync(join(folder, 'last.txt'), 'another file');
  await showFolder(page, folder);
  const table = page.getByRole('region', { name: 'What is in the folder' });
  await table.getByText('last.txt').waitFor();

  await tabTo(page, table);
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Download last.txt' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await table.getByText('deep.txt').waitFor();
  // as they are while a file moves
  await page.evaluate("for (const one of document.querySelectorAll('.files tbody button')) one.disabled = true");
  await tabTo(page, table);
  await page.keyboard.press('j');
  await table.locator('tbody tr:focus').waitFor();
  t.pass();
});

test.serial('a folder is uploaded with all that is in it, and once more over itself, by keyboard alone', async (t) => {
  const { page, problems } = await terminal(t);
  const directory = temporaryDirectory(t);
  const [far, own] = [join(directory, 'far'), join(directory, 'site')];
  mkdirSync(far);
  mkdirSync(join(own, 'a/b'), { recursive: true });
  const contents: Readonly<Record<string, string | Buffer>> = {
    'index.html': '<script>document.title = 1</script>',
    'a/large.bin': Buffer.alloc(1_000_000, 'edge'),
    'a/b/grüße \u202E.txt': 'deep',
    empty: '',
  };
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(own, name), content);
  const files = page.getByRole('region', { name: 'Files' }).first();
  await showFolder(page, far);
  await files.getByText('This folder is empty.').waitFor();

  await choose(page, 'Upload a folder here', own);
  await files.getByText('site is whole: 4 files, 977 KiB.').waitFor();
  for (const [name, content] of Object.entries(contents))
    t.deepEqual(readFileSync(join(far, 'site', name)), Buffer.from(content), name);

  writeFileSync(join(own, 'index.html'), 'changed');
  writeFileSync(join(far, 'site/other'), 'stays');
  await choose(page, 'Upload a folder here', own);
  await page.getByRole('dialog').getByText(join(far, 'site')).waitFor();
  await answerWith(page, 'site');
  await until('the page to be replaced', () => readFileSync(join(far, 'site/index.html'), 'utf8') === 'changed');
  await files.getByText('site is whole').waitFor();
  t.is(readFileSync(join(far, 'site/other'), 'utf8'), 'stays');

  rmSync(join(far, 'site'), { recursive: true });
  writeFileSync(join(far, 'site'), 'a file in its place');
  await choose(page, 'Upload a folder here', own);
  await answerWith(page, 'site');
  await files.getByText('0 of 4 files of site are there. There is a file of this name already.').waitFor();
  t.is(readFileSync(join(far, 'site'), 'utf8'), 'a file in its place');
  t.deepEqual(problems, []);
  await looksWell(t, page, 'the files after a folder failed');
});
