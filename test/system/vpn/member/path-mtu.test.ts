/**
 * How long packets between two members are: as long as their direct path takes, also where it takes less than before.
 */
import ava from 'ava';
import { startInternet, type Internet } from '../../../support/networks/internet.ts';
import { ipLines } from '../wireguard/pair.ts';
import { hangAfter } from '../../../support/busy.ts';
import { mapOfRelays, startRelayOn, startVpn, untilPath, type TestMember } from '../../../support/vpn/members.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping');

const TEST_MS_MAX = 120_000;

/** Headers of a packet of ICMP over IPv4. */
const HEADER_BYTES = 28;

const scope = createScope();
let internet: Internet;
let one: TestMember;
let other: TestMember;

test.before(async () => {
  internet = await startInternet(scope);
  const relay = await startRelayOn(await internet.host('relay'), 901);
  const vpn = startVpn(scope, () => mapOfRelays([relay]));
  one = await vpn.join(await internet.host('one'));
  other = await vpn.join(await internet.host('other'));
  await untilPath(one, other, 'direct');
});

ava.after.always(() => scope.end());

/** Once both have seen their path take packets so long. */
async function untilMtu(mtu: number | null): Promise<void> {
  await until(`an MTU of ${mtu} both ways`, async () => {
    const [there, back] = await Promise.all([one.pathTo(other), other.pathTo(one)]);
    if (there?.mtu !== mtu || back?.mtu !== mtu) throw new Error(`${there?.mtu} and ${back?.mtu}`);
    return true;
  });
}

/** Whether packets so long, in one piece each, are sent and answered. */
function passes(bytes: number): Promise<boolean> {
  const words = ['-n', '-c', '3', '-i', '0.2', '-W', '2', '-M', 'do', '-s', `${bytes - HEADER_BYTES}`, other.ipv4];
  return one.machine.succeeds('ping', words);
}

/**
 * Whether packets so long are answered, and longer ones are not sent. On a busy machine a path may be taken for dead
 * for a moment, and packets are short then.
 */
async function isLongest(bytes: number): Promise<boolean> {
  await until(`packets of ${bytes} bytes`, () => passes(bytes));
  return !(await passes(bytes + 1));
}

/** Something is sent all the while, and answered. */
function talk(): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const program = from.machine.spawn('ping', ['-n', '-q', '-i', '0.05', '-s', '1000', to.ipv4]);
    scope.teardown(() => program.kill());
  }
}

test.serial('a direct path that takes long packets gets them, over IPv4 and IPv6', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  await untilMtu(1_440);

  t.true(await isLongest(1_440));
  await until('the same by IPv6', () =>
    one.machine.succeeds('ping', ['-n', '-c', '2', '-W', '2', '-M', 'do', '-s', '1392', other.ipv6]),
  );
});

test.serial(
  'a path that takes less without a word has shorter packets within seconds, and none is lost then',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    talk();
    const { link } = other.machine;
    await link.setMtu(1_460); // 1,408 bytes with what WireGuard puts around are 1,468, and the bridge lets 4 more through
    await untilMtu(null);
    t.true(await isLongest(1_280));
    t.true(await one.machine.succeeds('ping', ['-n', '-c', '5', '-i', '0.2', '-W', '2', '-s', '6000', other.ipv4]));
    await link.setMtu(1_500);
  },
);

/** Routes of a member with an MTU of their own. */
async function longRoutes({ machine, interfaceName }: TestMember): Promise<readonly string[]> {
  return (await ipLines(machine, 'route', 'show', 'dev', interfaceName)).filter((line) => line.includes('mtu'));
}

test.serial('a member that was killed and starts again takes back what it left, and looks anew', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  await until('the route to the other one', async () => (await longRoutes(one)).length === 1);
  await one.machine.run('ip', [
    'route',
    'add',
    '100.64.0.99/32',
    'dev',
    one.interfaceName,
    'proto',
    '217',
    'mtu',
    '1440',
  ]);
  one.program.kill();
  t.is((await longRoutes(one)).length, 2);
  await one.restart();
  await until('nothing that was left', async () => !(await longRoutes(one)).join(' ').includes('100.64.0.99'));
  await untilPath(one, other, 'direct');
  await untilMtu(1_440);
  await until('long packets again', () => passes(1_440));
});

test.serial('a member that lets go of its interface leaves it with short packets', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  await one.close(true);
  t.deepEqual(await longRoutes(one), []);
  t.true(await isLongest(1_280));
  await one.restart();
  await untilMtu(1_440);
});

test.serial('a machine whose own way takes less sends no longer packets, and a relay takes any', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  await one.machine.run('ip', ['link', 'set', 'dev', 'eth0', 'mtu', '1470']);
  await until('the shorter length', async () => (await one.pathTo(other))?.mtu === 1_408);
  t.true(await isLongest(1_408));

  const partition = await internet.partition(one.machine, other.machine);
  await untilPath(one, other, 'relayed');
  await untilMtu(8_960);
  t.true(await isLongest(8_960));
  await partition.heal();
  await untilPath(one, other, 'direct');
  await until('packets as long as the path takes', async () => (await one.pathTo(other))?.mtu === 1_408);
});
