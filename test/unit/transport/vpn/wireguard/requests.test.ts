/** What is refused before it becomes a line of a socket or a word of a command. */
import test from 'ava';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import { DEVICE_LIMITS } from '../../../../../transport/vpn/wireguard/limits.ts';
import { DeviceProblem } from '../../../../../transport/vpn/wireguard/problem.ts';
import { isRange } from '../../../../../transport/protocol/wireguard.ts';
import {
  checkEndpoint,
  checkMtu,
  checkName,
  checkOptions,
  checkPeer,
} from '../../../../../transport/vpn/wireguard/requests.ts';

/** Which of them are refused, in one sentence that does not hold them. */
function refused<T>(values: readonly T[], check: (value: T) => void): T[] {
  return values.filter((value) => {
    try {
      check(value);
      return false;
    } catch (error) {
      if (
        !(error instanceof DeviceProblem) ||
        error.message.includes('\n') ||
        (String(value).length > 5 && error.message.includes(String(value)))
      )
        throw error;
      return true;
    }
  });
}

test('names of interfaces are those of Linux that are no path and no option', (t) => {
  const wrong = ['', '.', '..', '-f', 'a/b', 'a b', 'a\nb', 'sixteen-letters-', 'ä', 'a;b'];

  t.deepEqual(refused([...wrong, 'wg0', 'edge0a1b2c3d', 'fifteen-letters', 'a.b', '_', '=', '+'], checkName), wrong);
});

test('endpoints are an address and a port, never a name or more than one line', (t) => {
  const wrong = [
    '',
    ':1',
    '198.51.100.1',
    '198.51.100.1:',
    '198.51.100.1:0',
    '198.51.100.1:65536',
    '198.51.100.256:1',
    '198.51.100.1:1\n',
    '198.51.100.1:1\nprivate_key=0',
    'example.org:1',
    '2001:db9::1:1',
    '[198.51.100.1]:1',
    '[2001:db9::1]',
    '[fe80::1%eth0]:1',
    '[::1]:1 ',
  ];

  t.deepEqual(
    refused(
      [...wrong, '198.51.100.1:1', '198.51.100.1:65535', '[2001:db9::1]:51820', '[::ffff:198.51.100.1]:7'],
      checkEndpoint,
    ),
    wrong,
  );
});

test('ranges are an address and a prefix length', (t) => {
  const wrong = [
    '',
    '198.51.100.1',
    '198.51.100.1/',
    '198.51.100.1/33',
    '198.51.100.1/-1',
    '198.51.100.1/24/24',
    '198.51.100.1/24\n',
    '::1/129',
    'fe80::1%eth0/64',
    'x/24',
    '198.51.100.1/ 24',
    '198.51.100.1/024',
    'FD00:0:0::0005/64',
  ];

  t.deepEqual(
    [...wrong, '198.51.100.1/32', '0.0.0.0/0', '::/0', '2001:db9::1/128'].filter((range) => !isRange(range)),
    wrong,
  );
});

test('peers and interfaces have keys, whole numbers, and not too many ranges', (t) => {
  const { publicKey, privateKey } = makeKeyPair();
  const peer = { publicKey, allowedIps: ['100.64.0.7/32'], endpoint: null, keepaliveSeconds: 25 };
  const options = { name: 'wg0', privateKey, listenPort: 51_820, mtu: 1_280 };
  const peers = [
    { ...peer, publicKey: 'x' },
    { ...peer, allowedIps: ['x'] },
    { ...peer, endpoint: 'x' },
    { ...peer, keepaliveSeconds: -1 },
    { ...peer, keepaliveSeconds: 65_536 },
    { ...peer, keepaliveSeconds: 1.5 },
    { ...peer, allowedIps: Array.from({ length: DEVICE_LIMITS.allowedIpsMax + 1 }, () => '100.64.0.7/32') },
  ];
  const all = [
    { ...options, name: '' },
    { ...options, privateKey: publicKey.slice(1) },
    { ...options, listenPort: 0 },
    { ...options, listenPort: 65_536 },
    { ...options, mtu: 67 },
    { ...options, mtu: 65_536 },
    { ...options, mtu: Number.NaN },
  ];

  t.deepEqual(
    refused([...peers, peer, { ...peer, allowedIps: [] }], (one) => checkPeer(one, DEVICE_LIMITS)),
    peers,
  );
  t.deepEqual(refused([...all, options], checkOptions), all);
  t.deepEqual(refused([0, 1_280, 1_420], checkMtu), [0]);
});
