/** The page of a command on many nodes, in a real browser: one of them is found, and all of it is ended. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Locator, Page } from 'playwright-core';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { startBrowser } from '../../support/browser.ts';
import { holdsAnswersOf, refusesFirst } from '../../support/console/answers.ts';
import { answerWith, enter, press, pressOpening, tabTo } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { storeNodes } from '../../support/console/stored-nodes.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let fleet: Fleet;
let agents: readonly string[];

/** One more than the page of a command shows at once as they write. */
const AGENTS = 9;

/** What is not followed is asked every 10 s; on a busy machine, in ms. */
const ASKED_MS_MAX = 60_000;

test.before(async () => {
  fleet = await startFleet(scope, { agents: AGENTS });
  const nodes = await fleet.rest.get<readonly { readonly id: string }[]>('/nodes');
  agents = nodes.map(({ id }) => id);
  await Promise.all(agents.map((id, place) => fleet.rest.post(`/nodes/${id}/aliases`, { name: `unit-${place + 1}` })));
  await storeNodes(fleet, ['away-1', 'away-2', 'away-3']);
  browser = await startBrowser(scope);
});

ava.after.always('the browser and the fleet are ended', () => scope.end());

/** The page of a command of which `commands.watch` says that it has too many executions. */
async function openTooLarge(t: ExecutionContext, id: string, search = '') {
  const options = { bypassCSP: true }; // axe is a script from elsewhere
  const opened = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere', options);
  const message = 'The command has more than 50000 executions, too many to watch. List them instead.';
  await refusesFirst(opened.page, 'commands.watch', { code: 'bad_request', message });
  await opened.page.goto(`${fleet.admin().url}/console/commands/${id}${search}`);
  await signIn(opened.page);
  await heading(opened.page, 'Command');
  return opened;
}

const executionsOf = (id: string) =>
  fleet.rest.get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${id}&page_size=100`);
const others = (page: Page) => page.getByRole('list', { name: 'Other nodes' }).getByRole('listitem');
/** The first name of a node that stands there. */
const nameIn = async (place: Locator) => (await place.locator('bdi').first().textContent()) ?? '';
const live = (page: Page) => page.locator('article.live');

test.serial(
  'of nine nodes that run the ninth is seen as it writes, another is found by name and cancelled',
  async (t) => {
    const { id } = await fleet.run('echo begun; sleep 600', { targeting: { type: 'nodes', node_ids: agents } });
    const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, `/console/commands/${id}`);
    await signIn(page);
    await live(page).nth(7).getByText('begun').waitFor();
    const ninth = await nameIn(others(page));

    await enter(page, others(page).getByRole('link', { name: ninth }));
    await live(page).first().and(page.locator(':focus')).getByRole('heading', { name: ninth }).waitFor();
    await live(page).first().getByText('begun').waitFor();

    const pushedOut = await nameIn(others(page).filter({ hasNotText: ninth }));
    t.is(
      await others(page)
        .getByRole('button', { name: `Cancel on ${pushedOut}` })
        .count(),
      1,
    );
    await tabTo(page, page.getByRole('searchbox'));
    await page.keyboard.type(pushedOut);
    await live(page).filter({ hasText: pushedOut }).getByText('begun').waitFor();
    await pressOpening(page, `Cancel on ${pushedOut}`);
    await answerWith(page, pushedOut);
    await page.getByText('1 of 9 nodes have ended').waitFor();
    const ended = (await executionsOf(id)).filter(({ status }) => status !== 'sent');
    t.deepEqual(
      ended.map(({ status }) => status),
      ['cancelled'],
    );
    t.is((await fleet.rest.get<NodeResource>(`/nodes/${ended[0]?.node_id}`)).name, pushedOut);
    t.deepEqual(problems, []);
    await fleet.rest.post(`/commands/${id}/cancel`);
  },
);

test.serial('on a node that is away nothing is lost, and a command is called off at once', async (t) => {
  const away = await fleet.rest.get<readonly NodeResource[]>('/nodes?hostname=away-*');
  const { id } = await fleet.run('true', { targeting: { type: 'nodes', node_ids: away.map((node) => node.id) } });
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, `/console/commands/${id}`);
  await signIn(page);

  await press(page, 'Cancel on away-2');

  await page.getByText('1 of 3 nodes have ended').waitFor();
  t.deepEqual(problems, []);
  await fleet.rest.post(`/commands/${id}/cancel`);
});

test.serial('a command on more nodes than can be followed is cancelled and deleted, each by its id', async (t) => {
  const { id } = await fleet.run('sleep 600');
  const { page, problems } = await openTooLarge(t, id);

  await page.getByText('It ran on more nodes than a page can follow.').waitFor();
  await page.getByLabel('Command', { exact: true }).getByText('sleep 600').waitFor();
  await page.getByText('0 of 12 nodes have ended').waitFor();
  await pressOpening(page, 'Cancel');
  await answerWith(page, id.slice(0, 8));
  await page.getByText('12 of 12 nodes have ended').waitFor({ timeout: ASKED_MS_MAX });
  await page.locator('.summary').getByText('Cancelled').waitFor();
  await pressOpening(page, 'Delete');
  await answerWith(page, id.slice(0, 8));

  await heading(page, 'Commands');
  t.is((await fleet.rest.call('GET', `/commands/${id}`)).status, 404);
  t.deepEqual(problems, []);
});

test.serial('of a command that cannot be followed the output that an address names is shown', async (t) => {
  const command = await fleet.run('echo said there', { targeting: { type: 'nodes', node_ids: agents.slice(0, 1) } });
  await fleet.settled(command);
  const [execution] = await executionsOf(command.id);

  const { page, problems } = await openTooLarge(t, command.id, `?execution=${execution?.id}`);

  const output = page.getByRole('region', { name: 'Output', exact: true });
  await output.getByText('said there').waitFor();
  await output.getByText('Succeeded').waitFor();
  t.regex(await nameIn(output), /^unit-\d$/u);
  await looksWell(t, page, 'a command that cannot be followed');
  t.deepEqual(problems, []);
});

test.serial('an execution in the list leads to what its node said, among all that others said', async (t) => {
  const which = `mkdir '${fleet.directory}/which' 2>/dev/null && { echo alone; exit 3; } || echo alike`;
  const command = await fleet.run(which, { targeting: { type: 'nodes', node_ids: agents } });
  await fleet.settled(command);
  const alike = (await executionsOf(command.id)).filter(({ exit_code: code }) => code === 0);
  const path = `/console/executions?command_id__in=${command.id}&node_id__in=${alike[0]?.node_id}`;
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, path);
  await signIn(page);

  await enter(page, page.getByRole('row', { name: /alike/u }).getByRole('link'));

  await heading(page, 'Command');
  await page.locator('pre.output').getByText('alike').waitFor();
  await page.getByRole('heading', { level: 2, name: 'Succeeded 8 nodes' }).waitFor();
  t.deepEqual(problems, []);
});

test.serial('a node that waits as it is drawn, and runs by now, asks for its name before that is ended', async (t) => {
  const agent = fleet.agent();
  const { id: node, name } = await fleet.node(agent);
  await agent.kill();
  await fleet.reaches(agent, 'unreachable');
  const command = await fleet.run('sleep 600', { targeting: { type: 'nodes', node_ids: [node] } });
  const { page, problems } = await openPage(t, { browser, url: fleet.admin().url }, '/console/nowhere');
  const watch = await holdsAnswersOf(page, 'commands.watch');
  await page.goto(`${fleet.admin().url}/console/commands/${command.id}`);
  await signIn(page);
  await page.getByRole('button', { name: `Cancel on ${name}` }).waitFor();
  watch.hold();
  agent.start();
  await until('it runs', async () => (await fleet.executionsOf(command)).every(({ status }) => status === 'sent'));

  await pressOpening(page, `Cancel on ${name}`);
  await answerWith(page, name);

  const ended = await fleet.settled(command);
  t.deepEqual(
    ended.map(({ status }) => status),
    ['cancelled'],
  );
  t.deepEqual(problems, []);
});
