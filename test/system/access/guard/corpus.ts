/**
 * URLs that lead where nobody from outside may reach, made from addresses times forms, and the DNS zone of their names.
 */
import ipaddr from 'ipaddr.js';
import { BAD_PORTS } from '../../../../transport/net/outbound-guard/destination.ts';
import type { Answer, Question } from '../../../support/net/dns-server.ts';
import { EMBEDDINGS, v4Forms, v6Forms } from '../../../support/net/address-forms.ts';
import written from './hostile-urls.json' with { type: 'json' };

/** One URL, and what must become of it. */
export interface HostileUrl {
  readonly url: string;
  /** Whether its host is what is bad about it, so that it is dialled too, past the check of the URL. */
  readonly isDialled: boolean;
  /** Whether it is refused even where the operator opened private networks. */
  readonly isNever: boolean;
}

/**
 * A public address, and a name that has it: what hostile URLs hide behind. Never dialled outside of a network of its
 * own.
 */
export const GOOD = { name: 'good.corpus.test', address: '93.184.215.14', address6: '2606:4700:4700::1111' } as const;

/** IPv4 addresses that are private, of which some are reached where private networks are open. */
const PRIVATE_V4 = [
  '10.0.0.1',
  '10.255.255.254',
  '100.64.0.1',
  '100.127.255.254',
  '127.0.0.1',
  '127.1.2.3',
  '127.255.255.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.168.0.1',
  '192.168.255.254',
];

const NEVER_V4 = [
  '0.0.0.0',
  '0.1.2.3',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.254',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
];

const PRIVATE_V6 = ['::1', 'fc00::1', 'fd12:3456:789a::1'];

const NEVER_V6 = [
  '::',
  'fe80::1',
  'fec0::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'fd00:a9fe:a9fe::1',
  'ff02::1',
  'ff0e::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  '100::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:0:808:808::1',
  '2002:808:808::1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '4000::1',
  '8000::1',
  'e000::1',
  '::808:808',
  '::ffff:8.8.8.8',
];

/** What names of the zone answer, beside plainly the address: it among good ones, first or last, or behind aliases. */
const KINDS = {
  plain: (address: string): Answer => ({ addresses: [address] }),
  first: (address: string): Answer => ({ addresses: [address, GOOD.address, GOOD.address6] }),
  last: (address: string): Answer => ({ addresses: [GOOD.address, GOOD.address6, address] }),
  alias: (address: string): Answer => ({
    addresses: [address],
    aliases: ['a.corpus.test', 'b.corpus.test', 'c.corpus.test'],
  }),
} as const satisfies Record<string, (address: string) => Answer>;

/** Names of the hand-written list that are no form of an address. */
const NAMED: Readonly<Record<string, Answer>> = {
  [GOOD.name]: { addresses: [GOOD.address, GOOD.address6] },
  'empty.corpus.test': { addresses: [] },
  'broken.corpus.test': 'failure',
  'circle.corpus.test': { addresses: [], aliases: ['circle.corpus.test'] },
  'crowd.corpus.test': { addresses: Array.from({ length: 65 }, (_unused, index) => `93.184.215.${index}`) },
  ...Object.fromEntries(
    ['localtest.me', 'app.localtest.me', 'lvh.me', 'vcap.me'].map((name) => [
      name,
      { addresses: ['127.0.0.1', '::1'] },
    ]),
  ),
};

/** What the zone says. */
export function zoneAnswer({ name }: Pick<Question, 'name'>): Answer {
  const named = NAMED[name];
  if (named) return named;
  const made = /^(?<kind>[a-z]+)\.(?<hex>(?:[0-9a-f]{2})+)\.corpus\.test$/u.exec(name)?.groups;
  if (made)
    return KINDS[made['kind'] as keyof typeof KINDS](
      ipaddr.fromByteArray([...Buffer.from(made['hex'] ?? '', 'hex')]).toString(),
    );
  const dotted = /(?:^|\.)(\d+)[.-](\d+)[.-](\d+)[.-](\d+)\.(?:nip|sslip)\.io$/u.exec(name)?.slice(1).join('.');
  const hex = /(?:^|\.)([0-9a-f]{8})\.nip\.io$/u.exec(name)?.[1];
  if (dotted !== undefined) return { addresses: [dotted] };
  return hex === undefined ? 'no-such-name' : { addresses: [[...Buffer.from(hex, 'hex')].join('.')] };
}

/** The whole corpus. What is made of addresses has the port, so that something may listen there. */
export function hostileUrls(port: number): HostileUrl[] {
  const good: HostileUrl[] = [...BAD_PORTS].map((bad) => ({
    url: `http://${GOOD.name}:${bad}/`,
    isDialled: false,
    isNever: true,
  }));
  return [
    ...written.shapes.map((url) => ({ url, isDialled: false, isNever: true })),
    ...good,
    ...written.never.map((url) => ({ url, isDialled: true, isNever: true })),
    ...written.closed.map((url) => ({ url, isDialled: true, isNever: false })),
    ...[...PRIVATE_V4, ...PRIVATE_V6].flatMap((address) => ofAddress(address, port, false)),
    ...[...NEVER_V4, ...NEVER_V6].flatMap((address) => ofAddress(address, port, true)),
  ];
}

function ofAddress(address: string, port: number, isNever: boolean): HostileUrl[] {
  const parsed = ipaddr.parse(address);
  const bytes = parsed.toByteArray();
  const hosts = parsed instanceof ipaddr.IPv6 ? [`[${address}]`, ...v6Forms(parsed.parts)] : v4Forms(bytes);
  const names = Object.keys(KINDS).map((kind) => `${kind}.${Buffer.from(bytes).toString('hex')}.corpus.test`);
  const embedded = parsed instanceof ipaddr.IPv6 ? [] : EMBEDDINGS.map((embed) => embed(bytes));
  return [
    ...[...hosts, ...names].map((host) => ({ url: `http://${host}:${port}/`, isDialled: true, isNever })),
    ...embedded.map((host) => ({ url: `https://${host}:${port}/`, isDialled: true, isNever: true })),
  ];
}
