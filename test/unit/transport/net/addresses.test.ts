/**
 * What an address is, and what is asked of it. The registries, block by block:
 * test/unit/transport/net/outbound-guard/addresses.test.ts.
 */
import test from 'ava';
import {
  addressClass,
  isLocalNetworkAddress,
  isLoopbackAddress,
  isLoopbackHost,
  isMetadataAddress,
  isReachableClass,
  isReachableNetwork,
  packetClass,
  plainAddress,
  type AddressClass,
} from '../../../../transport/net/addresses.ts';

/** An address, its class, whether it means another machine in every network, and whether a packet can arrive there. */
const ROWS: readonly (readonly [string, AddressClass, 'local' | '', 'arrives' | ''])[] = [
  ['198.51.100.7', 'reserved', '', 'arrives'],
  ['8.8.8.8', 'global', '', 'arrives'],
  ['2600::7', 'global', '', 'arrives'],
  ['10.0.0.0', 'private', 'local', 'arrives'],
  ['172.15.255.255', 'global', '', 'arrives'],
  ['172.16.0.0', 'private', 'local', 'arrives'],
  ['172.31.255.255', 'private', 'local', 'arrives'],
  ['172.32.0.0', 'global', '', 'arrives'],
  ['192.168.1.1', 'private', 'local', 'arrives'],
  ['100.63.255.255', 'global', '', 'arrives'],
  ['100.64.0.0', 'private', 'local', 'arrives'],
  ['100.127.255.255', 'private', 'local', 'arrives'],
  ['100.128.0.0', 'global', '', 'arrives'],
  ['fc00::1', 'private', 'local', 'arrives'],
  ['fdff::1', 'private', 'local', 'arrives'],
  ['FD12::1', 'private', 'local', 'arrives'],
  ['fe80::1', 'link-local', 'local', ''],
  ['febf::1', 'link-local', 'local', ''],
  ['169.254.0.1', 'link-local', '', ''],
  ['127.0.0.1', 'loopback', '', ''],
  ['127.255.255.255', 'loopback', '', ''],
  ['::1', 'loopback', '', ''],
  ['0.0.0.0', 'unspecified', '', ''],
  ['0.1.2.3', 'unspecified', '', ''],
  ['::', 'unspecified', '', ''],
  ['224.0.0.1', 'multicast', '', ''],
  ['ff02::1', 'multicast', '', ''],
  ['240.0.0.1', 'future', '', ''],
  ['255.255.255.254', 'future', '', ''],
  ['255.255.255.255', 'broadcast', '', ''],
  ['2001:db8::1', 'reserved', '', 'arrives'],
  ['4000::1', 'unassigned', '', 'arrives'],
  ['64:ff9b::1', 'special', '', 'arrives'],
  ['2600::5efe:a00:1', 'special', '', 'arrives'],
  ['::ffff:198.51.100.7', 'special', '', 'arrives'],
  ['::ffff:10.0.0.1', 'special', '', 'arrives'],
  ['::ffff:127.0.0.1', 'special', '', ''],
  ['::ffff:7f00:1', 'special', '', ''],
  ['::ffff:a9fe:101', 'special', '', ''],
  ['fe80::1%eth0', 'none', '', ''],
  ['10.1', 'none', '', ''],
  ['010.0.0.1', 'none', '', ''],
  ['0x0a000001', 'none', '', ''],
  ['300.1.1.1', 'none', '', ''],
  ['example.com', 'none', '', ''],
  ['', 'none', '', ''],
];

test('each address has one class, from which all questions are answered', (t) => {
  t.deepEqual(
    ROWS.map(([address]) => [
      address,
      addressClass(address),
      isLocalNetworkAddress(address) ? 'local' : '',
      isReachableClass(packetClass(address)) ? 'arrives' : '',
    ]),
    ROWS.map((row) => [...row]),
  );
});

test('a packet for a mapped address goes to the IPv4 address, and that alone is asked for its class', (t) => {
  t.deepEqual(
    ['::ffff:10.0.0.1', '::ffff:a00:1', '::ffff:8.8.8.8', 'fd00::1'].map((address) => packetClass(address)),
    ['private', 'private', 'global', 'private'],
  );
});

test('the machine itself is known in every form in which a socket writes it', (t) => {
  t.deepEqual(
    ['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '10.0.0.1', '127.example.com', ''].map(
      (address) => isLoopbackAddress(address),
    ),
    [true, true, true, true, true, false, false, false],
  );
});

test('a host is the machine itself as localhost or by an address of loopback, in brackets or not, and by no other name', (t) => {
  const own = ['localhost', 'LOCALHOST', 'localhost.', '127.0.0.1', '127.9.9.9', '::1', '[::1]', '[::ffff:7f00:1]'];
  const others = [
    '',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '127.1',
    '127.0.0.256',
    '127.example.com',
    'a.localhost',
    '[127.0.0.1',
    '[]',
  ];

  t.deepEqual(
    [...own, ...others].filter((host) => isLoopbackHost(host)),
    own,
  );
});

test('metadata services are known wherever they lie', (t) => {
  t.deepEqual(
    ['169.254.169.254', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254', '100.100.100.201', 'x'].map((address) =>
      isMetadataAddress(address),
    ),
    [true, true, true, true, false, false],
  );
});

test('IPv4 is written in its own form, and everything else is left as it is', (t) => {
  t.deepEqual(
    ['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '192.0.2.1', '2001:db8::1', '::ffff:c000:201', 'unknown'].map((address) =>
      plainAddress(address),
    ),
    ['192.0.2.1', '192.0.2.1', '192.0.2.1', '2001:db8::1', '::ffff:c000:201', 'unknown'],
  );
});

test('machines can have the addresses of a network where none of them is one at which nothing arrives', (t) => {
  const machines = ['10.0.0.0/8', '100.64.1.0/24', '168.0.0.0/8', '169.253.0.0/16', '169.255.0.0/16', '8.8.8.8/30'];
  const nobody = ['0.0.0.0/8', '127.1.0.0/24', '169.0.0.0/8', '169.254.0.0/15', '169.254.169.0/24', '224.0.0.0/8'];
  const further = ['240.1.0.0/16', '255.0.0.0/8', '255.255.255.252/30', 'fd00::/64', '10.0.0.0', '300.0.0.0/8', ''];

  t.deepEqual(machines.filter(isReachableNetwork), machines);
  t.deepEqual([...nobody, ...further].filter(isReachableNetwork), []);
});
