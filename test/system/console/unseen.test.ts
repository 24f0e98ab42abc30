/** A page of the console that nobody looks at, in a real browser. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { holdsAnswersOf } from '../../support/console/answers.ts';
import { hearFrames } from '../../support/console/frames.ts';
import { heading, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;

test.before(async () => {
  fleet = await startFleet(scope, { agents: 0 });
  await storeNodes(fleet, ['web-70', 'web-71', 'web-72']);
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

const open = (t: ExecutionContext, path: string) => openPage(t, { browser, url: fleet.admin().url }, path);
const rows = (page: Page) => page.locator('.grid .body .row');

/** Says to the page whether it is seen, as a browser does: one without a screen never says so itself. */
async function seen(page: Page, isSeen: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${!isSeen} });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}

/**
 * Time of the page goes on, and what the admin was asked for thereby (a sign of life, after 15 s) is answered: where
 * time went on once more before that, the page would take it for gone.
 */
async function timeGoesOn(page: Page, ms: number, life: SignsOfLife): Promise<void> {
  const before = life.answered;
  await page.clock.fastForward(ms);
  await until('signs of life are answered', () => life.answered > before && life.answered === life.asked);
}

interface SignsOfLife {
  readonly asked: number;
  readonly answered: number;
}

/** Those that this page asks for and is given from now on. */
function signsOfLife(page: Page): SignsOfLife {
  const life = { asked: 0, answered: 0 };
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => (life.asked += Number(payload === 'PING')));
    socket.on('framereceived', ({ payload }) => (life.answered += Number(payload === 'PONG')));
  });
  return life;
}

/** Which feeds a page follows and leaves from now on, and which messages of them it gets. */
function feedsOf(page: Page): { readonly sent: readonly string[]; readonly heard: readonly string[] } {
  const [sent, heard]: [string[], string[]] = [[], []];
  hearFrames(page, {
    sent({ method, params }) {
      if (method === 'subscription.stop') sent.push('stop');
      if (method !== 'subscription' || params === undefined) return;
      const isResumed = (params.lastEventId ?? params.input?.lastEventId) !== undefined;
      sent.push(isResumed ? `${params.path} from where it stood` : params.path);
    },
    received({ result }) {
      if (result?.type === 'data' && result.id !== undefined) heard.push(result.data?.data?.type ?? '');
    },
  });
  return { sent, heard };
}

test.serial('a page that nobody saw for a minute follows nothing until it is seen', async (t) => {
  const { page, problems } = await open(t, '/console/nodes?q=web-7');
  const feeds = feedsOf(page);
  const life = signsOfLife(page);
  await signIn(page);
  await rows(page).first().waitFor();
  const named = async (hostname: string, name: string): Promise<void> => {
    const [node] = await fleet.rest.get<readonly { readonly id: string }[]>(`/nodes?hostname=${hostname}`);
    await fleet.rest.post(`/nodes/${node?.id}/aliases`, { name });
  };
  const shows = (on: Page, name: string) => on.locator('.grid .body .name').getByText(name, { exact: true }).waitFor();
  await page.clock.install();

  // not nearly a minute: the time of a page goes on while it is told of this
  await seen(page, false);
  await timeGoesOn(page, 40_000, life);
  await seen(page, true);
  await timeGoesOn(page, 59_000, life);
  await named('web-70', 'web-70-seen');
  await shows(page, 'web-70-seen');
  t.deepEqual(feeds.sent, ['nodes.watch'], 'less than a minute is nothing');

  await seen(page, false);
  await page.clock.fastForward(60_000);
  await until('the feed is stopped', () => feeds.sent.length === 2);
  const { page: watching } = await open(t, '/console/nodes?q=web-7');
  await signIn(watching);
  const heardBefore = feeds.heard.length;
  await named('web-71', 'web-71-unseen');
  await shows(watching, 'web-71-unseen');
  t.is(feeds.heard.length, heardBefore, 'nothing was sent to a page that nobody sees');

  await seen(page, true);
  await shows(page, 'web-71-unseen');
  t.deepEqual(feeds.sent, ['nodes.watch', 'stop', 'nodes.watch from where it stood']);
  t.deepEqual(feeds.heard.slice(heardBefore), ['changed'], 'no snapshot came again');
  t.deepEqual(problems, []);
});

test.serial('a page that is opened behind another one asks what it asks once as soon as it is seen', async (t) => {
  const { page } = await open(t, '/console');
  await signIn(page, FLEET_KEYS.MASTER_KEY);
  await heading(page, 'Overview');
  const behind = await page.context().newPage();
  await behind.addInitScript(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })`);
  await behind.goto(`${fleet.admin().url}/console/health`);
  await heading(behind, 'Health');

  const asked = behind.getByRole('button', { name: 'Ask again' });
  await behind.getByText('Loading.').first().waitFor();
  t.is(await asked.count(), 0);
  await seen(behind, true);

  await asked.waitFor();
});

test.serial('what is asked for once more before its answer is there is asked once more after that', async (t) => {
  const { page } = await open(t, '/console/nowhere');
  const metrics = await holdsAnswersOf(page, 'get_admin_metrics');
  await page.goto(`${fleet.admin().url}/console/health`);
  await signIn(page, FLEET_KEYS.MASTER_KEY);
  const again = page.getByRole('button', { name: 'Ask again' });
  await again.waitFor();

  metrics.hold();
  await again.click();
  await until('it is asked', () => metrics.asked.size === 2);
  await again.click();
  await again.click();
  metrics.release();

  await until('it is asked once more', () => metrics.asked.size === 3);
  t.pass();
});
