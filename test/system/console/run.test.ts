/** Running commands in the console, in a real browser against a real admin and real agents. */
import { writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { startBrowser } from '../../support/browser.ts';
import { holdsAnswersOf, losesAnswerOf, refusesFirst } from '../../support/console/answers.ts';
import { answerWith, chosen, enter } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, pictured, signIn } from '../../support/console/page.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** The admin died, was started again, and the page found it: on a busy machine, in ms. */
const BACK_MS_MAX = 60_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 3 });
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = (t: ExecutionContext, path?: string, options?: BrowserContextOptions) =>
  openPage(t, { browser, url: fleet.admin().url }, path, options);
const groups = (page: Page) => page.locator('.grid .body .row');
const output = (page: Page) => page.locator('pre.output').first();

/** Resolves when the groups say so, cell by cell: while outputs are asked for there are others. */
async function groupsBecome(page: Page, wanted: readonly string[]): Promise<void> {
  await until('the groups', async () => {
    const cells = await groups(page).locator('.cell').allTextContents();
    if (!isDeepStrictEqual(cells, wanted)) throw new Error(`they say ${JSON.stringify(cells)}`);
    return true;
  });
}

/** What one of three machines does not do as the others. */
function unlike(name: string, first: string, others: string): string {
  return `mkdir '${fleet.directory}/${name}' 2>/dev/null && { ${first}; } || { ${others}; }`;
}

async function signedIn(t: ExecutionContext, path: string, name: string, options?: BrowserContextOptions) {
  const opened = await open(t, path, options);
  await signIn(opened.page);
  await heading(opened.page, name);
  return opened;
}

test.serial(
  'the keyboard alone runs a command on a cluster, compares its groups, and runs it again where it failed',
  async (t) => {
    const { page, problems, elsewhere } = await signedIn(t, '/console', 'Overview');

    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await heading(page, 'Run');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Type a command.').waitFor();
    await page.keyboard.type(unlike('uneven', 'echo one; echo two; exit 3', 'echo one; echo 2'));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type(CLUSTER);
    await page.locator('.run-preview').getByText('3 nodes', { exact: true }).waitFor();
    await page.waitForURL(/clusters=/u);
    t.is(
      await page
        .getByLabel('As a command', { exact: true })
        .textContent()
        .then((text) => text?.startsWith(`edge run -c ${CLUSTER} -- `)),
      true,
    );
    await page.keyboard.press('Control+Enter');

    await heading(page, 'Command');
    await page.getByText('3 of 3 nodes have ended').waitFor();
    await groupsBecome(page, ['Failed, exit 3', '1', 'one', 'Succeeded', '2', 'one']);
    await output(page).getByText('two').waitFor();
    await enter(page, page.getByRole('button', { name: 'Difference' }));
    await page.locator('.diff > div').nth(2).waitFor();
    t.deepEqual(await page.locator('.diff > div').allTextContents(), ['  one', '- 2', '+ two']);

    await pictured(page, 'command');
    await enter(page, page.getByRole('link', { name: 'Run again where it failed' }));
    await heading(page, 'Run');
    await page.locator('.run-preview').getByText('1 node', { exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+Enter');
    await heading(page, 'Command');
    await page.getByText('1 of 1 node has ended').waitFor();
    await groups(page).getByText('Succeeded').waitFor();
    t.deepEqual([problems, elsewhere], [[], []]);
  },
);

test.serial('what a machine says while it runs is seen at once; one is cancelled, then all', async (t) => {
  const { page } = await signedIn(t, '/console/run', 'Run');
  await page.getByLabel('Command', { exact: true }).fill('echo begun; sleep 600');
  await page.getByRole('radio', { name: 'All nodes' }).check();
  await page.keyboard.press('Control+Enter');
  await page
    .getByRole('dialog', { name: 'Run on all 3 nodes?' })
    .getByRole('button', { name: 'Run on 3 nodes' })
    .press('Enter');

  await heading(page, 'Command');
  await page.locator('article.live').nth(2).getByText('begun').waitFor();
  const first = page.locator('article.live').first();
  const name = (await first.locator('bdi').first().textContent()) ?? '';
  await enter(page, first.getByRole('button'));
  await page.getByRole('dialog', { name: `Cancel on ${name}?` }).waitFor();
  await answerWith(page, name);
  await page.getByText('1 of 3 nodes have ended').waitFor();
  await enter(page, page.getByRole('button', { name: 'Cancel', exact: true }));
  await answerWith(page, new URL(page.url()).pathname.split('/').at(-1)?.slice(0, 8) ?? '');

  await page.getByText('3 of 3 nodes have ended').waitFor();
  await page.locator('.summary').getByText('Cancelled').waitFor();
  await groupsBecome(page, ['Cancelled', '3', 'begun']);
  t.pass();
});

test.serial('what machines say is text, whatever it is, and a line of 1 MiB is shown in pieces', async (t) => {
  const hostile = '<script>document.title="hit"</script><img src=x onerror=document.title="hit">';
  const { id } = await fleet.run(
    `printf '%s\\n' '${hostile}'; printf '\\033[31mred\\033[0m \\033]0;title\\007after \\033[2Jend\\n'; printf '\\342\\200\\256turned\\n'; head -c 1048576 /dev/zero | tr '\\0' x`,
    { targeting: { type: 'nodes', node_ids: [(await fleet.node()).id] } },
  );
  const { page, problems, elsewhere } = await signedIn(t, `/console/commands/${id}`, 'Command');

  const more = page.getByRole('button', { name: /^Show more/u });
  // while it runs, the last that it said is shown; then all
  await more.waitFor();
  await page.locator('article.live').waitFor({ state: 'detached' });
  await until('the whole output', async () => ((await output(page).textContent()) ?? '').startsWith(hostile));
  const text = (await output(page).textContent()) ?? '';
  const begins = `${hostile}\nred after end\n\ufffdturned\nxxx`;
  t.is(text.slice(0, begins.length), begins);
  t.is(await output(page).locator('.ansi-red').textContent(), 'red');
  t.is(await output(page).locator('img, script').count(), 0);
  t.is(text.length, 65_536 - '\u001b[31m\u001b[0m\u001b]0;title\u0007\u001b[2J'.length);
  await more.click();
  await until('more of it', async () => ((await output(page).textContent()) ?? '').length > 130_000);
  t.is(await page.title(), 'Command · Edge fleet control');
  t.deepEqual([problems, elsewhere], [[], []]);
});

test.serial(
  'a command of another client is seen as it goes on, and to its end after the admin died, without a reload',
  async (t) => {
    const { id } = await fleet.run(`while [ ! -e '${fleet.directory}/go' ]; do sleep 0.2; done; echo over`);
    const { page } = await signedIn(t, '/console/commands', 'Commands');
    await enter(page, page.getByRole('link', { name: /while/u }));
    await heading(page, 'Command');
    t.true(page.url().endsWith(id));
    await page.locator('.summary').getByText('Running').waitFor();
    await page.evaluate('window.isThisVeryPage = true');

    await fleet.admin().kill();
    await page.getByText('No connection since').waitFor();
    await fleet.admin().start();
    await page.getByText('No connection since').waitFor({ state: 'detached', timeout: BACK_MS_MAX });
    await writeFile(`${fleet.directory}/go`, '');

    await page.getByText('3 of 3 nodes have ended').waitFor({ timeout: BACK_MS_MAX });
    await groupsBecome(page, ['Succeeded', '3', 'over']);
    t.true(await page.evaluate<boolean>('window.isThisVeryPage'));
  },
);

test.serial('a command that could not be followed is followed to its outputs where somebody tries again', async (t) => {
  const { id } = await fleet.run('echo tried-again');
  const { page } = await open(t, '/console/nowhere');
  await refusesFirst(page, 'commands.watch');
  await page.goto(`${fleet.admin().url}/console/commands/${id}`);
  await signIn(page);

  await page.getByText('This is refused.').waitFor();
  await enter(page, page.getByRole('button', { name: 'Try again' }));

  await page.getByText('3 of 3 nodes have ended').waitFor();
  await groups(page).getByText('tried-again').waitFor();
  t.pass();
});

test.serial('a command whose answer is lost is stored once, and deleted when its id is typed', async (t) => {
  const { page } = await open(t, '/console/nowhere');
  const { inputs: sent } = await losesAnswerOf(page, 'create_command');
  await page.goto(`${fleet.admin().url}/console/run?in=all&text=echo%20once`);
  await signIn(page);
  await heading(page, 'Run');
  const count = async () => (await fleet.rest.get<readonly CommandResource[]>('/commands?page_size=100')).length;
  const before = await count();

  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run on 3 nodes' }).click();
  await heading(page, 'Command');
  t.deepEqual([sent.length, await count()], [2, before + 1]);
  t.is(sent[0], sent[1], 'the same, with the same key');
  await page.getByText('3 of 3 nodes have ended').waitFor();

  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type(new URL(page.url()).pathname.split('/').at(-1)?.slice(0, 8) ?? '');
  await page.keyboard.press('Enter');
  await heading(page, 'Commands');
  t.is(await count(), before);

  const results = page.locator('.paged tbody tr');
  await chosen(page, page.getByLabel('Failures'), 'failed nowhere');
  await results.filter({ hasText: 'failed' }).first().waitFor({ state: 'detached' });
  await results.first().waitFor();
  await chosen(page, page.getByLabel('Failures'), 'failed somewhere');
  await results.filter({ hasText: 'failed' }).first().waitFor();
  t.is(await results.filter({ hasNotText: 'failed' }).count(), 0);
  t.true(page.url().endsWith('?has_failed=true'));
});

test.serial('a command in doubt runs once though its page was left and it is sent once more', async (t) => {
  const { page } = await open(t, '/console/nowhere');
  const { inputs, hold, release } = await losesAnswerOf(page, 'create_command');
  await page.goto(`${fleet.admin().url}/console/run?in=all&text=echo%20left`);
  await signIn(page);
  await heading(page, 'Run');
  const count = async () => (await fleet.rest.get<readonly CommandResource[]>('/commands?page_size=100')).length;
  const before = await count();
  const run = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run on 3 nodes' }).click();
  };

  hold();
  await run();
  await page.getByRole('status').getByText('No answer yet.').waitFor();
  await until('it is sent again', () => inputs.length === 2);
  await page.getByRole('link', { name: 'Commands', exact: true }).click();
  await heading(page, 'Commands');
  await page.goBack();
  await heading(page, 'Run');
  await run();
  await page.getByRole('status').getByText('Storing it').waitFor();
  release();

  await heading(page, 'Command');
  t.deepEqual([new Set(inputs).size, await count()], [1, before + 1]);
});

test.serial('the page of a command leads on once it is deleted, though that is told before the answer', async (t) => {
  const command = await fleet.run('echo to be deleted');
  await fleet.settled(command);
  const { page } = await open(t, '/console/nowhere');
  const answers = await holdsAnswersOf(page, 'delete_command');
  await page.goto(`${fleet.admin().url}/console/commands/${command.id}`);
  await signIn(page);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type(command.id.slice(0, 8));

  answers.hold();
  await page.keyboard.press('Enter');
  await page.getByText('There is no such command: it was deleted, or never was.').waitFor();
  answers.release();

  await heading(page, 'Commands');
  t.is(answers.asked.size, 1);
});

test.serial('axe finds nothing on any page of commands, light and dark, on a phone and a laptop', async (t) => {
  const { id } = await fleet.run(
    unlike(
      'looks',
      String.raw`printf '\033[31mred\033[32mgreen\033[33myellow\033[36mcyan\033[35mmagenta\033[34mblue\033[0m\nline 1\nline 2'; exit 1`,
      'echo line 1; echo line 3',
    ),
  );
  const { page } = await signedIn(t, `/console/commands/${id}`, 'Command', { bypassCSP: true });
  await output(page).getByText('magenta').waitFor();
  await looksWell(t, page, 'command');
  await page.getByRole('button', { name: 'Difference' }).click();
  await looksWell(t, page, 'difference');
  for (const [path, name, seen] of [
    ['/console/run?in=all&text=uptime', 'Run', '.run-preview li'],
    ['/console/run?again=nonsense&timeout=x', 'Run', '.wrong'],
    ['/console/commands', 'Commands', 'tbody tr'],
    ['/console/executions', 'Executions', 'tbody tr'],
    ['/console/commands/00000000-0000-7000-8000-000000000000', 'Command', '.state a'],
  ] as const) {
    await page.goto(fleet.admin().url + path);
    await heading(page, name);
    await page.locator(seen).first().waitFor();
    await looksWell(t, page, path);
  }
});
