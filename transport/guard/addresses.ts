/**
 * Which addresses may be reached (R2). Pure, knows nothing of this project, and takes only what `ipaddr.js` knows of the
 * registries plus the addresses below, so that the agent can import it too.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * What an address is: `public` may always be reached, `private` only where the operator opens private networks,
 * `forbidden` never.
 */
export type AddressKind = 'public' | 'private' | 'forbidden';

/** What the operator opens beyond public addresses. */
export interface AddressPolicy {
  /** Loopback, RFC 1918, unique-local and carrier-grade NAT addresses too. */
  readonly allowPrivate: boolean;
}

/**
 * Ranges by their names in `ipaddr.js` that private networks use: RFC 1122 3.2.1.3 and RFC 4291 2.5.3 (loopback), RFC 1918
 * (private), RFC 6598 (carrier-grade NAT), RFC 4193 (unique-local).
 */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal']);

/** Global unicast as far as it is assigned. Source: IANA's IPv6 address space, RFC 4291 2.4. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/**
 * Where clouds serve credentials to whoever asks from the machine, as far as those addresses are public, or private ones that an
 * operator may open. The others lie where nothing is ever reached: link-local (169.254.169.254 of nearly all, 169.254.170.2
 * and .23 of AWS's containers) and reserved (192.0.0.192 of Oracle's classic cloud).
 */
const METADATA: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][] = [
  '168.63.129.16/32', // Azure's wire server: public unicast, reachable from inside only
  '100.100.100.200/32', // Alibaba Cloud
  'fd00:ec2::/32', // AWS: 254 metadata, 253 DNS, 23 pod identity
  'fd20:ce::/64', // Google Cloud: 254
  'fd00:c1::/64', // Oracle Cloud: a9fe:a9fe
  'fd00:a9fe:a9fe::/64', // Linode: 1
  'fd00:42::/64', // Scaleway: 42
].map((block) => ipaddr.parseCIDR(block));

/**
 * What an address, written as a resolver writes it, is. Everything else is forbidden: text that is no address, short, octal and
 * hex forms, zones. So is every IPv6 address that carries an IPv4 one (mapped, compatible, translated, NAT64, 6to4, Teredo,
 * ISATAP), whatever it carries: who means the IPv4 address writes that.
 */
export function addressKind(address: string): AddressKind {
  if (isIP(address) === 0 || address.includes('%')) return 'forbidden';
  const parsed = ipaddr.parse(address);
  if (METADATA.some(([block, bits]) => parsed.kind() === block.kind() && parsed.match(block, bits))) return 'forbidden';
  const range = parsed.range();
  if (PRIVATE_RANGES.has(range)) return 'private';
  if (range !== 'unicast') return 'forbidden';
  return parsed instanceof ipaddr.IPv6 && (!parsed.match(GLOBAL_UNICAST) || isIsatap(parsed)) ? 'forbidden' : 'public';
}

/** Whether an address may be reached under the policy. */
export function isAllowedAddress(address: string, policy: AddressPolicy): boolean {
  const kind = addressKind(address);
  return kind === 'public' || kind === 'private' && policy.allowPrivate;
}

/** Whether an address is public unicast: what may be reached where nothing else was opened. */
export function isPublicAddress(address: string): boolean {
  return addressKind(address) === 'public';
}

/** An interface id of ISATAP, with the IPv4 address in the last 32 bits, under any prefix. Source: RFC 5214, 6.1. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & ~0x0200) === 0 && address.parts[5] === 0x5efe;
}
