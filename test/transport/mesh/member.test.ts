/** Members on machines of a real internet of namespaces: how packets go from one to another, and what becomes of connections when that changes. */
import { startInternet, type Internet, type Machine } from '../../support/networks/internet.ts';
import { mapOfRelays, pinged, readPing, startMesh, startRelayOn, untilPath, type TestMember, type TestRelay } from '../../support/mesh/members.ts';
import { peerTest } from '../../support/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping');

/** What a direct path may take to be noticed as dead and replaced, in ms. Source: the promise of at most 20 s. */
const CUT_MS_MAX = 20_000;

interface World {
  readonly internet: Internet;
  readonly relay: TestRelay;
  readonly hub: Machine;
  readonly mesh: ReturnType<typeof startMesh>;
}

async function startWorld(scope: Scope): Promise<World> {
  const internet = await startInternet(scope);
  const hub = await internet.host('hub');
  const relay = await startRelayOn(hub, 900);
  return { internet, hub, relay, mesh: startMesh(scope, () => mapOfRelays([relay])) };
}

/** Sends so many packets and waits for the answers: none may be missing. */
async function answered(one: TestMember, other: TestMember, count = 10): Promise<boolean> {
  const { sent, received } = await pinged(one, other, count);
  return sent === count && received === count;
}

/** A TCP connection through the mesh that carries a line each 100 ms, both ways. */
async function startTalk(from: TestMember, to: TestMember): Promise<{ lines(): number; isOpen(): boolean }> {
  const server = to.machine.spawn(process.execPath, ['-e', `require('net').createServer((s) => s.on('error', () => {}).pipe(s)).listen(7000, '${to.ipv4}', () => console.log('{"msg":"listening"}'))`]);
  await server.logged('listening');
  const client = from.machine.spawn(process.execPath, ['-e', `
    const s = require('net').connect(7000, '${to.ipv4}', () => setInterval(() => s.write('.'), 100));
    s.on('data', (d) => process.stdout.write(d.toString())).on('error', (e) => { console.log('!' + e.code); process.exit(1); }).on('close', () => process.exit(1));
  `]);
  const talk = { lines: () => client.output.length, isOpen: () => client.exit === null };
  await until('a talk over TCP', () => talk.lines() > 3);
  return talk;
}

async function goesOn(talk: { lines(): number; isOpen(): boolean }): Promise<boolean> {
  const before = talk.lines();
  await until('the talk goes on', () => talk.lines() > before + 5 || !talk.isOpen());
  return talk.isOpen();
}

test.serial('on one LAN packets go directly, by its own addresses', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const nat = await internet.nat('hard');
  const [one, other] = [await mesh.join(await nat.machine('one'), nat.address), await mesh.join(await nat.machine('other'), nat.address)];

  await untilPath(one, other, 'direct');

  const { stdout } = await one.machine.run('wg', ['show', one.interfaceName, 'endpoints']);
  t.true(stdout.includes(`${other.machine.address}:`));
  t.true(await answered(one, other));
});

test.serial('behind easy NATs packets go directly soon, and none is lost when they move there from the relay', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const [left, right] = [await internet.nat('easy'), await internet.nat('easy')];
  const [one, other] = [await mesh.join(await left.machine('one'), left.address), await mesh.join(await right.machine('other'), right.address)];
  await until('the first packet', async () => (await pinged(one, other, 1)).received === 1);
  const flood = pinged(one, other, 200, 0.02);

  await untilPath(one, other, 'direct');

  const { sent, received, gapMs } = await flood;
  t.true(received >= sent - 2, `${received} of ${sent}`);
  t.true(gapMs < 2_000, `${gapMs} ms`);
});

test.serial('where NATs are hard, or UDP does not pass, packets are relayed', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const [hard, blocked, easy] = [await internet.nat('hard'), await internet.nat('udp-blocked'), await internet.nat('easy')];
  const one = await mesh.join(await hard.machine('one'), hard.address);
  const other = await mesh.join(await blocked.machine('other'), blocked.address);
  const third = await mesh.join(await easy.machine('third'), easy.address);

  await Promise.all([untilPath(one, other, 'relayed'), untilPath(one, third, 'relayed'), untilPath(other, third, 'relayed')]);

  t.true(await answered(one, other));
  t.true(await answered(one, third));
  t.true(await answered(other, third));
});

test.serial('behind a hard NAT a machine with a public address is reached directly', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const hard = await internet.nat('hard');
  const one = await mesh.join(await hard.machine('one'), hard.address);
  const other = await mesh.join(await internet.host('open'));

  await untilPath(one, other, 'direct');

  t.true(await answered(one, other));
});

test.serial('a direct path that is cut gives way to the relay within 20 s, comes back, and a TCP connection lasts through both', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const [left, right] = [await internet.nat('easy'), await internet.nat('easy')];
  const [one, other] = [await mesh.join(await left.machine('one'), left.address), await mesh.join(await right.machine('other'), right.address)];
  await untilPath(one, other, 'direct');
  const talk = await startTalk(one, other);

  const cutAtMs = performance.now();
  const cut = await internet.partition(left, right);
  const before = talk.lines();
  await until('the talk over the relay', () => talk.lines() > before + 15 || !talk.isOpen());
  const tookMs = performance.now() - cutAtMs;
  await untilPath(one, other, 'relayed');
  await cut.heal();
  await mesh.nudge(one, other);
  await untilPath(one, other, 'direct');

  t.true(tookMs < CUT_MS_MAX, `${tookMs} ms`);
  t.true(await goesOn(talk));
});

test.serial('a relay that dies is replaced by another one of the map', async (t) => {
  const internet = await startInternet(t);
  const [first, second] = [await startRelayOn(await internet.host('first'), 900), await startRelayOn(await internet.host('second'), 901)];
  const relays = [first, second];
  const mesh = startMesh(t, () => mapOfRelays(relays));
  const [left, right] = [await internet.nat('hard'), await internet.nat('hard')];
  const [one, other] = [await mesh.join(await left.machine('one'), left.address), await mesh.join(await right.machine('other'), right.address)];
  await untilPath(one, other, 'relayed');
  const talk = await startTalk(one, other);
  const home = (await one.look()).place.relayRegion;

  relays.find(({ regionId }) => regionId === home)?.program.kill();

  await until('another relay', async () => {
    const { place } = await one.look();
    return place.relayRegion !== home && place.relayRegion !== null;
  });
  await untilPath(one, other, 'relayed');
  t.true(await goesOn(talk));
});

test.serial('a member that was stopped, and stands behind another address since, is reached again', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const [left, right] = [await internet.nat('easy'), await internet.nat('easy')];
  const [one, other] = [await mesh.join(await left.machine('one'), left.address), await mesh.join(await right.machine('other'), right.address)];
  await untilPath(one, other, 'direct');

  const address = await left.rebind();
  one.program.pause();
  mesh.moved(one, address);
  await new Promise((resolve) => { setTimeout(resolve, 11_000); }); // what the member takes for sleep
  one.program.resume();

  await until('answers', () => answered(one, other));
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('strangers in the interface are removed, and what was taken out of it comes back', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const lan = await internet.nat('easy');
  const [one, other] = [await mesh.join(await lan.machine('one'), lan.address), await mesh.join(await lan.machine('other'), lan.address)];
  await untilPath(one, other, 'direct');
  const peersOf = async (): Promise<string[]> => (await one.machine.run('wg', ['show', one.interfaceName, 'peers'])).stdout.split('\n').filter((line) => line !== '');
  const stranger = 'c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vyc3RyYW5nZQ4=';

  await one.machine.run('wg', ['set', one.interfaceName, 'peer', stranger, 'allowed-ips', '100.64.0.99/32', 'peer', other.publicKey, 'remove']);
  t.deepEqual(await peersOf(), [stranger]);

  await until('only the member', async () => (await peersOf()).join() === other.publicKey, 60_000);
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('a member that is killed leaves its interface, where packets go on, and takes it over at its next start', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const lan = await internet.nat('easy');
  const [one, other] = [await mesh.join(await lan.machine('one'), lan.address), await mesh.join(await lan.machine('other'), lan.address)];
  await untilPath(one, other, 'direct');
  const ping = one.machine.spawn('ping', ['-n', '-D', '-i', '0.05', '-c', '200', other.ipv4]);

  await until('answers', () => ping.output.includes('icmp_seq=20 '));
  one.program.kill();
  await one.restart();
  await untilPath(one, other, 'direct');
  await ping.exited;

  const { sent, received } = readPing(ping.output);
  t.deepEqual({ sent, received }, { sent: 200, received: 200 });
});

test.serial('a key is changed without the mesh being lost, and a member that leaves takes its interface with it', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const [left, right] = [await internet.nat('easy'), await internet.nat('easy')];
  const [one, other] = [await mesh.join(await left.machine('one'), left.address), await mesh.join(await right.machine('other'), right.address)];
  await untilPath(one, other, 'direct');

  await one.rotate();
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));

  await one.close(false);
  await t.throwsAsync(one.machine.run('ip', ['link', 'show', one.interfaceName]));
});

test.serial('an interface that is lost is made again, and said to be missing meanwhile', async (t) => {
  const { internet, mesh } = await startWorld(t);
  const lan = await internet.nat('easy');
  const [one, other] = [await mesh.join(await lan.machine('one'), lan.address), await mesh.join(await lan.machine('other'), lan.address)];
  await untilPath(one, other, 'direct');

  await one.machine.run('ip', ['link', 'del', one.interfaceName]);

  await until('a problem', async () => (await one.look()).problem !== null);
  await until('no problem', async () => (await one.look()).problem === null);
  await untilPath(one, other, 'direct');
  t.true(await answered(one, other));
});

test.serial('without any relay two on one LAN find each other', async (t) => {
  const internet = await startInternet(t);
  const mesh = startMesh(t, () => null);
  const lan = await internet.nat('easy');
  const [one, other] = [await mesh.join(await lan.machine('one'), lan.address), await mesh.join(await lan.machine('other'), lan.address)];

  await untilPath(one, other, 'direct');

  t.true(await answered(one, other));
});

test.serial('where the system refuses an interface the reason is one sentence', async (t) => {
  const scope = createScope();
  t.teardown(() => scope.end());
  const machine = await (await startInternet(scope)).host('one');
  const program = machine.spawn('setpriv', ['--reuid=65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all', process.execPath, new URL('../../support/mesh/member-program.ts', import.meta.url).pathname, JSON.stringify({
    interfaceName: `em${process.pid % 1_000_000}n`, listenPort: 20_000, socketPath: '/nowhere', wanted: { privateKey: 'IFDFs5ZyFdVrPGJHmZzkDBq4QCaiTbJvf8SnWVFhOkg=', addresses: [], mtu: 1_280, peers: [], derpMap: null },
  })]);

  await program.exited;
  t.regex(program.output, /CAP_NET_ADMIN/u);
});
