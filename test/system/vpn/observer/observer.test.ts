/** What the observer sees of real WireGuard, behind real NATs. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ava from 'ava';
import { generateKeyPairSync } from 'node:crypto';
import type { ObserverCounters } from '../../../../transport/vpn/observer/counters.ts';
import type { ObserverPlace } from '../../../../transport/vpn/observer/observer.ts';
import type { Place } from '../../../../transport/vpn/observer/observed-endpoints.ts';
import type { Program } from '../../../support/fleet/program.ts';
import { startInternet, type Internet, type Machine, type Nat } from '../../../support/networks/internet.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wg', 'wireguard-go');

/** Seconds between two signs of life, in place of 25. */
const KEEPALIVE_S = 2;

interface Line {
  readonly places?: readonly ObserverPlace[];
  readonly seen?: Place & { readonly publicKey: string };
  readonly packets?: ObserverCounters['packets'];
}

const members = { easy: keys(), neighbour: keys(), hard: keys(), open: keys(), moving: keys() };
const stranger = keys();
const scope = createScope();
let internet: Internet;
let server: Machine;
let observer: Program;
let places: readonly ObserverPlace[];

test.before(async () => {
  internet = await startInternet(scope);
  server = await internet.host('server');
  observer = server.spawn(process.execPath, [
    join(import.meta.dirname, 'observer-program.ts'),
    ...Object.values(members).map(({ publicKey }) => publicKey),
  ]);
  places = await until('the observer', () => lines().find((line) => line.places !== undefined)?.places);
});

ava.after.always(() => scope.end());

test('a machine behind a NAT is seen where the NAT sends from, the same at both ports', async (t) => {
  const nat = await internet.nat('easy');
  const port = await listen(await nat.machine('easy'), members.easy);

  const place = await told(members.easy.publicKey);

  t.deepEqual(place, { endpoint: `${nat.address}:${port}`, isStable: true });
  t.deepEqual(await mappedPorts(nat), [port, port]);
});

test("a machine whose key is nobody's gets no answer, also behind the NAT of a member", async (t) => {
  const nat = await internet.nat('easy');
  const other = await nat.machine('other');
  const port = await listen(await nat.machine('neighbour'), members.neighbour);
  t.deepEqual(await told(members.neighbour.publicKey), { endpoint: `${nat.address}:${port}`, isStable: true });

  await listen(other, stranger);

  await until('the stranger', async () => (await packets()).stranger > 1);
  t.deepEqual(
    lines().filter(({ seen }) => seen?.publicKey === stranger.publicKey),
    [],
  );
  t.deepEqual(await latestHandshakes(other), ['0', '0']);
});

test('a NAT that takes another port for each target is told apart', async (t) => {
  const nat = await internet.nat('hard');
  await listen(await nat.machine('hard'), members.hard);

  const place = await told(members.hard.publicKey);

  t.is(place.isStable, false);
  t.is(place.endpoint.split(':')[0], nat.address);
  const ports = await mappedPorts(nat);
  t.is(new Set(ports).size, 2);
  t.true(ports.includes(Number(place.endpoint.split(':')[1])));
});

test('a machine without a NAT is seen at its own address and port', async (t) => {
  const machine = await internet.host('open');
  const port = await listen(machine, members.open);

  t.deepEqual(await told(members.open.publicKey), { endpoint: `${machine.address}:${port}`, isStable: true });
});

test('a machine whose NAT gets another address is seen there with its next sign of life', async (t) => {
  const nat = await internet.nat('easy');
  const machine = await nat.machine('moving');
  const port = await listen(machine, members.moving);
  const before = await told(members.moving.publicKey);
  t.is(before.endpoint, `${nat.address}:${port}`);
  const handshakes = await latestHandshakes(machine);

  const address = await nat.rebind();

  const after = await told(members.moving.publicKey, ({ endpoint }) => endpoint.startsWith(`${address}:`));
  t.deepEqual(after, { endpoint: `${address}:${port}`, isStable: true });
  t.deepEqual(await latestHandshakes(machine), handshakes, 'without another handshake');
});

function keys(): { readonly publicKey: string; readonly privateKey: string } {
  const { privateKey } = generateKeyPairSync('x25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  return {
    publicKey: Buffer.from(x, 'base64url').toString('base64'),
    privateKey: Buffer.from(d, 'base64url').toString('base64'),
  };
}

/** Starts WireGuard with both ports of the observer as peers. Resolves with its own port. */
async function listen(machine: Machine, { privateKey }: { readonly privateKey: string }, port = 0): Promise<number> {
  const name = interfaceOf(machine);
  machine.spawn('wireguard-go', ['-f', name], { LOG_LEVEL: 'silent' });
  await until(`the interface ${name}`, () => machine.run('wg', ['show', name]));
  const file = join(machine.directory, 'key');
  await writeFile(file, `${privateKey}\n`, { mode: 0o600 });
  await machine.run('wg', [
    'set',
    name,
    'private-key',
    file,
    ...(port === 0 ? [] : ['listen-port', `${port}`]),
    ...places.flatMap((place) => [
      'peer',
      place.publicKey,
      'endpoint',
      `${server.address}:${place.port}`,
      'persistent-keepalive',
      `${KEEPALIVE_S}`,
    ]),
  ]);
  await machine.run('ip', ['link', 'set', name, 'up']);
  return Number((await machine.run('wg', ['show', name, 'listen-port'])).stdout);
}

function interfaceOf({ name }: Machine): string {
  return `ob${`${process.pid}`.slice(-6)}${name.slice(0, 5)}`;
}

async function latestHandshakes(machine: Machine): Promise<readonly (string | undefined)[]> {
  const { stdout } = await machine.run('wg', ['show', interfaceOf(machine), 'latest-handshakes']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[1]);
}

function lines(): readonly Line[] {
  return observer.output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** The last place that was told of a member, once it is known whether it is stable. */
async function told(publicKey: string, isWanted: (place: Place) => boolean = () => true): Promise<Place> {
  return until('a place', () => {
    const seen = lines().findLast((line) => line.seen?.publicKey === publicKey)?.seen;
    return seen !== undefined && seen.isStable !== null && isWanted(seen)
      ? { endpoint: seen.endpoint, isStable: seen.isStable }
      : null;
  });
}

/** What the observer counts now. */
async function packets(): Promise<ObserverCounters['packets']> {
  const before = lines().length;
  process.kill(observer.pid, 'SIGUSR2');
  return until(
    'counters',
    () =>
      lines()
        .slice(before)
        .find((line) => line.packets !== undefined)?.packets,
  );
}

/** Ports that a NAT gave to what goes to the observer: those to which answers come. */
async function mappedPorts(nat: Nat): Promise<readonly number[]> {
  return (await nat.mappings())
    .filter((line) => line.includes('dport=4347'))
    .map((line) => Number([...line.matchAll(/dport=(\d+)/gu)][1]?.[1]))
    .toSorted((a, b) => a - b);
}
