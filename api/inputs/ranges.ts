/** Address ranges that a cluster may have. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { isReachableNetwork } from '../../transport/net/addresses.ts';

/** Longest and shortest IPv4 prefix of a cluster. Same bounds as the setting CLUSTER_V4_SUBNET_PREFIX. */
const V4_PREFIX_MIN = 8;
const V4_PREFIX_MAX = 30;

/** Prefix of every IPv6 range. Source: docs/api.md, Resources. */
const V6_PREFIX = 64;

/**
 * An IPv4 network such as `100.64.1.0/24`: a prefix of 8 to 30 bits, and no bit set behind it; one in which machines
 * can have addresses.
 */
export const ipv4Range = z
  .cidrv4({ abort: true })
  .regex(/\/(?:[89]|[12]\d|30)$/u, {
    error: `must be a network address with a prefix from ${V4_PREFIX_MIN} to ${V4_PREFIX_MAX}, such as 100.64.1.0/24`,
    abort: true,
  })
  .refine(isV4Network, {
    error: `must be a network address with a prefix from ${V4_PREFIX_MIN} to ${V4_PREFIX_MAX}, such as 100.64.1.0/24`,
    abort: true,
  })
  .refine(
    isForMachines,
    'must not be a loopback, link-local, multicast or reserved network: machines can have no addresses there',
  );

/** A unique local IPv6 network (RFC 4193) such as `fd12:3456:789a::/64`. Kept in its short form. */
export const ipv6Range = z
  .cidrv6({ abort: true })
  .meta({ pattern: '^[Ff][CcDd][0-9A-Fa-f]{2}:[0-9A-Fa-f:]+/64$' })
  .refine(
    isUlaNetwork,
    'must be a unique local /64 (fc00::/7) with no bit set behind the prefix, such as fd12:3456:789a:1::/64',
  );

function isV4Network(range: string): boolean {
  const [address = '', prefixText = ''] = range.split('/');
  const prefix = Number(prefixText);
  if (prefix < V4_PREFIX_MIN || prefix > V4_PREFIX_MAX) return false;
  const bits = address.split('.').reduce((value, octet) => value * 256 + Number(octet), 0);
  return bits % 2 ** (32 - prefix) === 0;
}

function isForMachines(range: string): boolean {
  // what is no range is said already
  return !isIPv4(range.split('/')[0] ?? '') || isReachableNetwork(range);
}

function isUlaNetwork(range: string): boolean {
  const [address = '', prefixText = ''] = range.split('/');
  const groups = v6Groups(address);
  return (
    Number(prefixText) === V6_PREFIX &&
    groups !== null &&
    ((groups[0] ?? 0) & 0xfe00) === 0xfc00 &&
    groups.slice(4).every((group) => group === 0)
  );
}

/** The eight groups of an IPv6 address, by the URL parser's own normal form; null when it is none. */
function v6Groups(address: string): readonly number[] | null {
  if (!URL.canParse(`http://[${address}]/`)) return null;
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}
