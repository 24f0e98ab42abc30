/** The rules for addresses, against the registries and in every form in which an address can be written (R2). */
import { isIPv6 } from 'node:net';
import test from 'ava';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {
  addressKind,
  isAllowedAddress,
  isPublicAddress,
  type Ruling,
} from '../../../../../transport/net/outbound-guard/policy.ts';
import { EMBEDDINGS, v4Forms } from '../../../../support/net/address-forms.ts';
import { SPECIAL, METADATA, PUBLIC } from './registries.ts';

function inBlock(cidr: string): fc.Arbitrary<string> {
  const [block, bits] = ipaddr.parseCIDR(cidr);
  const bytes = block.toByteArray();
  return fc.uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((random) =>
    ipaddr
      .fromByteArray(
        bytes.map((byte, index) => {
          const mask = (0xff00 >> Math.min(8, Math.max(0, bits - index * 8))) & 0xff;
          return (byte & mask) | ((random[index] ?? 0) & ~mask & 0xff);
        }),
      )
      .toString(),
  );
}

const closedBlocks = Object.keys(SPECIAL).filter((cidr) => ['forbidden', 'reserved'].includes(SPECIAL[cidr] ?? ''));

const v4Block = fc.constantFrom(...Object.keys(SPECIAL).filter((cidr) => !cidr.includes(':')));

for (const [cidr, kind] of Object.entries(SPECIAL)) {
  test(`${cidr} is ${kind}, from its first address to its last`, (t) => {
    const block = isIPv6(cidr.split('/')[0] ?? '') ? ipaddr.IPv6 : ipaddr.IPv4;
    const [first, last] = [
      block.networkAddressFromCIDR(cidr),
      'broadcastAddressFromCIDR' in block ? block.broadcastAddressFromCIDR(cidr) : null,
    ];

    for (const end of [first, last].flatMap((address) => (address === null ? [] : [address.toString()]))) {
      if (!isWithinOther(end, cidr)) t.is(addressKind(end), kind, end);
    }
    fc.assert(
      fc.property(inBlock(cidr), (address) => addressKind(address) === kind || isWithinOther(address, cidr)),
      { numRuns: 100 },
    );
  });
}

/** Whether a smaller block, or a metadata service, decides about the address. */
function isWithinOther(address: string, cidr: string): boolean {
  const parsed = ipaddr.parse(address);
  const bits = Number(cidr.split('/')[1]);
  const isMatch = (other: string) => {
    const [block, size] = ipaddr.parseCIDR(other);
    return size > bits && parsed.kind() === block.kind() && parsed.match(block, size);
  };
  return (
    Object.keys(SPECIAL).some(isMatch) ||
    METADATA.some((metadata) => isMatch(`${metadata}/${metadata.includes(':') ? 64 : 32}`))
  );
}

test('metadata services are forbidden whatever the operator opens', (t) => {
  t.deepEqual(
    METADATA.filter((address) => isAllowedAddress(address, { allowPrivate: true })),
    [],
  );
});

test('public addresses next to the special ones are public', (t) => {
  t.deepEqual(
    PUBLIC.filter((address) => !isPublicAddress(address)),
    [],
  );
});

test('private networks are reached only where the operator opened them', (t) => {
  const addresses = ['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd12:3456:789a::1'];

  t.deepEqual(
    addresses.map((address) => [
      isAllowedAddress(address, { allowPrivate: false }),
      isAllowedAddress(address, { allowPrivate: true }),
    ]),
    addresses.map(() => [false, true]),
  );
});

test('private networks, once opened, hold nothing that is forbidden or reserved', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...closedBlocks).chain(inBlock),
      (address) =>
        !isAllowedAddress(address, { allowPrivate: true }) || ['private', 'loopback'].includes(addressKind(address)),
    ),
    { numRuns: 2_000 },
  );
  t.pass();
});

test('this machine itself is reached as private networks are, unless something else is said of it', (t) => {
  const policies = [
    { allowPrivate: false },
    { allowPrivate: true },
    { allowPrivate: true, allowLoopback: false },
    { allowPrivate: false, allowLoopback: true },
  ];

  t.deepEqual(
    policies.map((policy) =>
      ['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3'].map((address) => isAllowedAddress(address, policy)),
    ),
    [
      [false, false, false, false],
      [true, true, true, true],
      [false, false, false, true],
      [true, true, true, false],
    ],
  );
});

test('what the operator says of a host comes before the rules, and opens what is forbidden by its address only', (t) => {
  const addresses = [
    '8.8.8.8',
    '10.1.2.3',
    '127.0.0.1',
    '169.254.7.7',
    '192.0.2.1',
    '169.254.169.254',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '224.0.0.1',
  ];
  const allowed = (ruling: Ruling | undefined) =>
    addresses.map((address) => isAllowedAddress(address, { allowPrivate: false, rulingOn: () => ruling }));

  t.deepEqual(allowed(undefined), [true, false, false, false, false, false, false, false, false]);
  t.deepEqual(allowed('opened'), [true, true, true, true, true, false, false, false, false]);
  t.deepEqual(
    allowed('opened in any case'),
    addresses.map(() => true),
  );
  t.deepEqual(
    allowed('blocked'),
    addresses.map(() => false),
  );
});

test('an IPv4 address inside an IPv6 one is forbidden, whatever it is', (t) => {
  fc.assert(
    fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (bytes) =>
      EMBEDDINGS.every((embed) => {
        const host = embed(bytes).slice(1, -1);
        return (
          !isAllowedAddress(host, { allowPrivate: true }) &&
          !isAllowedAddress(new URL(`http://[${host}]/`).hostname.slice(1, -1), { allowPrivate: true })
        );
      }),
    ),
    { numRuns: 300 },
  );
  t.pass();
});

test('only addresses as a resolver writes them are addresses', (t) => {
  const texts = [
    '',
    ' ',
    '8.8.8.8 ',
    '8.8.8',
    '08.8.8.8',
    '0x8.8.8.8',
    '134744072',
    '8.8.8.8.',
    '2001:4860:4860::8888%eth0',
    '[2001:4860:4860::8888]',
    'example.com',
    '2001:4860::8888::1',
  ];

  t.deepEqual(
    texts.filter((text) => addressKind(text) !== 'forbidden'),
    [],
  );
});

test('a special IPv4 address stays special in every form that a URL takes', (t) => {
  fc.assert(
    fc.property(v4Block.chain(inBlock), (address) => {
      const kind = addressKind(address);
      const bytes = ipaddr.parse(address).toByteArray();
      return (
        v4Forms(bytes).every((form) => addressKind(new URL(`http://${form}/`).hostname) === kind) && kind !== 'public'
      );
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('text never throws', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) =>
      ['public', 'private', 'loopback', 'reserved', 'forbidden'].includes(addressKind(text)),
    ),
    { numRuns: 2_000 },
  );
  t.pass();
});
