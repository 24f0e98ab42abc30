/**
 * Which addresses may be reached (R2). Pure, knows nothing of this project, and takes only what `ipaddr.js` knows of
 * the registries plus the addresses below, so that the agent can import it too.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * What an address is: `public` may always be reached, `private` and `loopback` only where these are open, `reserved`
 * (link-local, or set aside by the registries) only where the operator names it, `forbidden` (metadata services, forms
 * that carry an IPv4 address, multicast, text that is no address) not even with a range or a name that holds it.
 */
export type AddressKind = 'public' | 'private' | 'loopback' | 'reserved' | 'forbidden';

/**
 * What an operator said about one host: never; or also against the rules, as far as it is not forbidden; or, which can
 * be said of a single address only, in any case.
 */
export type Ruling = 'blocked' | 'opened' | 'opened in any case';

/** What is opened beyond public addresses, and what is closed. */
export interface AddressPolicy {
  /** RFC 1918, unique-local and carrier-grade NAT addresses too. */
  readonly allowPrivate: boolean;
  /** This machine itself too; as `allowPrivate` unless given. */
  readonly allowLoopback?: boolean;
  /**
   * What the operator said about a host, a name in lower case without a last dot or an address. It comes before the
   * rules; undefined leaves it to them.
   */
  readonly rulingOn?: (host: string) => Ruling | undefined;
}

/** Kinds by the names of ranges in `ipaddr.js`, where they are not unicast. What is missing here is forbidden. */
const KINDS: Readonly<Record<string, AddressKind>> = {
  loopback: 'loopback', // RFC 1122 3.2.1.3, RFC 4291 2.5.3
  private: 'private', // RFC 1918
  carrierGradeNat: 'private', // RFC 6598
  uniqueLocal: 'private', // RFC 4193
  linkLocal: 'reserved', // RFC 3927, RFC 4291 2.5.6
  reserved: 'reserved', // RFC 6890 and later: documentation, benchmarks, protocols, not assigned
};

/** Global unicast as far as it is assigned. Source: IANA's IPv6 address space, RFC 4291 2.4. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

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
 * What an address, written as a resolver writes it, is. Everything else is forbidden: text that is no address, short,
 * octal and hex forms, zones. So is every IPv6 address that carries an IPv4 one (mapped, compatible, translated, NAT64,
 * 6to4, Teredo,
 * ISATAP), whatever it carries: who means the IPv4 address writes that.
 */
export function addressKind(address: string): AddressKind {
  if (isIP(address) === 0 || address.includes('%')) return 'forbidden';
  const parsed = ipaddr.parse(address);
  if (METADATA.some(([block, bits]) => parsed.kind() === block.kind() && parsed.match(block, bits))) return 'forbidden';
  const range = parsed.range();
  if (range !== 'unicast') return KINDS[range] ?? 'forbidden';
  return parsed instanceof ipaddr.IPv6 && (!parsed.match(GLOBAL_UNICAST) || isIsatap(parsed)) ? 'forbidden' : 'public';
}

/**
 * Whether an address may be reached under the policy. `isNameOpened`: the operator opened the name that it was found
 * under.
 */
export function isAllowedAddress(address: string, policy: AddressPolicy, isNameOpened = false): boolean {
  const ruling = policy.rulingOn?.(address);
  if (ruling === 'blocked' || ruling === 'opened in any case') return ruling !== 'blocked';
  const isOpened = isNameOpened || ruling === 'opened';
  const isAllowed: Readonly<Record<AddressKind, boolean>> = {
    public: true,
    private: isOpened || policy.allowPrivate,
    loopback: isOpened || (policy.allowLoopback ?? policy.allowPrivate),
    reserved: isOpened,
    forbidden: false,
  };
  return isAllowed[addressKind(address)];
}

/** Whether an address is public unicast: what may be reached where nothing else was opened. */
export function isPublicAddress(address: string): boolean {
  return addressKind(address) === 'public';
}

/** An interface id of ISATAP, with the IPv4 address in the last 32 bits, under any prefix. Source: RFC 5214, 6.1. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & ~0x0200) === 0 && address.parts[5] === 0x5efe;
}
