/** The terminal and recordings of the console in a real browser, against the SSH server of a real agent. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { startBrowser } from '../../support/browser.ts';
import { answerWith, chosen, enter, pressOpening, tabTo, ticked } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, pictured, signIn } from '../../support/console/page.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
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

/** Types, and waits for what it comes to; says what the screen shows when that does not come. */
async function run(page: Page, command: string, output: string): Promise<void> {
  await page.keyboard.type(command);
  await page.keyboard.press('Enter');
  try {
    await shown(page).getByText(output).first().waitFor();
  } catch (error) {
    const lines = (await shown(page).locator('> div').allTextContents()).filter((line) => line.trim() !== '');
    throw new Error(`${command}: no "${output}" on the screen, which shows ${JSON.stringify(lines)}`, { cause: error });
  }
}

/** A terminal in which somebody is signed in by a key of the browser, by keyboard alone. */
async function terminal(t: ExecutionContext) {
  const opened = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${node}/terminal`);
  const { page } = opened;
  await signIn(page);
  await tabTo(page, page.getByLabel('Sign in as'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  await page.keyboard.type('PS1="$ "; cd "$HOME"; clear\n');
  return opened;
}

test.serial(
  'a terminal is opened by a key of the browser, runs a command, is resized and closed, by keyboard alone',
  async (t) => {
    const { page, problems, elsewhere } = await terminal(t);

    await run(page, 'echo in a $((1 + 1))nd one', 'in a 2nd one');
    await run(page, 'printf "gr\\303\\274\\303\\237e \\342\\206\\222\\n"', 'grüße →');
    await run(page, 'stty size; echo "is $?"', 'is 0');
    await pictured(page, 'terminal');
    const before = /(\d+) (\d+)/u.exec((await shown(page).textContent()) ?? '')?.[2];
    await page.setViewportSize({ width: 800, height: 700 });
    // the shell is told a moment later
    const narrower = `until [ "$(stty size | cut -d ' ' -f 2)" -lt ${before} ]; do sleep 0.1; done`;
    await run(page, `clear; ${narrower}; stty size; echo "now $?"`, 'now 0');
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
    await page.keyboard.press('F6'); // no shell is there, and Tab is the terminal's still
    t.true(await page.evaluate("document.activeElement.closest('.terminal-bar .tools') !== null"));
    await enter(page, page.getByRole('button', { name: 'Open another one' }));
    await page.getByRole('status').getByText('Signed in as ops.').waitFor();
    await run(page, 'echo another-$((1 + 1))', 'another-2');
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);

test.serial('an open terminal says its line for another one, which takes it no room', async (t) => {
  const { page } = await terminal(t);
  const place = page.locator('.terminal-place');
  const lines = page.locator('details.elsewhere pre');
  const height = (await place.boundingBox())?.height ?? 0;
  await lines.first().waitFor({ state: 'attached' });
  t.is(await lines.first().textContent(), `edge ssh ops@${node}`);

  await page.keyboard.press('F6');
  await enter(page, page.locator('details.elsewhere summary'));
  await lines.nth(1).waitFor();
  const below = await lines.nth(1).boundingBox();

  t.true((below?.y ?? 0) + (below?.height ?? 0) < 800, 'both are seen at once');
  t.is((await place.boundingBox())?.height, height);
  await page.keyboard.press('F6');
  await run(page, 'echo "here $((1 + 1))"', 'here 2');
});

test.serial('output that is hostile stays output: a line of 1 MiB, titles, links, a clipboard', async (t) => {
  const { page, problems, elsewhere } = await terminal(t);
  const title = await page.title();

  await run(
    page,
    "clear; printf '\\033]0;taken\\007\\033]2;over\\007\\033]52;c;aGl0\\007\\033]8;;http://evil.example/\\007a link\\033]8;;\\007\\n'",
    'a link',
  );
  const link = await shown(page).getByText('a link', { exact: true }).boundingBox();
  await page.mouse.click((link?.x ?? 0) + 8, (link?.y ?? 0) + 8);
  t.not(link, null);
  await run(page, "printf '<img src=x onerror=document.title=1>\\n'", '<img src=x');
  await run(page, "head -c 1048576 /dev/zero | tr '\\0' x; printf '\\033[0m\\nit is %s\\n' over", 'it is over');
  await run(page, 'clear; echo still $((40 + 2))', 'still 42');

  t.is(await page.title(), title);
  t.is(await shown(page).locator('img, script, a').count(), 0);
  t.is(page.context().pages().length, 1);
  t.deepEqual([problems, elsewhere], [[], []]);
});

test.serial('more than one line is asked about before it is pasted', async (t) => {
  const { page } = await terminal(t);
  const paste = (text: string) =>
    page.evaluate(
      `(() => { const data = new DataTransfer(); data.setData('text/plain', ${JSON.stringify(text)});
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()`,
    );

  await paste('echo first-$((1+1))\necho second-$((1+1))\n');
  const dialog = page.getByRole('dialog', { name: 'Paste this?' });
  await dialog.getByText('echo first-$((1+1))').waitFor();
  await page.keyboard.press('Escape');
  await run(page, 'echo after-$((1+1))', 'after-2');
  t.is(await shown(page).getByText('first-2').count(), 0);
  await paste('echo first-$((1+1))\necho second-$((1+1))\n');
  await dialog.getByRole('button', { name: 'Paste' }).click();
  await shown(page).getByText('second-').first().waitFor();
  await page.keyboard.press('Enter'); // a shell that knows of bracketed paste waits for it
  await shown(page).getByText('first-2').first().waitFor();
  await paste('echo one-$((1+1))');
  await page.keyboard.press('Enter');
  await shown(page).getByText('one-2').first().waitFor();
  t.is(await dialog.count(), 0);
});

test.serial('a password signs in, a wrong one is told so', async (t) => {
  const { page } = await openPage(t, { browser, url: fleet.admin().url }, `/console/nodes/${node}/terminal`);
  await signIn(page);
  await page.getByLabel('its password').click();
  await looksWell(t, page, 'signing in to a node');
  await page.getByLabel('Password', { exact: true }).fill('a-wrong-password');
  await page.getByRole('button', { name: 'Open the terminal' }).click();
  await page.getByRole('alert').getByText('does not let ops in with this password').waitFor();
  await page.getByLabel('its password').click();
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Signed in as ops.').waitFor();
  // that of the terminal before goes with its page, a moment later; one of this terminal would stay as long as it does
  await until('no key', async () => (await keys()).length === 0);
});

test.serial('an agent that dies takes the shell along; the page says what was lost and opens another', async (t) => {
  const { page } = await terminal(t);
  await run(page, 'echo before-$((1+1))', 'before-2');

  await fleet.agent().kill();
  await page.getByRole('status').getByText('The connection was cut').waitFor();
  t.regex((await page.getByRole('status').allTextContents()).join(' '), /what ran in it were hung up/u);
  fleet.agent().start();
  await page.getByRole('status').getByText('Signed in as ops.').waitFor({ timeout: 120_000 });
  await run(page, 'echo back-$((1+1))', 'back-2');
  await shown(page).getByText('before-2').first().waitFor();
  t.is((await keys()).length, 1);
});

test.serial('a session that is ended takes its terminals along', async (t) => {
  const [{ page }, other] = [
    await terminal(t),
    await openPage(t, { browser, url: fleet.admin().url }, '/console/sessions'),
  ];
  await signIn(other.page, FLEET_KEYS.MASTER_KEY);
  await heading(other.page, 'Sessions');

  await other.page.evaluate(`(async () => {
    const { data } = await (await fetch('/console/session/all')).json();
    for (const { id, is_current } of data) if (!is_current) await fetch('/console/session/all/' + id, { method: 'DELETE' });
  })()`);

  await page.getByLabel('Key', { exact: true }).waitFor();
  await until('the key to be deleted', async () => (await keys()).length === 0);
  t.is(await page.locator('.xterm').count(), 0);
});

test.serial('a page of another origin gets no terminal, and nobody without a session does', async (t) => {
  const { url } = fleet.admin();
  const status = async (headers: Record<string, string>): Promise<number> => {
    const socket = new WebSocket(`${url.replace(/^http/u, 'ws')}/console/terminal`, ['edge.terminal.v1'], { headers });
    socket.on('error', () => {});
    return new Promise((resolve) => {
      socket.once('open', () => resolve(101));
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
    });
  };

  t.is(await status({ origin: 'https://evil.example' }), 403);
  t.is(await status({}), 403);
  t.is(await status({ origin: url }), 401);
  t.is(
    await status({ origin: url, authorization: `Bearer ${FLEET_KEYS.API_KEY}` }),
    401,
    'a key counts for nothing here',
  );
});

test.serial('what a terminal showed is listed, played from words in it, and deleted, by keyboard alone', async (t) => {
  const { page, problems } = await terminal(t);
  await run(page, 'echo needle-$((40 + 2)); sleep 4', 'needle-42');
  await page.keyboard.type('exit\n');
  let id = '';
  await until('the recording', async () => {
    const [newest] = await fleet.rest.get<readonly { readonly id: string }[]>(
      '/ssh_recordings?username=ops&sort=-started_at',
    );
    id = newest?.id ?? '';
    return id !== '' && (await fleet.rest.get<{ cast: string }>(`/ssh_recordings/${id}`)).cast.includes('needle-42');
  });

  await page.goto(`${fleet.admin().url}/console/recordings?username=ops&sort=-started_at`);
  await heading(page, 'Recordings');
  await enter(page, page.locator(`a[href$="${id}"]`).first());
  await heading(page, 'Recording of ops');
  await page.getByRole('button', { name: 'Play' }).waitFor();
  t.is(await shown(page).getByText('needle-42').count(), 0, 'it stands at the beginning');
  const position = page.getByRole('slider', { name: 'Position' });
  const skip = page.getByRole('checkbox', { name: 'Skip waits over 2 s' });
  await ticked(page, skip);
  t.true(await skip.isChecked());
  await tabTo(page, page.getByRole('searchbox', { name: 'Find in what was shown' }));
  await page.keyboard.type('NEEDLE-42');
  await page.getByRole('status').getByText('1 place', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await shown(page).getByText('needle-42').first().waitFor();
  const found = Number(await position.inputValue());
  const speed = page.getByRole('combobox', { name: 'Speed' });
  await chosen(page, speed, '16×');
  t.is(await speed.inputValue(), '16');
  await enter(page, page.getByRole('button', { name: 'Play' }));
  await page.getByRole('button', { name: 'Play' }).waitFor();
  t.true(Number(await position.inputValue()) > found, 'it was played to its end');
  await tabTo(page, position);
  await page.keyboard.press('Home');
  await shown(page).getByText('needle-42').waitFor({ state: 'detached' });
  // to the end, and back while that is not drawn yet; until all of it is drawn
  await page.evaluate(`(async () => {
    const slider = document.querySelector('input[type=range]');
    for (const value of [slider.max, 0]) {
      slider.value = value;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }
    await new Promise((drawn) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  })()`);
  t.is(await shown(page).getByText('needle-42').count(), 0, 'nothing of the end is drawn over the beginning');

  const path = `/console/recordings/${id}`;
  const other = await openPage(t, { browser, url: fleet.admin().url }, path, { bypassCSP: true }); // for axe
  await signIn(other.page);
  await other.page.getByRole('button', { name: 'Play' }).waitFor();
  await looksWell(t, other.page, 'a recording');
  await other.page.goto(`${fleet.admin().url}/console/recordings`);
  await other.page.locator('.paged tbody tr').first().waitFor();
  await looksWell(t, other.page, 'recordings');
  await pressOpening(page, 'Delete');
  await answerWith(page, 'ops');
  await heading(page, 'Recordings');
  t.is((await fleet.rest.call('GET', `/ssh_recordings/${id}`)).status, 404);
  t.deepEqual(problems, []);
});
