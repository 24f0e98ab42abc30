/** Free address ranges for clusters created without one. */
import { randomBytes, randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { rowsOf, sql } from './sql.ts';

/** Where ranges are taken from: IPv4 networks, and the prefix length of what is taken. */
export interface RangeSettings {
  readonly v4Ranges: readonly string[];
  readonly v4Prefix: number;
}

/** First and last address, as numbers. */
interface Span {
  readonly first: number;
  readonly last: number;
}

/**
 * A free pair; null when the configured ranges are full. Chosen at random, so that creates at the same time seldom
 * choose the same.
 */
export async function freeRanges(
  pool: Pool,
  settings: RangeSettings,
): Promise<{ readonly ipv4Range: string; readonly ipv6Range: string } | null> {
  const rows = await rowsOf<{ first: string; last: string }>(
    pool,
    'finding a free address range',
    sql`
    select (host(network(ipv4_range))::inet - '0.0.0.0'::inet)::text as first, (host(broadcast(ipv4_range))::inet - '0.0.0.0'::inet)::text as last
    from cluster where family(ipv4_range) = 4 order by network(ipv4_range)`,
  );
  const taken = rows.map(({ first, last }): Span => ({ first: Number(first), last: Number(last) }));
  const ipv4Range = freeV4(settings, taken);
  return ipv4Range === null ? null : { ipv4Range, ipv6Range: randomUla() };
}

function freeV4({ v4Ranges, v4Prefix }: RangeSettings, taken: readonly Span[]): string | null {
  for (const range of v4Ranges) {
    const first = freeIn(spanOf(range), 2 ** (32 - v4Prefix), taken);
    if (first !== null) return `${dotted(first)}/${v4Prefix}`;
  }
  return null;
}

/**
 * First address of a free block of `size` in `within`: the first one behind a random place, else the first one at all.
 * `taken` is in order and does not overlap.
 */
function freeIn(within: Span, size: number, taken: readonly Span[]): number | null {
  const blocks = Math.floor((within.last - within.first + 1) / size);
  if (blocks < 1) return null;
  const start = within.first + randomInt(blocks) * size;
  return firstFree({ first: start, last: within.last }, size, taken) ?? firstFree(within, size, taken);
}

function firstFree({ first, last }: Span, size: number, taken: readonly Span[]): number | null {
  let candidate = first;
  for (const span of taken) {
    if (span.last < candidate) continue;
    if (span.first >= candidate + size) break;
    candidate = (Math.floor(span.last / size) + 1) * size;
  }
  return candidate + size - 1 <= last ? candidate : null;
}

function spanOf(range: string): Span {
  const [address = '', prefix = '32'] = range.split('/');
  const size = 2 ** (32 - Number(prefix));
  const value = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const first = Math.floor(value / size) * size;
  return { first, last: first + size - 1 };
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

/**
 * A unique local /64: 40 random bits of global id and 16 of subnet behind fd00::/8 (RFC 4193). Twins are refused by the
 * database.
 */
function randomUla(): string {
  const bytes = randomBytes(8);
  bytes[0] = 0xfd;
  return `${[0, 2, 4, 6].map((at) => bytes.readUInt16BE(at).toString(16)).join(':')}::/64`;
}
