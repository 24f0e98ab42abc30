/** Whom an address stands for where something is counted by address: both sides count so. */
import { isIPv6 } from 'node:net';
import { plainAddress } from './addresses.ts';

/** Bits that a site is given, and that one machine of it may use as it likes. Source: RFC 4291, 2.5.1; RFC 7421. */
const SITE_GROUPS = 4;

/**
 * The /64 of an IPv6 address, such as `2001:db8:1:2::/64`, since one machine has all of it; the IPv4 address of one
 * that a socket of both families writes as `::ffff:192.0.2.1`; everything else as it is.
 */
export function sourceNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.includes('.')) return plainAddress(address);
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [
    ...before,
    ...Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => '0'),
    ...after,
  ];
  return `${groups
    .slice(0, SITE_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
