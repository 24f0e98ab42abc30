import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import ava from 'ava';
import { Program } from '../fleet/program.ts';
import { peerTest } from '../run/peer-test.ts';
import { createScope } from '../scope.ts';
import { until } from '../until.ts';
import { startInternet, type Internet, type Machine, type Nat } from './internet.ts';
import { namespaces } from './namespace.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'ping', 'curl');

/** Tells whoever asks, on two ports, from where the question came. */
const OBSERVER = `for (const port of [5000, 5001]) {
  const socket = require('node:dgram').createSocket('udp4').bind(port, () => console.log('observes'));
  socket.on('message', (_, { address, port }) => socket.send(address + ':' + port, port, address));
}
require('node:http').createServer((_, answer) => answer.end('served')).listen(80, () => console.log('serves'));`;

/**
 * Asks from one port at places, again and again, until all have answered; prints the answers, null where none comes in
 * this time, in ms.
 */
const REPLY_TO = `const [port, msMax, ...places] = process.argv.slice(1);
const socket = require('node:dgram').createSocket('udp4').bind(Number(port), '0.0.0.0');
const answers = places.map(() => null);
const end = () => { console.log(JSON.stringify(answers)); process.exit(); };
socket.on('message', (text, from) => {
  const index = places.indexOf(from.address + ':' + from.port);
  if (index >= 0) answers[index] = String(text);
  if (!answers.includes(null)) end();
});
const ask = () => { for (const place of places) { const [host, to] = place.split(':'); socket.send('?', Number(to), host); } };
ask(); setInterval(ask, 300); setTimeout(end, Number(msMax));`;

/**
 * Two who send to each other, from port 6000 to port 6000, for this time in ms, as one may start late: prints whether
 * the other was heard.
 */
const CALLER = `const [other, msMax] = process.argv.slice(1);
const socket = require('node:dgram').createSocket('udp4').bind(6000, '0.0.0.0');
socket.once('message', () => { console.log('heard'); socket.send('!', 6000, other, () => process.exit()); });
setInterval(() => socket.send('!', 6000, other), 100); setTimeout(() => { console.log('silence'); process.exit(); }, Number(msMax));`;

/** For these are those who will be heard waited, and those who will not, in ms. */
const [HEARD_MS_MAX, SILENCE_MS] = [60_000, 2_000];

const scope = createScope();
let internet: Internet;
let server: Machine;
let nats: Record<'easy' | 'hard' | 'udp-blocked', Nat>;
let behind: Record<'easy' | 'neighbour' | 'hard' | 'udp-blocked', Machine>;

test.before(async () => {
  internet = await startInternet(scope);
  server = await internet.host('server');
  const watching = server.spawn(process.execPath, ['-e', OBSERVER]);
  const [easy, hard, blocked] = await Promise.all([
    internet.nat('easy'),
    internet.nat('hard'),
    internet.nat('udp-blocked'),
  ]);
  nats = { easy, hard, 'udp-blocked': blocked };
  const [one, neighbour, other, third] = await Promise.all([
    easy.machine('one'),
    easy.machine('neighbour'),
    hard.machine('other'),
    blocked.machine('third'),
  ]);
  behind = { easy: one, neighbour, hard: other, 'udp-blocked': third };
  await until(
    'the observer',
    () => watching.output.includes('serves') && watching.output.split('observes').length === 3,
  );
});

ava.after.always(() => scope.end());

/** Where the server says that packets of this machine come from, at its first port and its second. */
async function seen(machine: Machine, port = 40_000, msMax = HEARD_MS_MAX): Promise<readonly (string | null)[]> {
  const { stdout } = await machine.run(process.execPath, [
    '-e',
    REPLY_TO,
    `${port}`,
    `${msMax}`,
    `${server.address}:5000`,
    `${server.address}:5001`,
  ]);
  return JSON.parse(stdout) as (string | null)[];
}

/** Whether an echo comes back. */
function pings(from: Machine, address: string): Promise<boolean> {
  return from.succeeds('ping', ['-n', '-c', '2', '-i', '0.2', '-W', '1', address]);
}

/** Whether they hear each other when both call at once. */
async function punch(
  [one, oneAddress]: readonly [Machine, string],
  [other, otherAddress]: readonly [Machine, string],
  msMax = HEARD_MS_MAX,
): Promise<string[]> {
  const said = await Promise.all([
    one.run(process.execPath, ['-e', CALLER, otherAddress, `${msMax}`]),
    other.run(process.execPath, ['-e', CALLER, oneAddress, `${msMax}`]),
  ]);
  return said.map(({ stdout }) => stdout.trim());
}

test.serial('an easy NAT keeps the port of a machine, whomever it talks to', async (t) => {
  t.deepEqual(await seen(behind.easy), [`${nats.easy.address}:40000`, `${nats.easy.address}:40000`]);
});

test.serial('a hard NAT gives another port to each whom a machine talks to', async (t) => {
  const [first, second] = await seen(behind.hard);

  t.true(first?.startsWith(`${nats.hard.address}:`) && second?.startsWith(`${nats.hard.address}:`));
  t.is(new Set([first, second, `${nats.hard.address}:40000`]).size, 3);
});

test.serial('where UDP is blocked no packet of it comes back, and TCP does', async (t) => {
  t.deepEqual(await seen(behind['udp-blocked'], 40_000, SILENCE_MS), [null, null]);
  t.is((await behind['udp-blocked'].run('curl', ['-s', '-m', '20', `http://${server.address}/`])).stdout, 'served');
});

test.serial(
  'machines on one LAN reach each other; from the internet nobody reaches them, nor do they from there',
  async (t) => {
    t.true(await pings(behind.easy, behind.neighbour.address));
    t.false(await pings(server, behind.easy.address));
    t.false(await pings(server, nats.easy.address));
    t.true(await pings(behind.easy, server.address));
  },
);

test.serial(
  'two behind easy NATs hear each other when both call at once; one behind a hard NAT is not heard',
  async (t) => {
    const far = await internet.nat('easy');
    const other = await far.machine('far');

    t.deepEqual(await punch([behind.easy, nats.easy.address], [other, far.address]), ['heard', 'heard']);
    t.true(
      (await nats.easy.mappings()).some((line) =>
        line.includes(`src=${behind.easy.address} dst=${far.address} sport=6000 dport=6000`),
      ),
    );
    t.deepEqual(await punch([behind.neighbour, nats.easy.address], [behind.hard, nats.hard.address], SILENCE_MS), [
      'silence',
      'silence',
    ]);
  },
);

test.serial('a cut cable loses all packets, or those of one way, until it is restored', async (t) => {
  const { link } = behind.easy;

  await link.cut();
  t.deepEqual(
    [await pings(behind.easy, behind.neighbour.address), await pings(behind.easy, server.address)],
    [false, false],
  );
  await link.restore();
  t.true(await pings(behind.easy, server.address));

  await server.link.cut('out');
  t.deepEqual(await seen(behind.easy, 40_001, SILENCE_MS), [null, null]);
  t.true((await nats.easy.mappings()).some((line) => line.includes('sport=40001') && line.includes('[UNREPLIED]')));
  await server.link.restore();
  t.true(await pings(behind.easy, server.address));
});

test.serial('a partition keeps two apart and nobody else, one way where that is said, until it heals', async (t) => {
  const third = await internet.host('third-party');
  const partition = await internet.partition(nats.easy, server);

  t.deepEqual(
    [
      await pings(behind.easy, server.address),
      await pings(behind.easy, third.address),
      await pings(third, server.address),
    ],
    [false, true, true],
  );
  await partition.heal();
  t.true(await pings(behind.easy, server.address));

  const received = async (): Promise<number> =>
    Number((await third.run('cat', ['/sys/class/net/eth0/statistics/rx_packets'])).stdout);
  const oneWay = await internet.partition(third, server, { isOneWay: true });
  const before = await received();
  t.false(await pings(server, third.address));
  t.true((await received()) - before >= 2);
  await oneWay.heal();
  t.true(await pings(server, third.address));
  await t.throwsAsync(internet.partition(behind.easy, server), { message: /do not stand at the same switch/u });
});

test.serial(
  'a machine with a changed address answers only there; a rebound NAT has a new address and forgets all ports',
  async (t) => {
    const before = behind.easy.address;
    const after = await behind.easy.changeAddress();
    t.not(after, before);
    t.deepEqual(
      [
        await pings(behind.neighbour, after),
        await pings(behind.neighbour, before),
        await pings(behind.easy, server.address),
      ],
      [true, false, true],
    );

    const [easyBefore, hardBefore] = [await seen(behind.easy), await seen(behind.hard)];
    await Promise.all([nats.easy.rebind(), nats.hard.rebind()]);
    const [easyAfter, hardAfter] = [await seen(behind.easy), await seen(behind.hard)];
    t.deepEqual(easyAfter, [`${nats.easy.address}:40000`, `${nats.easy.address}:40000`]);
    t.is(new Set([...easyBefore, ...easyAfter, ...hardBefore, ...hardAfter]).size, 6);
  },
);

test.serial('a machine has its own names and sockets, and those of this machine stay as they are', async (t) => {
  const before = readFileSync('/etc/hosts', 'utf8');

  await behind.easy.run('sh', [
    '-c',
    `echo '${server.address} written.example' >> /etc/hosts; touch /run/wireguard/mine.sock`,
  ]);

  t.is((await behind.easy.run('curl', ['-s', '-m', '20', 'http://written.example/'])).stdout, 'served');
  t.is((await behind.easy.run('curl', ['-s', '-m', '20', 'http://server.example/'])).stdout, 'served');
  t.true((await behind.easy.hosts()).endsWith(`${server.address} written.example\n`));
  t.is(readFileSync('/etc/hosts', 'utf8'), before);
  t.false(existsSync('/run/wireguard/mine.sock'));
  t.deepEqual((await behind.easy.run('ls', ['/sys/class/net'])).stdout.trim().split('\n').sort(), ['eth0', 'lo']);
});

test.serial('at its end an internet is gone with all programs in it, also those that nobody waits for', async (t) => {
  const own = createScope();
  const machine = await (await startInternet(own)).host('short-lived');
  const left = () =>
    namespaces().filter((name) => name.startsWith(`edgenet-${process.pid}-`) && name.endsWith('-short-lived'));
  t.is(left().length, 1);
  await machine.run('sh', [
    '-c',
    'setsid sleep 471.11 > /dev/null 2>&1 & trap "" TERM; setsid sh -c "trap : TERM; while :; do sleep 0.1; done" > /dev/null 2>&1 &',
  ]);

  await own.end();

  t.deepEqual(left(), []);
  t.false(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes('sleep 471.11'));
});

test.serial(
  'what a killed test left behind is removed soon after, though no other begins: namespaces, programs and files',
  async (t) => {
    const own = createScope();
    const script = `import { startInternet } from '${import.meta.dirname}/internet.ts';
    const internet = await startInternet({ teardown() {} });
    const machine = await internet.host('orphan');
    await machine.run('sh', ['-c', 'setsid sleep 471.12 > /dev/null 2>&1 &']);
    console.log(JSON.stringify({ msg: 'made', directory: machine.directory }));
    setInterval(() => {}, 1000);`;
    const killed = Program.run(own, process.execPath, ['--input-type=module', '-e', script]);
    const { directory } = await killed.logged('made');
    const left = () => namespaces().filter((name) => name.includes(`-${killed.pid}-`));
    t.is(left().length, 2);

    killed.kill();
    await killed.ended();

    await until('all of it to be gone', () => left().length === 0 && !existsSync(String(directory)));
    t.false(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes('sleep 471.12'));
    await own.end();
  },
);
