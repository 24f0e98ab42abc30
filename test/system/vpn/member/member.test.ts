/**
 * Members on machines of a real internet of namespaces: how packets go from one to another, and what becomes of
 * connections when that changes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import ava from 'ava';
import { startInternet } from '../../../support/networks/internet.ts';
import { echoWords, lostEchoes, lostOf, strayLostMax } from '../../../support/networks/echoes.ts';
import { mapOfRelays, startVpn, startRelayOn, untilPath, type TestMember } from '../../../support/vpn/members.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { scaled } from '../../../support/busy.ts';
import { startEverybody, startTalk, type Everybody } from './everybody.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping', 'setpriv');

/** What a direct path may take to be noticed as dead and replaced, in ms. Source: the promise of at most 20 s. */
const CUT_MS_MAX = 20_000;

/**
 * Echoes that a relayed pair may lose while a direct path is tried: one that is said in the moment of a probe leaves by
 * it. Source: docs/decisions/vpn-paths.md, measured.
 */
const PROBE_LOST_MAX = 1;

const scope = createScope();
let fixture: Everybody;

test.before(async () => {
  fixture = await startEverybody(scope);
});

ava.after.always(() => scope.end());

/**
 * Sends so many packets and waits for the answers: no more than `lostMax` may be missing. The first one has time for a
 * handshake, which WireGuard tries again only after 5 s where two crossed or one was lost.
 */
async function answered(one: TestMember, other: TestMember, count = 10, lostMax = 0): Promise<boolean> {
  await until(`${one.machine.name} hears ${other.machine.name}`, () =>
    one.machine.succeeds('ping', ['-n', '-c', '1', '-W', '2', other.ipv4]),
  );
  return (await lostEchoes(one.machine, other.ipv4, count)) <= Math.max(lostMax, strayLostMax());
}

test.serial('packets go directly wherever one of two can be reached, and over the relay elsewhere', async (t) => {
  const { near, neighbour, easy, hard, blocked, open } = fixture;

  await Promise.all([
    untilPath(near, neighbour, 'direct'),
    untilPath(near, easy, 'direct'),
    untilPath(neighbour, open, 'direct'),
    untilPath(easy, open, 'direct'),
    untilPath(hard, open, 'direct'),
    untilPath(near, hard, 'relayed'),
    untilPath(easy, blocked, 'relayed'),
    untilPath(hard, blocked, 'relayed'),
    untilPath(open, blocked, 'relayed'),
  ]);

  for (const [one, other] of [
    [near, neighbour],
    [near, easy],
    [open, hard],
  ] as const)
    t.true(await answered(one, other, 5), `${one.machine.name} ${other.machine.name}`);
  for (const [one, other] of [
    [near, hard],
    [hard, blocked],
    [open, blocked],
  ] as const)
    t.true(await answered(one, other, 5, PROBE_LOST_MAX), `${one.machine.name} ${other.machine.name}`);
  // On one LAN by its own addresses.
  t.true(
    (await near.machine.run('wg', ['show', near.interfaceName, 'endpoints'])).stdout.includes(
      `${neighbour.machine.address}:`,
    ),
  );
});

test.serial(
  'a direct path that is cut gives way to the relay within 20 s, comes back, and a TCP connection lasts through both',
  async (t) => {
    const { easy: one, near: other, office: left, home: right, vpn, internet } = fixture;
    await untilPath(one, other, 'direct');
    const talk = await startTalk(one, other);

    const cut = await internet.partition(left, right);
    const cutAtMs = performance.now(); // a busy machine takes its time to cut, which is none of the path's
    await until(
      'the relay',
      async () => (await one.pathTo(other))?.path === 'relayed' || (await other.pathTo(one))?.path === 'relayed',
    );
    const tookMs = performance.now() - cutAtMs;
    await untilPath(one, other, 'relayed');
    t.true(await talk.goesOn());
    await cut.heal();
    await vpn.nudge(one, other);
    await untilPath(one, other, 'direct');

    t.true(tookMs < scaled(CUT_MS_MAX), `${tookMs} ms`);
    t.true(await talk.goesOn());
  },
);

test.serial('a relay that dies is replaced by another one of the map', async (t) => {
  const internet = await startInternet(t);
  const [first, second] = [
    await startRelayOn(await internet.host('first'), 900),
    await startRelayOn(await internet.host('second'), 901),
  ];
  const relays = [first, second];
  const vpn = startVpn(t, () => mapOfRelays(relays));
  const [left, right] = [await internet.nat('hard'), await internet.nat('hard')];
  const [one, other] = [
    await vpn.join(await left.machine('one'), left.address),
    await vpn.join(await right.machine('other'), right.address),
  ];
  await untilPath(one, other, 'relayed');
  const talk = await startTalk(one, other);
  const home = (await one.look()).place.relayRegion;

  relays.find(({ regionId }) => regionId === home)?.program.kill();

  await until('another relay', async () => {
    const { place } = await one.look();
    return place.relayRegion !== home && place.relayRegion !== null;
  });
  await untilPath(one, other, 'relayed');
  t.true(await talk.goesOn());
});

test.serial('a member that was stopped, and stands behind another address since, is reached again', async (t) => {
  const { easy: one, near: other, office: left, vpn } = fixture;
  await untilPath(one, other, 'direct');

  const address = await left.rebind();
  one.program.pause();
  vpn.moved(one, address);
  await delay(11_000); // what the member takes for sleep
  one.program.resume();

  await until('answers', () => answered(one, other));
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('strangers in the interface are removed, and what was taken out of it comes back', async (t) => {
  const { neighbour: one, near: other } = fixture;
  await untilPath(one, other, 'direct');
  const keys = async (): Promise<string[]> =>
    (await one.machine.run('wg', ['show', one.interfaceName, 'peers'])).stdout.trim().split('\n');
  const stranger = 'c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vyc3RyYW5nZQ4=';

  const words = ['peer', stranger, 'allowed-ips', '100.64.0.99/32', 'peer', other.publicKey, 'remove'];
  await one.machine.run('wg', ['set', one.interfaceName, ...words]);
  const before = await keys();

  await until(
    'the members alone',
    async () => {
      const peers = await keys();
      return !peers.includes(stranger) && peers.includes(other.publicKey);
    },
    60_000,
  );
  t.deepEqual([before.includes(stranger), before.includes(other.publicKey)], [true, false]);
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial(
  'a member that is killed leaves its interface, where packets go on, and takes it over at its next start',
  async (t) => {
    const { neighbour: one, near: other } = fixture;
    await untilPath(one, other, 'direct');
    const ping = one.machine.spawn('ping', echoWords(other.ipv4, 200, 0.05));

    await until('answers', () => ping.output.includes('icmp_seq=20 '));
    one.program.kill();
    await one.restart();
    await untilPath(one, other, 'direct');
    await ping.ended();

    const lost = lostOf(ping.output, 200);
    t.true(lost <= strayLostMax(), `${lost} lost`);
  },
);

test.serial('a key is changed without the VPN being lost', async (t) => {
  const { neighbour: one, near: other } = fixture;
  await untilPath(one, other, 'direct');

  await one.rotate();
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('an interface that is lost is made again, and said to be missing meanwhile', async (t) => {
  const { neighbour: one, near: other } = fixture;
  await untilPath(one, other, 'direct');

  await one.machine.run('ip', ['link', 'del', one.interfaceName]);

  await until('a problem', async () => (await one.look()).problem !== null);
  await until('no problem', async () => (await one.look()).problem === null);
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('a member that leaves takes its interface with it, one that only ends leaves it', async (t) => {
  const { hard, blocked } = fixture;

  await hard.close(false);
  await blocked.close(true);

  await t.throwsAsync(hard.machine.run('ip', ['link', 'show', hard.interfaceName]));
  await t.notThrowsAsync(blocked.machine.run('ip', ['link', 'show', blocked.interfaceName]));
});

test.serial('without any relay two on one LAN find each other', async (t) => {
  const internet = await startInternet(t);
  const vpn = startVpn(t, () => null);
  const lan = await internet.nat('easy');
  const [one, other] = [
    await vpn.join(await lan.machine('one'), lan.address),
    await vpn.join(await lan.machine('other'), lan.address),
  ];

  await untilPath(one, other, 'direct');

  t.true(await answered(one, other));
});

test.serial('where the system refuses an interface the reason is one sentence', async (t) => {
  const machine = await (await startInternet(t)).host('one');
  const program = machine.spawn('setpriv', [
    '--reuid=65534',
    '--clear-groups',
    '--inh-caps=-all',
    '--bounding-set=-all',
    process.execPath,
    new URL('../../../support/vpn/member-program.ts', import.meta.url).pathname,
    JSON.stringify({
      interfaceName: `em${process.pid % 1_000_000}n`,
      listenPort: 20_000,
      socketPath: '/nowhere',
      wanted: {
        privateKey: 'IFDFs5ZyFdVrPGJHmZzkDBq4QCaiTbJvf8SnWVFhOkg=',
        addresses: [],
        mtu: 1_280,
        peers: [],
        derpMap: null,
      },
    }),
  ]);

  await program.ended();
  t.regex(program.output, /CAP_NET_ADMIN/u);
});
