/** A relay map as it is published, a DERPMap in JSON, and what is made of it here. Source: tailcfg.DERPMap. */
import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import type { Vet } from '../../net/outbound-guard/vetting.ts';

/** Largest map, in bytes. The largest public one takes some 40 KiB. */
export const MAP_BYTES_MAX = 1_048_576;

/** Regions of a map, and relays of a region. The largest public map has some 30 of up to 4. */
export const REGIONS_MAX = 256;
export const NODES_MAX = 16;

/** Where relays listen unless a map says otherwise. Source: tailcfg.DERPNode.DERPPort. */
export const DERP_PORT = 443;

/**
 * How a relay's certificate is known: by a name that an authority vouches for, by its SHA-256 alone (hex), or not at
 * all.
 */
export type RelayIdentity =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'pin'; readonly sha256: string }
  | { readonly kind: 'unverified' };

/** One relay of a region. */
export interface RelayNode {
  readonly name: string;
  readonly hostName: string;
  readonly port: number;
  /** Where it is, without asking for its name; empty: its name is asked for. */
  readonly addresses: readonly string[];
  /** Families of addresses under which it is not. */
  readonly closedFamilies: readonly (4 | 6)[];
  readonly identity: RelayIdentity;
}

/** Relays that stand for each other. */
export interface RelayRegion {
  readonly id: number;
  readonly code: string;
  /** Whether members may choose it to wait there. */
  readonly isHome: boolean;
  /** By how much its latency is multiplied in that choice. */
  readonly score: number;
  /** In the order in which they are tried; at least one. */
  readonly nodes: readonly [RelayNode, ...RelayNode[]];
}

/** A whole map, at least one region. */
export interface RelayMap {
  readonly regions: ReadonlyMap<number, RelayRegion>;
}

/** How relays are reached, beyond what a map says of them. */
export interface RelayReach {
  /**
   * Where nobody is sent, whatever a map says (R2). Unless given: metadata services and reserved addresses; a relay may
   * stand in a private network.
   */
  readonly vet?: Vet;
  /** Authorities to trust beside those of Node, PEM. */
  readonly ca?: string;
}

/** Whether who is connected to a relay of the one region is where he would be by the other. */
export function hasSameRelays(one: RelayRegion, other: RelayRegion): boolean {
  return JSON.stringify(one.nodes) === JSON.stringify(other.nodes);
}

const PIN = 'sha256-raw:';

const Host = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[\w.:-]+$/u);

const Node = z.object({
  Name: z.string().max(128),
  RegionID: z.int().optional(),
  HostName: Host,
  CertName: z
    .string()
    .max(512)
    .optional()
    .refine((name) => name === undefined || !name.startsWith(PIN) || /^[\da-f]{64}$/iu.test(name.slice(PIN.length))),
  IPv4: z
    .string()
    .optional()
    .refine((text) => text === undefined || ['', 'none'].includes(text) || isIPv4(text)),
  IPv6: z
    .string()
    .optional()
    .refine((text) => text === undefined || ['', 'none'].includes(text) || isIPv6(text)),
  STUNOnly: z.boolean().optional(),
  DERPPort: z.int().min(0).max(65_535).optional(),
  InsecureForTests: z.boolean().optional(),
});

const Region = z.object({
  RegionID: z.int().min(1).max(65_535),
  RegionCode: z.string().max(64).optional(),
  Avoid: z.boolean().optional(),
  NoMeasureNoHome: z.boolean().optional(),
  Nodes: z.array(Node.nullable()).max(NODES_MAX).nullable().optional(),
});

const Score = z.number().positive().max(1_000_000);

const DerpMap = z.object({
  Regions: z.record(z.string().regex(/^\d{1,5}$/u), Region.nullable()),
  HomeParams: z
    .object({ RegionScore: z.record(z.string(), Score).nullable().optional() })
    .nullable()
    .optional(),
});

/**
 * Reads a map. Unknown fields are passed over, regions without a relay skipped; anything else that is not as it should
 * be makes the whole map unusable, as half a map would put members where others do not look for them. A problem is half
 * a sentence: "it is no relay map".
 */
export function readRelayMap(
  text: string,
): { readonly ok: true; readonly map: RelayMap } | { readonly ok: false; readonly problem: string } {
  if (Buffer.byteLength(text) > MAP_BYTES_MAX) return unusable('it is too large');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unusable('it is no relay map');
  }
  const read = DerpMap.safeParse(value);
  if (!read.success) {
    const where = read.error.issues[0]?.path.join('.').slice(0, 80) ?? '';
    return unusable(where === '' ? 'it is no relay map' : `it is no relay map: ${where} is wrong`);
  }
  const { Regions: given, HomeParams: home } = read.data;
  if (Object.keys(given).length > REGIONS_MAX) return unusable(`it has more than ${REGIONS_MAX} regions`);
  const regions = new Map<number, RelayRegion>();
  for (const [key, region] of Object.entries(given)) {
    if (region === null) continue;
    if (region.RegionID !== Number(key))
      return unusable(`it is no relay map: region ${key} says that it is ${region.RegionID}`);
    const [first, ...others] = (region.Nodes ?? [])
      .filter((node) => node !== null && node.STUNOnly !== true)
      .map((node) => relayNode(node as z.output<typeof Node>));
    if (first === undefined) continue;
    regions.set(region.RegionID, {
      id: region.RegionID,
      code: region.RegionCode ?? key,
      isHome: region.Avoid !== true && region.NoMeasureNoHome !== true,
      score: home?.RegionScore?.[key] ?? 1,
      nodes: [first, ...others],
    });
  }
  return regions.size === 0 ? unusable('it names no relay') : { ok: true, map: { regions } };
}

function relayNode(node: z.output<typeof Node>): RelayNode {
  const literals = [node.IPv4, node.IPv6];
  return {
    name: node.Name,
    hostName: node.HostName,
    port: node.DERPPort === undefined || node.DERPPort === 0 ? DERP_PORT : node.DERPPort,
    addresses: literals.filter((text): text is string => text !== undefined && text !== '' && text !== 'none'),
    closedFamilies: ([4, 6] as const).filter((_, index) => literals[index] === 'none'),
    identity: identityOf(node),
  };
}

function identityOf({
  CertName: name,
  HostName: host,
  InsecureForTests: isInsecure,
}: z.output<typeof Node>): RelayIdentity {
  if (isInsecure === true) return { kind: 'unverified' };
  if (name === undefined || name === '') return { kind: 'name', name: host };
  return name.startsWith(PIN) ? { kind: 'pin', sha256: name.slice(PIN.length).toLowerCase() } : { kind: 'name', name };
}

function unusable(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
