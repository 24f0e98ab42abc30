/**
 * The admin in the VPNs of its clusters: nodes are reached through them, and members reach its listeners and nothing
 * else, nor each other's VPNs.
 */
import ava from 'ava';
import type { AdminMetricsResource } from '../../../api/metrics/resource.ts';
import { gatewayInterface } from '../../../transport/vpn/gateway/open-gateway.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import {
  connected,
  peersOf,
  startFixture,
  type Fixture,
  type Member,
  type SeenPeer,
} from '../../support/vpn/fixture.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'curl', 'wg', 'wireguard-go');

/** All tests of one fixture, on a busy machine, in ms. */
const TEST_MS_MAX = 300_000;

/** Between two questions, in ms: an interface that is lost is back within seconds. */
const ASK_EVERY_MS = 100;

/** An address of the admin's machine that is in no VPN of a cluster. */
const INNER = '10.99.0.1';

const scope = createScope();
let fixture: Fixture;
let red: Member;
let blue: Member;
let gateway: string;

test.before(async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  fixture = await startFixture(scope);
  await fixture.rest.post('/clusters', { name: 'red', ipv4_range: '10.71.0.0/24' });
  await fixture.rest.post('/clusters', { name: 'blue', ipv4_range: '10.72.0.0/24' });
  const { internet, host } = fixture;
  [red, blue] = await Promise.all([
    fixture.member(await internet.host('one'), 'red'),
    fixture.member(await internet.host('two'), 'blue'),
  ]);
  await connected(red, blue);
  const [admin] = await fixture.sql<{ id: string }>('select id from admin');
  gateway = gatewayInterface(admin?.id ?? '');
  // A machine that forwards for others, and that has more addresses than one.
  await host.run('sh', [
    '-c',
    `echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; ip address add ${INNER}/32 dev lo`,
  ]);
  await Promise.all([red, blue].map((member) => inVpn(member)));
  // A path begins at the relay. Later an agent stands still, and what its relay needs with it.
  await until(
    'direct paths',
    async () =>
      (await metrics()).mesh?.peers_by_path['direct'] === 2 &&
      (await Promise.all([red, blue].map((member) => isDirect(member)))).every(Boolean),
    90_000,
  );
});

ava.after.always(() => scope.end());

/** What the admin says of itself. */
async function metrics(): Promise<AdminMetricsResource> {
  return fixture.rest.get<AdminMetricsResource>('/admins/me/metrics');
}

/** The status of an answer for which the admin must reach into the node, and how many bytes of it travel, packed. */
async function scrape({ node }: Member): Promise<readonly [number, number]> {
  const answer = await fetch(`${fixture.url}/api/v1/nodes/${node}/metrics/host/raw`, {
    headers: { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}` },
  });
  await answer.text();
  return [answer.status, Number(answer.headers.get('content-length'))];
}

/** A member as a peer of the gateway. */
async function inGateway(member: Member): Promise<SeenPeer | undefined> {
  const key = await fixture.keyOf(member);
  return (await peersOf(fixture.host, gateway)).find(({ publicKey }) => publicKey === key);
}

async function gatewayKey(): Promise<string> {
  const [row] = await fixture.sql<{ key: string }>('select distinct public_key as key from mesh_gateway');
  return row?.key ?? '';
}

async function inVpn(member: Member): Promise<void> {
  await until(
    `the gateway to shake hands with ${member.machine.name}`,
    async () => ((await inGateway(member))?.handshakeSeconds ?? 0) > 0,
    60_000,
  );
}

/** Whether a member speaks to the gateway directly, as its WireGuard shows it. */
async function isDirect(member: Member): Promise<boolean> {
  const key = await gatewayKey();
  return (await member.peers()).some(({ publicKey, path }) => publicKey === key && path === 'direct');
}

/** Whether a web server answers there. */
async function answers({ machine }: Member, url: string): Promise<boolean> {
  return machine.succeeds('curl', ['-s', '-o', '/dev/null', '-m', '3', url]);
}

test.serial('a node is reached through the VPN, by packets of WireGuard', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const received = async (): Promise<number> => (await inGateway(red))?.receivedBytes ?? 0;
  await until(
    'a tunnel through the VPN',
    async () => (await scrape(red))[0] === 200 && ((await metrics()).tunnels.opened_by_path['mesh'] ?? 0) > 0,
  );

  // What was asked for before the gateway knew of its way came beside the VPN; from now on it comes through.
  const length = await until('an answer in packets of WireGuard', async () => {
    const before = await received();
    const [, answerLength] = await scrape(red);
    return (await received()) - before > answerLength ? answerLength : null;
  });

  const { tunnels, mesh } = await metrics();
  t.is(tunnels.opened_by_path['mesh'], 1);
  t.true(length > 5_000);
  t.like(mesh, { networks_joined: 2, networks_left_out: 0 });
  t.deepEqual((await fixture.sql<{ n: number }>('select count(*)::int as n from mesh_gateway'))[0]?.n, 2);
});

test.serial(
  'members reach no service of the admin through the VPN, whichever of its addresses they take',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const livezUrl = `http://${fixture.host.address}:44000/livez`;
    await until('an answer of the admin', () => answers(red, livezUrl));

    await hostile(red, ['10.71.0.0/24', `${INNER}/32`]);

    await until('an echo of the gateway', () => pings(red, '10.71.0.1'));
    for (const url of [
      'http://10.71.0.1:44000/livez',
      'http://10.71.0.1:43128/',
      `http://${INNER}:44000/livez`,
      'http://10.72.0.1:44000/livez',
    ])
      t.false(await answers(red, url), url);
    // Whoever is there without the firewall: the very same request inside of the machine.
    await fixture.host.run('curl', ['-s', '-o', '/dev/null', '-m', '20', `http://${INNER}:44000/livez`]);
    await until('an answer of the admin as before', () => answers(red, livezUrl));
  },
);

test.serial(
  'members of two VPNs do not reach each other through the gateway of both, on a machine that forwards',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const [v6Red, v6Blue] = await Promise.all(
      ['red', 'blue'].map(
        async (name) => (await fixture.rest.get<{ ipv6_range: string }>(`/clusters/${name}`)).ipv6_range,
      ),
    );
    await hostile(red, ['10.71.0.0/24', '10.72.0.0/24', v6Red ?? '', v6Blue ?? '']);
    await hostile(blue, ['10.71.0.0/24', '10.72.0.0/24', v6Red ?? '', v6Blue ?? '']);
    const blueV6 = `${(v6Blue ?? '').split('/')[0]}2`;

    await until('an echo of the gateway for red', () => pings(red, '10.71.0.1'));
    await until('an echo of the gateway for blue', () => pings(blue, '10.72.0.1'));
    t.false(await pings(red, '10.72.0.2'));
    t.false(await pings(blue, '10.71.0.2'));
    t.false(await pings(red, blueV6));
  },
);

test.serial('without the interface nodes are reached beside the VPN, and through it once it is back', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  // Before the first answer: its tunnel may be beside the VPN already, and then there is no need for another.
  const before = (await metrics()).tunnels.opened_by_path;
  for (const { program } of [red, blue]) program.resume();
  await until('a session after the stall', async () => (await scrape(blue))[0] === 200);
  await fixture.host.run('ip', ['link', 'delete', gateway]);

  // Asked on and on: one that waits for the tunnel in the VPN may wait until the interface is back. Those that fail
  // meanwhile say nothing: the answer is looked for below.
  const asking = setInterval(() => void scrape(blue).catch(() => {}), ASK_EVERY_MS);
  await until(
    'a tunnel beside the VPN',
    async () => ((await metrics()).tunnels.opened_by_path['url'] ?? 0) > (before['url'] ?? 0),
  ).finally(() => clearInterval(asking));
  await until('an answer', async () => (await scrape(blue))[0] === 200);

  await until('the interface to be back', async () => (await peersOf(fixture.host, gateway)).length === 2, 60_000);
  await until('an answer of the other', async () => (await scrape(red))[0] === 200);
  t.pass();
});

test.serial('an admin that ends leaves neither interface nor rules', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const nft = await peerPath('nft'); // the path leads to another program of this name
  t.regex((await fixture.host.run(nft, ['list', 'tables'])).stdout, new RegExp(gateway, 'u'));

  fixture.admin.terminate();
  await fixture.admin.ended();

  t.is((await fixture.host.run(nft, ['list', 'tables'])).stdout.trim(), '');
  t.false((await fixture.host.run('ip', ['-brief', 'link'])).stdout.includes(gateway));
  t.notRegex(fixture.adminRuns.map(({ output }) => output).join('\n'), /10\.7[12]\.0\.\d/u);
});

/**
 * Its agent stands still, and whoever has root there sends everything of these ranges to the gateway, and takes
 * everything from it.
 */
async function hostile(member: Member, ranges: readonly string[]): Promise<void> {
  member.program.pause();
  const name = member.interfaceName();
  await member.machine.run('wg', ['set', name, 'peer', await gatewayKey(), 'allowed-ips', ranges.join(',')]);
  for (const range of ranges) await member.machine.run('ip', ['route', 'replace', range, 'dev', name]);
}

function pings({ machine }: Member, address: string): Promise<boolean> {
  return machine.succeeds('ping', ['-c', '3', '-i', '0.3', '-W', '1', address]);
}
