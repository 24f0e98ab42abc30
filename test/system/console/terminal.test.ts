/** The terminal, files and recordings of the console in a real browser, against the SSH server of a real agent. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { looksWell, openPage, signIn } from '../../support/console/page.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let node: string;

/** Of the SSH username that has one. */
const PASSWORD = 'a-password-of-the-terminal-test';

test.before(async () => {
  fleet = await startFleet(scope, { agents: 1, env: { SSH_RECORDING: 'pty' } });
  node = (await fleet.node()).id;
  await fleet.rest.post(`/nodes/${node}/ssh_usernames`, { username: 'ops', password: PASSWORD });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const keys = () => fleet.rest.get<readonly { readonly key_name: string }[]>('/ssh_public_keys?username=ops');

/** What the screen shows. */
const shown = (page: Page) => page.locator('.xterm-rows');

/** Types, and waits for what it comes to. */
async function run(page: Page, command: string, output: string): Promise<void> {
  await page.keyboard.type(command);
  await page.keyboard.press('Enter');
  await shown(page).getByText(output).first().waitFor();
}

/** A terminal in which somebody is signed in by a key of the browser, by keyboard alone. */
async function terminal(t: ExecutionContext) {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${node}/terminal`);
  const { page } = opened;
  await signIn(page);
  await page.getByLabel('Sign in as').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  await page.keyboard.type('PS1="$ "; cd "$HOME"; clear\n');
  return opened;
}

test.serial(
  'by keyboard: signed in by a key of the browser, a command, its output, another size, and out again',
  async (t) => {
    const { page, problems, elsewhere } = await terminal(t);

    await run(page, 'echo in a $((1 + 1))nd one', 'in a 2nd one');
    await run(page, 'printf "gr\\303\\274\\303\\237e \\342\\206\\222\\n"', 'grüße →');
    await run(page, 'stty size; echo "is $?"', 'is 0');
    const before = /(\d+) (\d+)/u.exec((await shown(page).textContent()) ?? '')?.[2];
    await page.setViewportSize({ width: 800, height: 700 });
    await page.waitForTimeout(500);
    await run(page, 'clear; stty size; echo "now $?"', 'now 0');
    const after = /(\d+) (\d+)/u.exec((await shown(page).textContent()) ?? '')?.[2];
    t.true(Number(after) < Number(before), `${after} columns after ${before}`);
    t.regex((await keys())[0]?.key_name ?? '', /^browser terminal /u);

    await page.keyboard.press('Tab'); // is the shell's
    t.true(await page.evaluate("document.activeElement.classList.contains('xterm-helper-textarea')"));
    await page.keyboard.press('F6');
    t.is(await page.evaluate('document.activeElement.textContent'), 'Files');
    await page.keyboard.press('F6');
    await run(page, 'exit 3', '');
    await page.getByRole('status').getByText('The shell ended with status 3.').waitFor();
    await until('the key to be deleted', async () => (await keys()).length === 0);
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);
