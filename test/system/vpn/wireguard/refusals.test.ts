/** R4: whatever the wire takes, a real interface takes; and one thing that it does not take stops nothing else. */
import ava from 'ava';
import * as fc from 'fast-check';
import { HostIpv4, HostIpv6, WireguardEndpoint, WireguardKey } from '../../../../transport/protocol/wireguard.ts';
import type { DevicePeer } from '../../../../transport/vpn/wireguard/device.ts';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import { startInternet } from '../../../support/networks/internet.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { startEnd } from './device-host.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'wireguard-go', 'wg');

const scope = createScope();
let machine: Machine;

test.before(async () => {
  machine = await (await startInternet(scope)).host('one');
});

ava.after.always(() => scope.end());

/**
 * Keys of which some curve arithmetic says that they are none: of small order, or above the field. All are 32 bytes.
 * Source: RFC 7748, 6.1.
 */
const STRANGE_KEYS = ['00', '01', 'ff', '7f', 'ec'].map((byte) =>
  Buffer.from(`${byte}${byte === '01' ? '00'.repeat(31) : byte.repeat(31)}`, 'hex').toString('base64'),
);

/** Texts around what the wire takes; those that it does not take are dropped. */
const taken = (
  schema: { safeParse(text: string): { success: boolean } },
  texts: fc.Arbitrary<string>,
): fc.Arbitrary<string> => texts.filter((text) => schema.safeParse(text).success);
const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((key) => Buffer.from(key).toString('base64'));
const digit = fc.constantFrom('A', 'Z', 'a', 'z', '0', '9', '+', '/', '_', '-', '=', '.', '~');
const key = taken(
  WireguardKey,
  fc.oneof(
    bytes,
    fc.constantFrom(...STRANGE_KEYS),
    fc
      .tuple(bytes, fc.nat({ max: 43 }), digit)
      .map(([text, at, other]) => `${text.slice(0, at)}${other}${text.slice(at + 1)}`),
  ),
);
const ipv4 = taken(HostIpv4, fc.oneof(fc.ipV4(), fc.ipV4Extended()));
const ipv6 = taken(HostIpv6, fc.ipV6());
const port = fc.oneof(fc.nat({ max: 70_000 }).map(String), fc.stringMatching(/^\d{1,6}$/u));
const endpoint = taken(
  WireguardEndpoint,
  fc
    .tuple(
      fc.oneof(
        fc.ipV4(),
        fc.ipV4Extended(),
        fc.ipV6().map((address) => `[${address}]`),
        fc.ipV6().map((address) => `[${address}%eth0]`),
      ),
      port,
    )
    .map(([host, number]) => `${host}:${number}`),
);

const peers: fc.Arbitrary<DevicePeer[]> = fc.uniqueArray(
  fc.record({
    publicKey: key,
    allowedIps: fc.tuple(ipv4, ipv6).map(([one, other]) => [`${one}/32`, `${other}/128`]),
    endpoint: fc.option(endpoint),
    keepaliveSeconds: fc.constantFrom(0, 25),
  }),
  { minLength: 1, maxLength: 60, selector: ({ publicKey }) => publicKey },
);

const BAD: DevicePeer = {
  publicKey: `_${makeKeyPair().publicKey.slice(1)}`,
  allowedIps: ['100.64.0.9/32'],
  endpoint: null,
  keepaliveSeconds: 0,
};
const good = (index: number): DevicePeer => ({
  publicKey: makeKeyPair().publicKey,
  allowedIps: [`100.64.1.${index}/32`],
  endpoint: null,
  keepaliveSeconds: 0,
});

for (const way of ['wireguard-go', 'wg'] as const) {
  test.serial(`whatever the wire takes, ${way} takes`, async (t) => {
    const { device: own, host, options } = await startEnd(t, machine, way === 'wg' ? 7 : 8);
    const device = way === 'wg' ? await host.programByKernel(options) : own;

    await fc.assert(
      fc.asyncProperty(peers, async (set) => {
        await device.apply({ set, removed: (await device.read()).map(({ publicKey }) => publicKey) });
        await device.setEndpoints(
          set.map(({ publicKey, endpoint: to }) => ({ publicKey, endpoint: to ?? '198.51.100.1:7', isSentNow: false })),
        );
        const there = await device.read();
        t.deepEqual(await device.refusals(), { peers: [], addresses: [] });
        t.deepEqual(
          there.map(({ publicKey }) => publicKey).toSorted(),
          set.map(({ publicKey }) => publicKey).toSorted(),
        );
      }),
      { numRuns: 40 },
    );
  });

  test.serial(
    `a peer that ${way} refuses is left out and named, those beside it come, and those that go, go`,
    async (t) => {
      const { device: own, host, options } = await startEnd(t, machine, way === 'wg' ? 9 : 10);
      const device = way === 'wg' ? await host.programByKernel(options) : own;
      const [gone, one, other] = [good(1), good(2), good(3)];
      await device.apply({ set: [gone], removed: [] });

      await device.apply({
        set: [one, BAD, other, { ...good(4), allowedIps: ['100.64.1.400/32'] }],
        removed: [gone.publicKey, BAD.publicKey],
      });
      await device.setEndpoints([
        { publicKey: one.publicKey, endpoint: 'nowhere', isSentNow: true },
        { publicKey: other.publicKey, endpoint: '198.51.100.7:7', isSentNow: false },
      ]);

      // in whatever order
      const there = Object.fromEntries((await device.read()).map(({ publicKey, endpoint: at }) => [publicKey, at]));
      const { peers: refused } = await device.refusals();
      t.deepEqual(there, { [one.publicKey]: null, [other.publicKey]: '198.51.100.7:7' });
      t.deepEqual([refused.length, refused[0]?.[0], refused[2]?.[0]], [3, BAD.publicKey, one.publicKey]);
      t.false(JSON.stringify(refused.map(([, why]) => why)).includes('100.64'));

      await device.apply({ set: [one], removed: [BAD.publicKey] });
      t.is((await device.refusals()).peers.length, 1);
    },
  );
}

test.serial('an address that the system refuses is left out, and the others stand', async (t) => {
  const { device } = await startEnd(t, machine, 11);

  await device.setAddresses(['100.64.0.11/24', 'x', 'ff02::1/64', 'fd00:edfe::b/64', '100.65.0.1/24']);

  t.deepEqual(
    (await machine.run('ip', ['-oneline', 'address', 'show', 'dev', device.name])).stdout.match(/(?<=inet6? )\S+/gu),
    ['100.64.0.11/24', '100.65.0.1/24', 'fd00:edfe::b/64'],
  );
  t.deepEqual((await device.refusals()).addresses.map(([cidr]) => cidr).toSorted(), ['ff02::1/64', 'x']);
});

test.serial('peers and addresses beyond the limits of an interface are left out, and it goes on', async (t) => {
  const { host } = await startEnd(t, machine, 12);
  const options = {
    name: `wgl${process.pid % 1_000_000}`,
    privateKey: makeKeyPair().privateKey,
    listenPort: 41_099,
    mtu: 1_420,
  };
  const device = await host.open(options, { limits: { peersMax: 2, addressesMax: 2 } });
  t.teardown(async () => {
    await device.remove();
  });
  const all = [good(1), good(2), good(3)];

  await device.apply({ set: all, removed: [] });
  await device.setAddresses(['100.64.8.1/24', '100.64.9.1/24', '100.64.10.1/24']);

  t.is((await device.read()).length, 2);
  t.deepEqual((await device.refusals()).peers, [[all[2]?.publicKey ?? '', 'an interface has at most 2 peers here']]);
  t.deepEqual((await device.refusals()).addresses, [['100.64.10.1/24', 'an interface has at most 2 addresses here']]);
  await device.apply({ set: [all[2] ?? good(4)], removed: [all[0]?.publicKey ?? ''] });
  t.deepEqual((await device.refusals()).peers, []);
});
