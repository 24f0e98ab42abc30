/**
 * Brokers, relays and webhooks in trouble, as the overview of any admin tells them. Debian's Chromium, two real admins.
 */
import ava, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { certificates } from '../../support/net/certificates.ts';
import { chosen, enter, tabTo } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { createDatabase } from '../../support/database/database.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let database: TestConnection;
let fleet: Fleet;
/** URLs of webhooks: one whose deliveries wait, one that gave up, one that is well. */
const hooks = { waits: '', gaveUp: '', well: '' };
const ids = { waits: '', gaveUp: '', well: '' };

/** The overview asks every 10 s; on a busy machine, in ms. */
const ASKED_MS_MAX = 60_000;

test.before(async () => {
  const { server, serverKey } = await certificates(temporaryDirectory(scope)); // it ends within two days
  database = await createDatabase(scope);
  fleet = await startFleet(scope, {
    admins: 2,
    connection: database,
    env: {
      EVENT_BROKER_ENABLED: 'true',
      EVENT_BROKER_ADAPTER: 'nats',
      EVENT_BROKER_NATS_URLS: 'nats://broker.invalid:4222',
      EMBEDDED_RELAY: 'true',
      EMBEDDED_RELAY_HOST: '127.0.0.1',
      EMBEDDED_RELAY_PORT: '0',
      EMBEDDED_RELAY_TLS_CERT_FILE: server,
      EMBEDDED_RELAY_TLS_KEY_FILE: serverKey,
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      WEBHOOK_RETRY_BASE_MS: '600000', // what failed once waits for as long as the test goes on
    },
  });
  const receiver = await openReceiver(scope);
  hooks.waits = receiver.endpoint((response) => response.writeHead(503).end()).url;
  hooks.gaveUp = receiver.endpoint((response) => response.writeHead(410).end()).url;
  hooks.well = receiver.endpoint((response) => response.writeHead(204).end()).url;
  for (const name of ['waits', 'gaveUp', 'well'] as const) ids[name] = await webhook(hooks[name]);
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

async function webhook(url: string): Promise<string> {
  const { id } = await fleet.rest.post<{ readonly id: string }>('/webhooks', {
    url,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: ['edge.core.test'],
  });
  return id;
}

/** The admin of which all say that its broker fails, and the other one. */
async function publisherAndOther(): Promise<readonly [publisher: AdminProgram, other: AdminProgram]> {
  return until('an admin whose broker fails', async () => {
    const admins = await fleet.rest.get<readonly { readonly name: string; readonly problems: unknown }[]>('/admins');
    const down = admins.find(({ problems }) => JSON.stringify(problems).includes('event_broker'));
    const publisher = fleet.admins.find(({ name }) => name === down?.name);
    const other = fleet.admins.find(({ name }) => name !== down?.name);
    return publisher !== undefined && other !== undefined && [publisher, other];
  });
}

const open = async (t: ExecutionContext, path: string, url: string, bypassCSP = false) => {
  const opened = await openPage(t, { browser, url }, path, { bypassCSP });
  await signIn(opened.page);
  return opened;
};

test.serial(
  'the overview of any admin names whose broker fails, and whose relay; each leads to its page',
  async (t) => {
    const [publisher, other] = await publisherAndOther();
    const { page, problems } = await open(t, '/console', other.url);
    const section = page.getByRole('region', { name: 'Brokers, relays and webhooks in trouble' });

    const broker = section.locator('li').filter({ hasText: 'event_broker' });
    await broker.getByText('the broker cannot be reached or refuses').waitFor({ timeout: ASKED_MS_MAX });
    for (const { name } of fleet.admins)
      await section
        .locator('li')
        .filter({ has: page.getByRole('link', { name, exact: true }) })
        .getByText('the certificate of the relay expires in')
        .waitFor();
    await enter(page, broker.getByRole('link', { name: publisher.name }));
    await heading(page, publisher.name);
    await page.getByText('Look whether the broker runs').waitFor();
    t.true(page.url().endsWith(`/console/admins/${publisher.name}`));
    t.deepEqual(problems, []);
  },
);

test.serial(
  'webhooks that wait or gave up are named with why, and lead to their deliveries; one that is well is not',
  async (t) => {
    const { page, problems } = await open(t, '/console', fleet.admin().url);
    const section = page.getByRole('region', { name: 'Brokers, relays and webhooks in trouble' });
    await section.locator('li').first().waitFor({ timeout: ASKED_MS_MAX });
    t.is(await section.locator('.url').count(), 0, 'nothing was sent yet');

    await fleet.rest.post('/events/test');
    await until('each has been tried', async () => {
      const [row] = await fleet.sql<{ count: number }>(
        `select count(*)::int as count from webhook_delivery where attempt_count > 0 and (status <> 'pending' or webhook_id = $1)`,
        [ids.waits],
      );
      return row?.count === 3;
    });
    await fleet.sql(
      `update webhook_delivery set inserted_at = inserted_at - interval '2 minutes' where webhook_id = $1`,
      [ids.waits],
    );

    const of = (url: string) => section.locator('li').filter({ has: page.getByRole('link', { name: url }) });
    await of(hooks.waits).getByText('1 delivery waits, for').waitFor({ timeout: ASKED_MS_MAX });
    await of(hooks.waits).getByText('status 503').waitFor();
    await of(hooks.gaveUp).getByText('1 given up in the last hour').waitFor();
    await of(hooks.gaveUp).getByText('status 410').waitFor();
    t.is(await section.locator('.url').count(), 2);
    await enter(page, of(hooks.waits).getByRole('link'));
    await heading(page, 'Webhook');
    t.true(page.url().endsWith(`/webhooks/${ids.waits}?status__in=pending`));
    await page.getByText('1 to 1 of 1').waitFor();
    t.deepEqual(problems, []);
  },
);

test.serial('the number of deliveries that wait leads to just those, of whichever webhook', async (t) => {
  const { page, problems } = await open(t, '/console', fleet.admin().url);
  const tile = page.getByRole('link', { name: /^1 Webhook deliveries wait/u });
  await tile.waitFor({ timeout: ASKED_MS_MAX });

  await enter(page, tile);
  await heading(page, 'Deliveries');
  t.true(page.url().endsWith('/console/deliveries?status__in=pending'));
  await page.getByText('1 to 1 of 1').waitFor();
  await page.locator('.paged').getByRole('link', { name: hooks.waits }).waitFor();
  await tabTo(page, page.getByRole('region', { name: 'Deliveries' }));
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('status 503').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog.form').waitFor({ state: 'detached' });

  await chosen(page, page.getByRole('combobox', { name: 'Status' }), 'dropped');
  await page.locator('.paged').getByRole('link', { name: hooks.waits }).waitFor({ state: 'detached' });
  await enter(page, page.locator('.paged').getByRole('link', { name: hooks.gaveUp }));
  await heading(page, 'Webhook');
  t.true(page.url().endsWith(`/webhooks/${ids.gaveUp}`));
  t.deepEqual(problems, []);
});

test.serial('the overview says which part could not be read in time, and shows the others', async (t) => {
  const { page } = await open(t, '/console', fleet.admin().url);
  const section = page.getByRole('region', { name: 'Brokers, relays and webhooks in trouble' });
  const untold = section.getByText('Webhooks took too long to read.');
  await section.locator('.url').first().waitFor({ timeout: ASKED_MS_MAX });
  const holder = new Client(database);
  await holder.connect();
  t.teardown(() => holder.end());

  await holder.query('begin; lock table webhook_delivery in access exclusive mode');
  await untold.waitFor({ timeout: ASKED_MS_MAX });
  await page.getByRole('link', { name: /Webhook deliveries wait it took too long to count/u }).waitFor();
  await section.locator('li').filter({ hasText: 'event_broker' }).waitFor();
  await page.getByRole('link', { name: /^0 Executions in flight/u }).waitFor();
  await holder.query('rollback');

  await section.locator('.url').first().waitFor({ timeout: ASKED_MS_MAX });
  t.is(await untold.count(), 0);
});

test.serial('the list of webhooks shows those that wait, and those that gave up', async (t) => {
  const { page, problems } = await open(t, '/console/webhooks', fleet.admin().url);
  await page.getByText('1 to 3 of 3').waitFor();

  await page.getByRole('combobox', { name: 'Deliveries' }).selectOption('waiting');
  await page.getByText('1 to 1 of 1').waitFor();
  await page.locator('.paged').getByRole('link', { name: hooks.waits }).waitFor();
  await page.getByRole('combobox', { name: 'Deliveries' }).selectOption('dropped');
  await page.locator('.paged').getByRole('link', { name: hooks.gaveUp }).waitFor();
  t.true(page.url().endsWith('?trouble=dropped'));
  await enter(page, page.getByRole('link', { name: 'All deliveries' }));
  await heading(page, 'Deliveries');
  await page.getByText('1 to 3 of 3').waitFor();
  t.deepEqual(problems, []);
});

test.serial('axe finds nothing where troubles are told', async (t) => {
  const { page } = await open(t, '/console', fleet.admin().url, true); // axe is a script from elsewhere
  await page.locator('.troubles li').nth(3).waitFor({ timeout: ASKED_MS_MAX });
  await looksWell(t, page, 'troubles');
  await page.goto(`${fleet.admin().url}/console/deliveries`);
  await page.getByText('1 to 3 of 3').waitFor();
  await looksWell(t, page, 'deliveries');
  await page.setViewportSize({ width: 360, height: 800 });
  const buttons = page.locator('tr', { hasText: hooks.well }).getByRole('button');
  const [first, last] = [await buttons.first().boundingBox(), await buttons.last().boundingBox()];
  t.is(first?.y, last?.y, 'buttons of a row stand beside each other');
  const [publisher] = await publisherAndOther();
  await page.goto(`${fleet.admin().url}/console/admins/${publisher.name}`);
  await page.getByRole('heading', { name: 'What does not work there' }).waitFor();
  await looksWell(t, page, 'an admin in trouble');
});
