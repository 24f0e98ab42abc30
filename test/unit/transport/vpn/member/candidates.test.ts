/** Which endpoints of a peer are tried, what this machine tells of itself, and what members say to each other. */
import test from 'ava';
import * as fc from 'fast-check';
import type { NetworkInterfaceInfo } from 'node:os';
import { candidatesOf, type OwnPlace } from '../../../../../transport/vpn/member/candidates.ts';
import { localAddresses, localEndpoints, takenRanges } from '../../../../../transport/vpn/member/local-endpoints.ts';
import {
  decodePeerMessage,
  encodePeerMessage,
  isPeerMessage,
  type PeerMessage,
} from '../../../../../transport/vpn/member/peer-messages.ts';
import { VPN_ENDPOINTS_MAX } from '../../../../../transport/protocol/vpn.ts';

const own: OwnPlace = {
  addresses: ['192.168.1.5/24', '2001:db8:5::5/64'],
  listenPort: 20_005,
  vpnRanges: ['100.64.0.5/24', 'fd00:64::5/64'],
};

test('what is on a network of this machine comes first, then what others see, then private addresses elsewhere', (t) => {
  t.deepEqual(
    candidatesOf(['10.1.2.3:7', '198.51.100.7:7', '192.168.1.9:7', '[2001:db8:5::9]:7', '[2001:db8:9::9]:7'], own),
    ['192.168.1.9:7', '[2001:db8:5::9]:7', '198.51.100.7:7', '[2001:db8:9::9]:7', '10.1.2.3:7'],
  );
});

test('no packet is sent to this machine itself, into the VPN, or where none can arrive', (t) => {
  t.deepEqual(
    candidatesOf(
      [
        '127.0.0.1:7',
        '0.0.0.0:7',
        '169.254.1.2:7',
        '224.0.0.1:7',
        '255.255.255.255:7',
        '[::1]:7',
        '[::]:7',
        '[fe80::1]:7',
        '[ff02::1]:7',
        '[::ffff:127.0.0.1]:7',
        '192.168.1.5:20005',
        '[2001:db8:5::5]:20005',
        '100.64.0.9:7',
        '[fd00:64::9]:7',
        'example.com:7',
        '1.2.3.4',
        '',
      ],
      own,
    ),
    [],
  );
  // Another member may stand on the same machine, with a port of its own.
  t.deepEqual(candidatesOf(['192.168.1.5:20006'], own), ['192.168.1.5:20006']);
});

test('a family of addresses that this machine has not is not tried, and nothing twice', (t) => {
  t.deepEqual(
    candidatesOf(['198.51.100.7:7', '[2001:db8:9::9]:7', '198.51.100.7:7'], { ...own, addresses: ['192.168.1.5/24'] }),
    ['198.51.100.7:7'],
  );
});

const info = (cidr: string, internal = false): NetworkInterfaceInfo => ({
  address: cidr.split('/')[0] ?? '',
  cidr,
  netmask: '',
  mac: '',
  internal,
  ...(cidr.includes(':') ? { family: 'IPv6', scopeid: 0 } : { family: 'IPv4' }),
});

test('a machine tells of its addresses, those of containers last, those of the VPN never, and not too many', (t) => {
  const interfaces = {
    lo: [info('127.0.0.1/8', true)],
    docker0: [info('172.17.0.1/16')],
    edge1: [info('100.64.0.5/24')],
    edgegw: [info('100.64.0.77/24')],
    eth0: [info('fe80::1/64'), info('2001:db8:5::5/64'), info('192.168.1.5/24'), info('169.254.7.7/16')],
  };

  const addresses = localAddresses(interfaces, 'edge1', ['100.64.0.5/24']);

  t.deepEqual(addresses, ['192.168.1.5/24', '2001:db8:5::5/64', '172.17.0.1/16']);
  t.deepEqual(localEndpoints(addresses, 7), ['192.168.1.5:7', '[2001:db8:5::5]:7', '172.17.0.1:7']);
  t.deepEqual(
    localAddresses(
      {
        edge0a1b2c3d: [info('100.65.0.7/24')],
        edgegw123456789: [info('100.66.0.1/24')],
        eth0: [info('192.168.1.5/24')],
      },
      'edge1',
      [],
    ),
    ['192.168.1.5/24'],
    'other members of this machine',
  );
  t.is(
    localAddresses({ eth0: Array.from({ length: 20 }, (_, index) => info(`192.168.1.${index + 1}/24`)) }, 'edge1', [])
      .length,
    VPN_ENDPOINTS_MAX,
  );
});

test('a range of the VPN in which the machine has another address is taken, one of its LAN around it is not', (t) => {
  const vpn = ['100.64.0.5/24', 'fd00:64::5/64'];
  const taken = (...cidrs: readonly string[]): readonly string[] => [
    ...takenRanges({ edge1: [info('100.64.0.5/24')], eth0: cidrs.map((cidr) => info(cidr)) }, 'edge1', vpn),
  ];

  t.deepEqual(taken('192.168.1.5/24', '2001:db8::5/64'), []);
  t.deepEqual(taken('100.64.0.200/24'), ['100.64.0.5/24']);
  t.deepEqual(taken('100.64.0.200/32'), ['100.64.0.5/24'], 'by a point-to-point link');
  t.deepEqual(taken('100.100.0.1/10'), [], 'the rest of a larger network is reached as before');
  t.deepEqual(taken('fd00:64::77/64'), ['fd00:64::5/64']);
  t.deepEqual(
    [...takenRanges({ edgegw1: [info('100.64.0.1/24')] }, 'edge1', vpn)],
    [],
    'another member on this machine',
  );
});

test('messages of peers arrive as they were said, and nothing else is one', (t) => {
  const message = fc.oneof(
    fc.constantFrom<PeerMessage>({ type: 'ask' }, { type: 'heard' }),
    fc.record({ type: fc.constant('agreed' as const), inMs: fc.integer({ min: 0, max: 5_000 }) }),
  );
  fc.assert(
    fc.property(message, (said) => {
      t.deepEqual(decodePeerMessage(encodePeerMessage(said)), said);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 6 }), (bytes, tail) => {
      decodePeerMessage(bytes);
      decodePeerMessage(Buffer.concat([encodePeerMessage({ type: 'ask' }).subarray(0, 8), tail]));
    }),
  );
  t.is(decodePeerMessage(encodePeerMessage({ type: 'agreed', inMs: 60_000 })), null);
  // Every packet of WireGuard begins so.
  for (const type of [1, 2, 3, 4]) t.false(isPeerMessage(Uint8Array.from([type, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])));
});
