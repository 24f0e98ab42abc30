/**
 * What the console says of the service itself: work in flight, admins, health. Debian's Chromium, a real admin, a real
 * agent.
 */
import ava, { type ExecutionContext } from 'ava';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { answersWithout, refusesFirst } from '../../support/console/answers.ts';
import { hearFrames } from '../../support/console/frames.ts';
import { answer, enter, press } from '../../support/console/keyboard.ts';
import { heading, openPage, pictured, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { openCuttable } from '../../support/net/cuttable.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

/** The overview asks every 10 s; on a busy machine, in ms. */
const ASKED_MS_MAX = 60_000;

/** Machines that are away. */
const MACHINES = 12;

/** One that is not there: a check that fails. */
const BROKER = {
  EVENT_BROKER_ENABLED: 'true',
  EVENT_BROKER_ADAPTER: 'nats',
  EVENT_BROKER_NATS_URLS: 'nats://broker.invalid:4222',
};

test.before(async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1, env: BROKER });
  await storeNodes(
    fleet,
    Array.from({ length: MACHINES }, (_, index) => `till-${String(index + 1).padStart(2, '0')}`),
  );
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

async function open(
  t: ExecutionContext,
  path: string,
  key: string = FLEET_KEYS.MASTER_KEY,
  url: string = fleet.admin().url,
) {
  const opened = await openPage(t, { browser, url }, path);
  await signIn(opened.page, key);
  return opened;
}

/** The admin whose broker fails: one of them publishes for all. */
async function publishing(): Promise<{ readonly name: string; readonly url: string }> {
  const found: { readonly name: string; readonly url: string }[] = [];
  await until('an admin whose broker fails', async () => {
    for (const { name, url } of fleet.admins) {
      const answer = await fetch(`${url}/healthz`);
      if ((await answer.text()).includes('the broker cannot be reached')) found.push({ name, url });
    }
    return found.length > 0;
  });
  return found[0] ?? { name: '', url: '' };
}

test.serial('the overview counts what is in flight and names what failed, and each leads to its list', async (t) => {
  const { id } = await fleet.node();
  const [away] = await fleet.rest.get<readonly { readonly id: string }[]>('/nodes?hostname=till-01');
  await fleet.run(`exit 7 # <b>it</b>`, { targeting: { type: 'nodes', node_ids: [id] } });
  const targeting = { type: 'nodes', node_ids: [id, away?.id] };
  const long = await fleet.rest.post<{ readonly id: string }>('/commands', { command_text: 'sleep 600', targeting });
  const { page, problems } = await open(t, '/console');
  const tile = (name: RegExp) => page.getByRole('link', { name });

  await tile(/^2 Executions in flight/u).waitFor({ timeout: ASKED_MS_MAX });
  await tile(/^1 Commands in flight/u).waitFor();
  await tile(/^1 Executions failed in the last hour/u).waitFor();
  await page.locator('.failures').getByText('exit 7', { exact: true }).waitFor();
  await page.locator('.failures').getByRole('link', { name: 'exit 7 # <b>it</b>' }).waitFor();
  await pictured(page, 'overview');
  await until('events to be counted', async () => {
    await fleet.rest.post('/events/test'); // a busy machine takes over a minute for this
    return (await tile(/^[1-9]\d* Events in the last minute/u).count()) === 1;
  });
  const rows = page.locator('table.rows tbody tr');
  await enter(page, tile(/^1 Commands in flight/u));
  await heading(page, 'Commands');
  await rows.filter({ hasText: 'sleep 600' }).waitFor();
  t.is(await rows.count(), 1);
  t.true(page.url().endsWith('?has_open=true'));
  await page.goBack();
  await heading(page, 'Overview');
  await enter(page, tile(/^2 Executions in flight/u));
  await heading(page, 'Executions');
  await rows.filter({ hasText: 'sleep 600' }).nth(1).waitFor();
  t.is(await rows.count(), 2);
  t.is(await page.locator('.filters select').first().inputValue(), 'pending,sent');

  await page.goBack();
  await heading(page, 'Overview');
  await fleet.rest.post(`/commands/${long.id}/cancel`);
  await tile(/^0 Executions in flight/u).waitFor({ timeout: ASKED_MS_MAX });
  await tile(/^1 Executions failed/u).click();
  await heading(page, 'Executions');
  await rows.filter({ hasText: 'exit 7' }).waitFor();
  t.is(await rows.count(), 1);
  await page.getByLabel('Completed since').fill('');
  await page.waitForURL((url) => !url.searchParams.has('completed_at__gte'));
  await page.getByLabel('Completed until').fill('2020-01-02T03:04:05');
  await page.getByText('Nothing is as you asked for.').waitFor();
  t.deepEqual(problems, []);
});

test.serial(
  'of an admin of the release before, which counts no commands, their tile is there without a number',
  async (t) => {
    const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere');
    await answersWithout(page, 'commands_in_flight');
    await page.goto(`${fleet.admin().url}/console`);
    await signIn(page);

    await page.getByRole('link', { name: /^\d+ Executions in flight/u }).waitFor();

    await page.getByRole('link', { name: '– Commands in flight', exact: true }).waitFor();
    t.deepEqual(problems, []);
  },
);

test.serial('nodes that are too many to follow are counted by status all the same', async (t) => {
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere');
  const message = 'There are 100001 nodes, and at most 100000 can be watched.';
  await refusesFirst(page, 'nodes.watch', { code: 'bad_request', message });
  await page.goto(`${fleet.admin().url}/console`);
  await signIn(page);

  await page.getByText('There are more nodes than a page can follow').waitFor();

  await page.getByRole('link', { name: `${MACHINES + 1} All nodes`, exact: true }).waitFor();
  await page.getByRole('link', { name: `${MACHINES} Unreachable ${MACHINES} in the last hour`, exact: true }).waitFor();
  await page.getByRole('link', { name: /^1 Healthy/u }).waitFor();
  t.deepEqual(problems, []);
});

test.serial('what fails stands first, with what to do about it', async (t) => {
  const publisher = await publishing();
  const { page, problems } = await open(t, '/console/health', FLEET_KEYS.MASTER_KEY, publisher.url);
  await heading(page, 'Health');
  await page
    .getByRole('region', { name: `Checks of ${publisher.name}` })
    .getByText('passes')
    .first()
    .waitFor();
  await page.getByText('All admins check in.').waitFor();
  await page.getByText('Agents connected').waitFor();
  await page
    .getByRole('region', { name: /^What .+ does$/u })
    .getByText(/^Asked /u)
    .waitFor();

  await page.getByText('Look whether the broker runs').waitFor({ timeout: ASKED_MS_MAX });
  const states = await page.locator('main table tbody td:nth-of-type(1)').allTextContents();
  t.true(states.includes('fails') && states.includes('passes'), states.join(' '));
  t.deepEqual(states, states.toSorted());
  t.deepEqual(problems, []);
});

/** Once the API says this of the admin that is drained. */
const drainedIs = (status: string) =>
  until(`admin-2 to be ${status}`, async () => {
    const admin = await fleet.rest.get<{ readonly status: string }>('/admins/admin-2');
    return admin.status === status;
  });

test.serial('an admin is drained by its name and resumed, by keyboard', async (t) => {
  const { page, problems } = await open(t, '/console/admins');
  await heading(page, 'Admins');
  await enter(page, page.getByRole('link', { name: 'admin-2' }));
  await heading(page, 'admin-2');

  await press(page, 'Drain');
  await page.getByRole('dialog', { name: 'Drain admin-2?' }).getByRole('textbox').waitFor();
  await page.keyboard.type('admin-2');
  await answer(page, 'Drain');
  await page.getByText('It takes no clusters, for').waitFor();
  await drainedIs('draining');
  await press(page, 'Resume');
  await page.getByText('admin-2 takes clusters again.').waitFor();
  await drainedIs('live');
  t.deepEqual(problems, []);
});

test.serial(
  'what is asked for without a connection is not done, neither then nor later, and the page says so',
  async (t) => {
    const way = await openCuttable(t, () => fleet.admin().url);
    const { page } = await openPage(t, { browser, url: way.url }, '/console/admins/admin-2');
    const asked: (string | undefined)[] = [];
    hearFrames(page, {
      sent: ({ method, params }) => method === 'mutation' && asked.push(params?.path),
      received() {},
    });
    await signIn(page, FLEET_KEYS.MASTER_KEY);
    await heading(page, 'admin-2');
    const drain = async (): Promise<void> => {
      await press(page, 'Drain');
      await page.getByRole('dialog', { name: 'Drain admin-2?' }).getByRole('textbox').waitFor();
      await page.keyboard.type('admin-2');
      await answer(page, 'Drain');
    };
    await page.getByRole('button', { name: 'Drain' }).waitFor();

    way.cut('broken');
    await page.getByText('No connection since').waitFor();
    await drain();
    await page.getByText('There is no connection: nothing was done.').waitFor();
    way.mend();
    await page.getByText('No connection since').waitFor({ state: 'detached', timeout: ASKED_MS_MAX });
    await drain();
    await drainedIs('draining');
    await press(page, 'Resume');
    await drainedIs('live');

    t.deepEqual(asked, ['drain_admin', 'resume_admin']);
  },
);

test.serial(
  'a command that is sent off without a connection runs neither then nor later, by name nor for all',
  async (t) => {
    const way = await openCuttable(t, () => fleet.admin().url);
    const { page } = await openPage(t, { browser, url: way.url }, '/console/run?in=nodes&nodes=till-01&text=true');
    const asked: (string | undefined)[] = [];
    hearFrames(page, {
      sent: ({ method, params }) => method === 'mutation' && asked.push(params?.path),
      received() {},
    });
    await signIn(page, FLEET_KEYS.MASTER_KEY);
    await heading(page, 'Run');
    await page.locator('.run-preview').getByText('1 node', { exact: true }).waitFor();
    const run = page.getByRole('button', { name: 'Run', exact: true });

    way.cut('broken');
    await page.getByText('No connection since').waitFor();
    await run.click();
    await page.locator('.wrong').getByText('There is no connection: nothing was done.').waitFor();
    await page.getByRole('radio', { name: 'All nodes' }).check();
    await run.click();
    await page.getByRole('alert').getByText('There is no connection: nothing was done.').waitFor();
    way.mend();
    await page.getByText('No connection since').waitFor({ state: 'detached', timeout: ASKED_MS_MAX });
    await page.getByRole('radio', { name: 'These nodes' }).check();
    await run.click();
    await heading(page, 'Command');

    t.deepEqual(asked, ['create_command']);
  },
);

test.serial('a session of API_KEY is told what its key does not reach', async (t) => {
  const { page, problems } = await open(t, '/console/health', FLEET_KEYS.API_KEY);
  await heading(page, 'Health');
  await page.getByText('What it does is told to sessions of MASTER_KEY.').waitFor();
  t.deepEqual(problems, []);
});

test.serial(
  'an admin that is gone is named and no fault, and a broker that another admin has is not known',
  async (t) => {
    const publisher = await publishing();
    const [other, gone] =
      publisher.name === 'admin-1' ? [fleet.admin(1), fleet.admin()] : [fleet.admin(), fleet.admin(1)];
    const { page } = await open(t, '/console/health', FLEET_KEYS.MASTER_KEY, other.url);
    await page.getByText('not known here: another admin publishes').waitFor();
    await page.getByText('All admins check in.').waitFor();

    await gone.kill();
    await fleet.sql(`update admin set last_checked_in = last_checked_in - interval '10 minutes' where name = $1`, [
      gone.name,
    ]);

    const line = page.getByText(`Gone, so that others own its clusters: ${gone.name}.`);
    await line.waitFor({ timeout: ASKED_MS_MAX });
    t.is(await line.getAttribute('class'), 'soft');
    t.is(await page.getByText('All others check in.').getAttribute('class'), 'well');
    const admins = await fetch(`${other.url}/api/v1/admins/${gone.name}`, {
      headers: { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}` },
    });
    t.regex(await admins.text(), /"status":"gone"/u);
  },
);
