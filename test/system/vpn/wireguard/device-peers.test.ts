/** Peers of a device over real wireguard-go: who is there, where packets to them go, and with which key. */
import ava from 'ava';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { peerOf } from './device-host.ts';
import { isSilent, listen, reaches, startMachines, startPair, type Machines } from './pair.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'ping', 'wireguard-go', 'wg');

const scope = createScope();
let machines: Machines;

test.before(async () => {
  machines = await startMachines(scope);
});

ava.after.always(() => scope.end());

test.serial(
  'peers are added, changed and removed by name; those that are not named stay, and an endpoint that is not given too',
  async (t) => {
    const [one, other] = await startPair(t, machines);
    const [second, third] = [makeKeyPair().publicKey, makeKeyPair().publicKey];

    await one.device.apply({
      set: [second, third].map((publicKey, index) => ({
        publicKey,
        allowedIps: [`100.64.0.${20 + index}/32`],
        endpoint: '[2001:db8::7]:7',
        keepaliveSeconds: 0,
      })),
      removed: [],
    });
    await one.device.apply({
      set: [
        { ...peerOf(other, { endpoint: null }), allowedIps: [`${other.address}/32`] },
        { publicKey: second, allowedIps: ['100.64.0.21/32'], endpoint: '198.51.100.9:9', keepaliveSeconds: 25 },
      ],
      removed: [third, makeKeyPair().publicKey],
    });

    const told = Object.fromEntries(
      (await one.device.read()).map(({ publicKey, endpoint, allowedIps }) => [publicKey, [endpoint, ...allowedIps]]),
    ); // in whatever order: wireguard-go has none
    t.deepEqual(told, {
      [other.pair.publicKey]: [other.endpoint, '100.64.0.6/32'],
      [second]: ['198.51.100.9:9', '100.64.0.21/32'],
    });
    await reaches(one.machine, other.address);
    t.true(await isSilent(one.machine, other.address6));
    await one.device.apply({ set: [], removed: [other.pair.publicKey] });
    t.true(await isSilent(one.machine, other.address));
  },
);

test.serial('a peer that somebody else put into the interface is seen, and goes when it is told to', async (t) => {
  const [one, other] = await startPair(t, machines);
  const stranger = makeKeyPair().publicKey;
  await one.machine.run('wg', ['set', one.device.name, 'peer', stranger, 'allowed-ips', '100.64.0.99/32']);

  t.deepEqual(
    (await one.device.read()).map(({ publicKey }) => publicKey).toSorted(),
    [other.pair.publicKey, stranger].toSorted(),
  );
  await one.device.apply({ set: [], removed: [stranger] });
  t.deepEqual(
    (await one.device.read()).map(({ publicKey }) => publicKey),
    [other.pair.publicKey],
  );
});

for (const keepaliveSeconds of [0, 25]) {
  test.serial(
    `a wake sends at once to the new endpoint of a peer, and keeps its keepalives of ${keepaliveSeconds} s`,
    async (t) => {
      const [one, other] = await startPair(t, machines);
      await one.device.apply({ set: [peerOf(other, { keepaliveSeconds })], removed: [] });
      const { endpoint, program } = await listen(t, other);
      await reaches(one.machine, other.address);
      await reaches(other.machine, one.address); // what came last is answered: nothing is said by itself 10 s later
      const change = { publicKey: other.pair.publicKey, endpoint };
      const sent = async (): Promise<number> => (await one.device.read())[0]?.sentBytes ?? 0;
      const before = await sent();

      await one.device.setEndpoints([{ ...change, isSentNow: false }]);
      t.is(await sent(), before, 'an endpoint alone sends nothing');
      await one.device.setEndpoints([
        { ...change, isSentNow: true },
        { publicKey: makeKeyPair().publicKey, endpoint: '192.0.2.1:1', isSentNow: true },
      ]);

      await until('the keepalive', () => program.output.includes('4 32\n')); // a packet of data with nothing in it
      t.is(await sent(), before + 32);
      t.deepEqual(
        (await one.device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]),
        [[other.pair.publicKey, change.endpoint]],
        'a peer that is not there is left out',
      );
      const dump = (await one.machine.run('wg', ['show', one.device.name, 'persistent-keepalive'])).stdout;
      t.is(dump.trim(), `${other.pair.publicKey}\t${keepaliveSeconds === 0 ? 'off' : keepaliveSeconds}`);
    },
  );
}

test.serial('a new key begins sessions anew with those who know it, and ends those with the others', async (t) => {
  const [one, other] = await startPair(t, machines);
  await reaches(one.machine, other.address);
  const next = makeKeyPair();

  await one.device.setPrivateKey(next.privateKey);
  await other.device.apply({ set: [{ ...peerOf(one), publicKey: next.publicKey }], removed: [one.pair.publicKey] });

  await reaches(one.machine, other.address);
  const [reading, ...more] = await other.device.read();
  t.is(more.length, 0);
  t.is(reading?.publicKey, next.publicKey);
  t.true((reading?.handshakeAtMs ?? 0) > 0);
});

test.serial('calls are carried out in their order, without waiting for each other', async (t) => {
  const [one, other] = await startPair(t, machines);
  const { device } = one;

  const [, , , reading] = await Promise.all([
    device.apply({ set: [], removed: [other.pair.publicKey] }),
    device.apply({ set: [peerOf(other)], removed: [] }),
    device.setEndpoints([{ publicKey: other.pair.publicKey, endpoint: '192.0.2.1:1', isSentNow: false }]),
    device.read(),
    device.apply({ set: [], removed: [other.pair.publicKey] }),
  ]);

  t.deepEqual(
    reading.map(({ endpoint }) => endpoint),
    ['192.0.2.1:1'],
  );
  t.deepEqual(await device.read(), []);
});

test.serial('a hundred peers are one call, and so are a hundred endpoints', async (t) => {
  const [one] = await startPair(t, machines);
  const set = Array.from({ length: 100 }, (_, index) => ({
    publicKey: makeKeyPair().publicKey,
    allowedIps: [`100.64.1.${index}/32`, `fd00:edfe::1:${index}/128`],
    endpoint: `192.0.2.1:${1_000 + index}`,
    keepaliveSeconds: 25,
  }));

  await one.device.apply({ set, removed: [] });
  t.log(`apply of 100 peers: ${one.host.tookMs.toFixed(0)} ms`);
  await one.device.setEndpoints(
    set.map(({ publicKey }, index) => ({ publicKey, endpoint: `192.0.2.2:${2_000 + index}`, isSentNow: false })),
  );
  t.log(`100 endpoints: ${one.host.tookMs.toFixed(0)} ms`);

  const endpoints = new Map((await one.device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]));
  t.deepEqual(
    set.map(({ publicKey }) => endpoints.get(publicKey)),
    set.map((_, index) => `192.0.2.2:${2_000 + index}`),
  );
});
