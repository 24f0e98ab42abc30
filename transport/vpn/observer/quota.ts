/** How many handshakes may be begun: by all, and by each source, in bounded memory. */
import {
  HANDSHAKES_BURST_MAX,
  HANDSHAKES_PER_SECOND_MAX,
  SOURCE_HANDSHAKES_BURST_MAX,
  SOURCE_HANDSHAKES_PER_SECOND_MAX,
  SOURCES_MAX,
} from './limits.ts';

interface Bucket {
  left: number;
  atMs: number;
}

/** Bits of an IPv6 address that one customer of a provider has, in groups of 16. Source: RFC 6177. */
const IPV6_SOURCE_GROUPS = 4;

/** Whether one more handshake of this address is within limits; counted when it is. */
export type HandshakeQuota = (address: string, nowMs: number) => boolean;

/** Nothing begun so far. `nowMs` must never go back. */
export function createHandshakeQuota(): HandshakeQuota {
  const all: Bucket = { left: HANDSHAKES_BURST_MAX, atMs: 0 };
  const sources = new Map<string, Bucket>();

  return (address, nowMs) => {
    fill(all, HANDSHAKES_PER_SECOND_MAX, HANDSHAKES_BURST_MAX, nowMs);
    if (all.left < 1) return false;
    const source = sourceOf(address);
    const bucket = sources.get(source) ?? { left: SOURCE_HANDSHAKES_BURST_MAX, atMs: nowMs };
    sources.delete(source); // so that insertion order stays the order of age
    if (sources.size >= SOURCES_MAX) sources.delete(sources.keys().next().value ?? '');
    sources.set(source, bucket);
    fill(bucket, SOURCE_HANDSHAKES_PER_SECOND_MAX, SOURCE_HANDSHAKES_BURST_MAX, nowMs);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    all.left -= 1;
    return true;
  };
}

function fill(bucket: Bucket, perSecond: number, burst: number, nowMs: number): void {
  bucket.left = Math.min(burst, bucket.left + (Math.max(0, nowMs - bucket.atMs) * perSecond) / 1_000);
  bucket.atMs = nowMs;
}

function sourceOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = address.includes('::') ? 8 - groups.length - (tail === '' ? 0 : tail.split(':').length) : 0;
  return [...groups, ...Array.from({ length: missing }, () => '0')].slice(0, IPV6_SOURCE_GROUPS).join(':');
}
