/**
 * The way of the kernel, walked as far as a machine without WireGuard in its kernel lets one: `wg` programs and reads
 * an interface that wireguard-go made as it does one of the kernel. Where the kernel has WireGuard the last test makes
 * one of its own; elsewhere it sees that the kernel has none.
 */
import ava, { type ExecutionContext } from 'ava';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { peerOf, type End, type HostedDevice } from './device-host.ts';
import { reaches, startEnds, startMachines, startPair, type Machines } from './pair.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'ping', 'wireguard-go', 'wg');

const scope = createScope();
let machines: Machines;

test.before(async () => {
  machines = await startMachines(scope);
});

ava.after.always(() => scope.end());

/** One end that is programmed as one of the kernel is, and another that is not; neither knows the other. */
async function startKernelEnd(t: ExecutionContext): Promise<{ one: End; other: End; kernel: HostedDevice }> {
  const [one, other] = await startEnds(t, machines);
  await one.device.release();
  return { one, other, kernel: await one.host.programByKernel(one.options) };
}

test.serial(
  'wg programs key, port and peers, changes and removes them, and what it reads is what the socket says',
  async (t) => {
    const { one, other, kernel } = await startKernelEnd(t);
    const [second, third] = [makeKeyPair().publicKey, makeKeyPair().publicKey];
    t.is(kernel.backend, 'kernel');

    await kernel.apply({
      set: [
        peerOf(other),
        ...[second, third].map((publicKey, index) => ({
          publicKey,
          allowedIps: [`100.64.0.${20 + index}/32`],
          endpoint: '[2001:db8::7]:7',
          keepaliveSeconds: 7,
        })),
      ],
      removed: [],
    });
    await kernel.apply({
      set: [
        { ...peerOf(other, { endpoint: null }) },
        { publicKey: second, allowedIps: [], endpoint: '198.51.100.9:9', keepaliveSeconds: 25 },
      ],
      removed: [third],
    });
    t.deepEqual(
      Object.fromEntries(
        (await kernel.read()).map(({ publicKey, endpoint, allowedIps }) => [publicKey, [endpoint, ...allowedIps]]),
      ),
      Object.fromEntries([
        [other.pair.publicKey, [other.endpoint, '100.64.0.6/32', 'fd00:edfe::6/128']],
        [second, ['198.51.100.9:9']],
      ]),
    );
    await other.device.apply({ set: [peerOf(one)], removed: [] });
    await reaches(other.machine, one.address);
    await kernel.apply({ set: [], removed: [second] });

    const [reading, ...more] = await kernel.read();
    t.is(more.length, 0);
    t.like(reading, {
      publicKey: other.pair.publicKey,
      endpoint: other.endpoint,
      allowedIps: ['100.64.0.6/32', 'fd00:edfe::6/128'],
    });
    t.true((reading?.receivedBytes ?? 0) > 100 && (reading?.sentBytes ?? 0) > 100);
    const bySocket = (await (await one.host.open(one.options)).read())[0]?.handshakeAtMs ?? 0;
    t.is(reading?.handshakeAtMs, Math.floor(bySocket / 1_000) * 1_000);
  },
);

test.serial('wg reads peers of which nothing is known', async (t) => {
  const { kernel } = await startKernelEnd(t);
  const { publicKey } = makeKeyPair();

  await kernel.apply({ set: [{ publicKey, allowedIps: [], endpoint: null, keepaliveSeconds: 0 }], removed: [] });

  t.deepEqual(await kernel.read(), [
    { publicKey, endpoint: null, allowedIps: [], handshakeAtMs: null, receivedBytes: 0, sentBytes: 0 },
  ]);
});

for (const keepaliveSeconds of [0, 25]) {
  test.serial(
    `a wake by wg speaks at once, with keepalives each ${keepaliveSeconds} s, which stay as they were`,
    async (t) => {
      const { one, other, kernel } = await startKernelEnd(t);
      await kernel.apply({ set: [peerOf(other, { keepaliveSeconds })], removed: [] });
      await other.device.apply({ set: [peerOf(one)], removed: [] });
      await reaches(one.machine, other.address);
      await reaches(other.machine, one.address); // what came last is answered: nothing is said by itself 10 s later
      const before = (await kernel.read())[0]?.sentBytes ?? 0;

      await kernel.setEndpoints([
        { publicKey: other.pair.publicKey, endpoint: '192.0.2.1:1', isSentNow: false },
        { publicKey: makeKeyPair().publicKey, endpoint: '192.0.2.1:1', isSentNow: true },
      ]);
      t.is((await kernel.read())[0]?.sentBytes, before, 'an endpoint alone sends nothing');
      await kernel.setEndpoints([{ publicKey: other.pair.publicKey, endpoint: other.endpoint, isSentNow: true }]);

      t.deepEqual(
        (await kernel.read()).map(({ publicKey, endpoint, sentBytes }) => [publicKey, endpoint, sentBytes]),
        [[other.pair.publicKey, other.endpoint, before + 32]],
      );
      t.is(
        (await one.machine.run('wg', ['show', one.device.name, 'persistent-keepalive'])).stdout.trim(),
        `${other.pair.publicKey}\t${keepaliveSeconds === 0 ? 'off' : keepaliveSeconds}`,
      );
    },
  );
}

test.serial('a new key is taken by wg', async (t) => {
  const { one, other, kernel } = await startKernelEnd(t);
  const next = makeKeyPair();
  await kernel.apply({ set: [peerOf(other)], removed: [] });

  await kernel.setPrivateKey(next.privateKey);
  await other.device.apply({ set: [{ ...peerOf(one), publicKey: next.publicKey }], removed: [] });

  await reaches(other.machine, one.address);
  t.is((await one.machine.run('wg', ['show', one.device.name, 'public-key'])).stdout.trim(), next.publicKey);
});

test.serial('a thousand peers and more go in and out', async (t) => {
  const { kernel } = await startKernelEnd(t);
  const set = Array.from({ length: 1_100 }, (_, index) => ({
    publicKey: makeKeyPair().publicKey,
    allowedIps: [`100.65.${Math.floor(index / 250)}.${index % 250}/32`],
    endpoint: `192.0.2.1:${1_000 + index}`,
    keepaliveSeconds: 0,
  }));

  await kernel.apply({ set, removed: [] });
  t.is((await kernel.read()).length, 1_100);
  await kernel.setEndpoints(set.map(({ publicKey }) => ({ publicKey, endpoint: '192.0.2.2:2', isSentNow: false })));
  t.true((await kernel.read()).every(({ endpoint }) => endpoint === '192.0.2.2:2'));
  await kernel.apply({ set: [], removed: set.map(({ publicKey }) => publicKey) });
  t.deepEqual(await kernel.read(), []);
});

test.serial('an interface that is gone is lost at the next call', async (t) => {
  const { one, kernel } = await startKernelEnd(t);
  await one.machine.run('ip', ['link', 'delete', 'dev', one.device.name]);
  await until('the end of its program', async () => !(await one.machine.succeeds('wg', ['show', one.device.name])));

  await t.throwsAsync(kernel.read(), { message: `the interface ${one.device.name} is gone: it was removed` });
  t.is(await kernel.lost, `the interface ${one.device.name} is gone: it was removed`);
});

/** Whether this kernel makes interfaces of WireGuard. */
async function hasWireguard(machine: Machine): Promise<boolean> {
  const made = await machine.succeeds('ip', ['link', 'add', 'dev', 'probe', 'type', 'wireguard']);
  if (made) await machine.run('ip', ['link', 'delete', 'dev', 'probe']);
  return made;
}

test.serial('the kernel is asked first; where it has no WireGuard wireguard-go does it', async (t) => {
  const isThere = await hasWireguard(machines[0]);
  t.log(
    isThere
      ? 'this kernel has WireGuard'
      : 'this kernel has no WireGuard: an interface of the kernel itself was not made',
  );
  const [one, other] = await startPair(t, machines);

  t.is(one.device.backend, isThere ? 'kernel' : 'user-space');
  await reaches(one.machine, other.address);
  await one.device.release();
  t.true((await one.host.open(one.options)).isAdopted);
});
