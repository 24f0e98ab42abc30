/**
 * The one judge of addresses. What an address is (its class) is said once, by the registries as `ipaddr.js` knows them;
 * who asks something narrower asks one of the questions below. Whether somebody may dial it is policy:
 * `guard/policy.ts`. Pure.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * What an address is. `global`: unicast that is assigned to whoever announces it. `private`: RFC 1918, shared (RFC
 * 6598), unique local (RFC 4193). `reserved`: set aside for documentation, benchmarks, protocols, or not assigned.
 * `future`: 240.0.0.0/4 but for its last address. `special`: carries another address (mapped, NAT64, 6to4, Teredo,
 * ISATAP) or serves one protocol. `unassigned`: IPv6 outside 2000::/3 and all else. `none`: text that is no address, or
 * one with a zone.
 */
export type AddressClass =
  | 'global'
  | 'private'
  | 'loopback'
  | 'link-local'
  | 'multicast'
  | 'broadcast'
  | 'unspecified'
  | 'reserved'
  | 'future'
  | 'special'
  | 'unassigned'
  | 'none';

/** Classes by the names of ranges in `ipaddr.js`, where they are not unicast. What is missing here is special. */
const CLASSES: Readonly<Record<string, AddressClass>> = {
  loopback: 'loopback', // RFC 1122 3.2.1.3, RFC 4291 2.5.3
  unspecified: 'unspecified', // 0.0.0.0/8, RFC 1122 3.2.1.3; RFC 4291 2.5.2
  private: 'private', // RFC 1918
  carrierGradeNat: 'private', // RFC 6598
  uniqueLocal: 'private', // RFC 4193
  linkLocal: 'link-local', // RFC 3927, RFC 4291 2.5.6
  multicast: 'multicast', // RFC 5771, RFC 4291 2.7
  broadcast: 'broadcast', // RFC 919
  reserved: 'reserved', // RFC 6890 and later
};

/** Global unicast as far as it is assigned. Source: IANA's IPv6 address space, RFC 4291 2.4. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** IPv6 that carries IPv4 in its last 32 bits: mapped, compatible, and the prefix of NAT64 that everybody knows. */
const CARRYING = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map(
  (block) => ipaddr.parseCIDR(block) as [ipaddr.IPv6, number],
);

/** For later use, which stacks refuse or drop. Source: RFC 1112, 4. */
const FUTURE = ipaddr.parseCIDR('240.0.0.0/4') as [ipaddr.IPv4, number];

/** Where no packet from another machine arrives. */
const UNREACHABLE: ReadonlySet<AddressClass> = new Set([
  'loopback',
  'unspecified',
  'link-local',
  'multicast',
  'broadcast',
  'future',
  'none',
]);

/**
 * Where clouds serve credentials to whoever asks from the machine. Some of these are public, the others lie in ranges
 * that an operator may open.
 */
const METADATA: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][] = [
  '169.254.169.0/24', // nearly all: 254 metadata, 253 DNS, 123 time
  '169.254.170.0/24', // AWS's containers: 2 task credentials, 23 pod identity
  '169.254.0.23/32', // Tencent Cloud
  '192.0.0.192/32', // Oracle's classic cloud
  '168.63.129.16/32', // Azure's wire server: public unicast, reachable from inside only
  '100.100.100.200/32', // Alibaba Cloud
  'fd00:ec2::/32', // AWS: 254 metadata, 253 DNS, 23 pod identity
  'fd20:ce::/64', // Google Cloud: 254
  'fd00:c1::/64', // Oracle Cloud: a9fe:a9fe
  'fd00:a9fe:a9fe::/64', // Linode: 1
  'fd00:42::/64', // Scaleway: 42
  'fe80::a9fe:a9fe/128', // OpenStack
].map((block) => ipaddr.parseCIDR(block));

/**
 * The class of an address, written as a resolver writes it. Short, octal and hex forms are none. An IPv6 address that
 * carries an IPv4 one is special, whatever it carries: who means the IPv4 address writes that.
 */
export function addressClass(address: string): AddressClass {
  return isAddress(address) ? classOf(ipaddr.parse(address)) : 'none';
}

/** Whether a metadata service of some cloud answers there. */
export function isMetadataAddress(address: string): boolean {
  if (!isAddress(address)) return false;
  const parsed = ipaddr.parse(address);
  return METADATA.some(([block, bits]) => parsed.kind() === block.kind() && parsed.match(block, bits));
}

/** Whether this is the machine itself, also as a socket of both families writes it. */
export function isLoopbackAddress(address: string): boolean {
  return addressClass(plainAddress(address)) === 'loopback';
}

/**
 * Whether a host is the machine itself, as people and URLs write hosts: `localhost`, or an address of loopback, in
 * brackets or not, also one that IPv6 carries. No other name is: a resolver may know any.
 */
export function isLoopbackHost(host: string): boolean {
  return /^localhost\.?$/iu.test(host) || packetClass(host.replace(/^\[(.*)\]$/u, '$1')) === 'loopback';
}

/**
 * Whether an address means another machine in every network: private, or link-local of IPv6. Link-local of IPv4, where
 * metadata services are, does not count.
 */
export function isLocalNetworkAddress(address: string): boolean {
  const is = addressClass(address);
  return is === 'private' || (is === 'link-local' && address.includes(':'));
}

/** The class of where a packet for this address goes: a mapped one is sent as IPv4. */
export function packetClass(address: string): AddressClass {
  return isAddress(address) ? classOf(ipaddr.process(address)) : 'none';
}

/** Whether a packet that another machine sends there can arrive. */
export function isReachableClass(is: AddressClass): boolean {
  return !UNREACHABLE.has(is);
}

/**
 * Whether machines can have every address of an IPv4 network such as `100.64.0.0/16`, so that packets arrive there:
 * of one with a prefix of at least 8 bits and none set behind it. False for what is no network.
 */
export function isReachableNetwork(network: string): boolean {
  if (!ipaddr.IPv4.isValidCIDR(network)) return false;
  const [{ octets }, bits] = ipaddr.IPv4.parseCIDR(network);
  // What packets do not arrive at are blocks of /16 and larger, and the very last address, which lies in one.
  const [first = 0, second = 0] = octets;
  const seconds = bits < 16 ? Array.from({ length: 2 ** (16 - bits) }, (_, index) => second + index) : [second];
  return seconds.every((next) => isReachableClass(addressClass(`${first}.${next}.0.0`)));
}

/** An address as people write it: IPv4 in its own form where a socket of both families says `::ffff:192.0.2.1`. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/iu, '');
}

/**
 * The IPv4 address that an IPv6 address carries in its last 32 bits, in any way of writing it: mapped, compatible (RFC
 * 4291, 2.5.5) or of NAT64 (RFC 6052, 2.1). Null: it is none of these.
 */
export function carriedAddress(address: string): string | null {
  if (!isAddress(address)) return null;
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6) || !CARRYING.some((block) => parsed.match(block))) return null;
  return ipaddr.fromByteArray(parsed.toByteArray().slice(-4)).toString();
}

function isAddress(address: string): boolean {
  return isIP(address) !== 0 && !address.includes('%');
}

function classOf(parsed: ipaddr.IPv4 | ipaddr.IPv6): AddressClass {
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv4) {
    if (range === 'reserved' && parsed.match(FUTURE)) return 'future';
    return range === 'unicast' ? 'global' : (CLASSES[range] ?? 'special');
  }
  if (range !== 'unicast') return CLASSES[range] ?? 'special';
  if (isIsatap(parsed)) return 'special';
  return parsed.match(GLOBAL_UNICAST) ? 'global' : 'unassigned';
}

/** An interface id of ISATAP, with the IPv4 address in the last 32 bits, under any prefix. Source: RFC 5214, 6.1. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & ~0x0200) === 0 && address.parts[5] === 0x5efe;
}
