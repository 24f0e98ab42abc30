/**
 * What the API and the console say of a VPN of real agents: how one node reaches its peers, and all of them each other.
 */
import { isDeepStrictEqual } from 'node:util';
import ava from 'ava';
import type { NodePathsResource } from '../../../actors/resources/cluster-paths.ts';
import { startBrowser } from '../../support/browser.ts';
import { hangAfter } from '../../support/busy.ts';
import { enter } from '../../support/console/keyboard.ts';
import { heading, looksWell, openPage, signIn } from '../../support/console/page.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { connected, nodeName, reaches, startFixture, type Fixture, type Member } from '../../support/vpn/fixture.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'wg', 'wireguard-go', 'chromium');

/** All of it, on a busy machine, in ms. */
const TEST_MS_MAX = 300_000;

/** Timeout of a direct path, in ms: a first try that a busy machine spoils is followed by another after a minute. */
const DIRECT_MS_MAX = 150_000;

const scope = createScope();
let fixture: Fixture;
let [one, other, behind]: Member[] = [];

ava.after.always('the fixture and the browser are ended', () => scope.end());

test.serial('how a node reaches its peers is told by its agent, by names and without addresses', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  fixture = await startFixture(scope);
  await fixture.rest.post('/clusters', { name: 'red' });
  const office = await fixture.internet.nat('udp-blocked');
  const machines = [
    await fixture.internet.host('one'),
    await fixture.internet.host('other'),
    await office.machine('behind'),
  ];
  [one, other, behind] = await Promise.all(machines.map((machine) => fixture.member(machine, 'red')));
  const members = [one, other, behind] as [Member, Member, Member];
  await connected(...members);
  for (const [index, name] of ['one', 'other', 'behind'].entries())
    await fixture.rest.post(`/nodes/${members[index]?.node}/aliases`, { name });
  for (const peer of [members[1], members[2]]) await reaches(members[0], nodeName(peer, 'red'));
  await reaches(members[0], 'gateway.red.edge.internal');
  await fixture.untilPath(members[0], members[1], 'direct', DIRECT_MS_MAX);
  await fixture.untilPath(members[0], members[2], 'relayed', DIRECT_MS_MAX);

  const answer = await until('its agent to say so', async () => {
    const { data, text } = await fixture.rest.call<NodePathsResource>('GET', `/nodes/${members[0].node}/paths`);
    const isKnown = data?.paths.map(({ path }) => path).join() === 'direct,relayed,direct';
    if (!isKnown) throw new Error(text);
    t.notRegex(text, /100\.64\.|fd[0-9a-f]{2}:/u);
    return data;
  });

  t.like(answer, { node_id: members[0].node, cluster_name: 'red', problem: null });
  t.deepEqual(
    answer.paths.map(({ node_id: id, name, status, path }) => [id, name, status, path]),
    [
      [null, null, null, 'direct'],
      [members[2].node, 'behind', 'healthy', 'relayed'],
      [members[1].node, 'other', 'healthy', 'direct'],
    ],
  );
  t.true(answer.paths.every(({ handshake_age_seconds: age }) => age !== null && age < 600));
});

test.serial('the page of a node shows them, each leads to its own, and that of a cluster shows all', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const browser = await startBrowser(scope);
  const place = { browser, url: fixture.url };
  const { page, problems } = await openPage(t, place, `/console/nodes/${one?.node}`, { bypassCSP: true }); // for axe
  await signIn(page);
  await heading(page, 'one');

  const peers = page.getByRole('region', { name: 'How they are reached' });
  const rows = peers.locator('tbody tr');
  const wanted = ['the gateway directAGE ago', 'behind relayedAGE ago', 'other directAGE ago'];
  const seesPeers = async (): Promise<true> => {
    await rows.first().waitFor();
    const shown = (await rows.allTextContents()).map((row) => row.replace(/\d+ (?:s|min) ago$/u, 'AGE ago'));
    if (isDeepStrictEqual(shown, wanted)) return true;
    await page.reload(); // a path that a busy machine has relayed for a while comes back
    throw new Error(shown.join());
  };
  await until('its peers', seesPeers, DIRECT_MS_MAX);
  await page.getByText('2 direct, 1 relayed, 0 without a path.').waitFor();
  await looksWell(t, page, 'a node in a VPN');
  await enter(page, rows.nth(2).getByRole('link'));
  await heading(page, 'other');
  t.true(page.url().endsWith(String(other?.node)));

  await page.goto(`${fixture.url}/console/clusters/red`);
  await enter(page, page.getByRole('button', { name: 'Look now' }));
  const row = page.locator('.matrix tbody tr', { has: page.getByRole('rowheader', { name: 'one', exact: true }) });
  await row.locator('td[title^="other: direct, handshake"]').waitFor();
  await row.locator('td[title^="behind: relayed, handshake"]').waitFor();
  await row.locator('td[title^="gateway: direct, handshake"]').waitFor();
  await looksWell(t, page, 'a cluster with its matrix');
  t.truthy(behind);
  t.deepEqual(problems, []);
});
