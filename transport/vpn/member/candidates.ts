/** Which endpoints of a peer are tried, and in which order. Pure. */
import type { BlockList } from 'node:net';
import { isReachableClass, packetClass } from '../../net/addresses.ts';
import { endpointParts, rangesOf } from '../../net/endpoints.ts';
import { inSlices } from './slices.ts';

/** What this side knows of itself. */
export interface OwnPlace {
  /** Addresses of its interfaces with prefix lengths, such as `192.168.1.5/24`, without those of the VPN. */
  readonly addresses: readonly string[];
  /** Where it listens. */
  readonly listenPort: number;
  /** Of its VPNs, with prefix lengths. An endpoint in them would lead packets of the VPN into the VPN. */
  readonly vpnRanges: readonly string[];
}

/**
 * Best first: what is on a network of this machine, then what others see, then the rest; what cannot be, what is this
 * machine and what lies in the VPN is left out.
 */
export function candidatesOf(endpoints: readonly string[], own: OwnPlace): readonly string[] {
  const prepared = preparedOf(own);
  const known = prepared.found.get(endpoints);
  if (known !== undefined) return known;
  const found = ranked(endpoints, own, prepared);
  prepared.found.set(endpoints, found);
  return found;
}

/** Finds them beforehand, so that who asks for those of thousands of peers in one go has them at once. */
export async function prepareCandidates(
  peers: Iterable<{ readonly endpoints: readonly string[] }>,
  own: OwnPlace,
): Promise<void> {
  const { found } = preparedOf(own);
  const open = [...peers].filter(({ endpoints }) => !found.has(endpoints));
  await inSlices(open, (some) => {
    for (const { endpoints } of some) candidatesOf(endpoints, own);
  });
}

function ranked(
  endpoints: readonly string[],
  own: OwnPlace,
  { near, vpn, ownAddresses, families }: Prepared,
): readonly string[] {
  const all = [...new Set(endpoints)].flatMap((endpoint) => {
    const parts = endpointParts(endpoint);
    if (parts === null || vpn.check(parts.address, parts.family)) return [];
    const is = packetClass(parts.address);
    if (!isReachableClass(is)) return [];
    // Another member may stand on this machine, on a port of its own.
    if (ownAddresses.has(parts.address) && parts.port === own.listenPort) return [];
    if (!families.has(parts.family)) return [];
    const rank = near.check(parts.address, parts.family) ? 0 : is === 'private' ? 2 : 1;
    return [{ endpoint, rank }];
  });
  return all.toSorted((a, b) => a.rank - b.rank).map(({ endpoint }) => endpoint);
}

/** A place as it is compared with endpoints. */
interface Prepared {
  readonly near: BlockList;
  readonly vpn: BlockList;
  readonly ownAddresses: ReadonlySet<string | undefined>;
  readonly families: ReadonlySet<string>;
  /** Of endpoints that were asked for, by the list that they came in. */
  readonly found: WeakMap<readonly string[], readonly string[]>;
}

/** Made once for each place: a gateway has thousands of ranges, and as many peers. */
const PREPARED = new WeakMap<OwnPlace, Prepared>();

function preparedOf(own: OwnPlace): Prepared {
  const known = PREPARED.get(own);
  if (known !== undefined) return known;
  const prepared: Prepared = {
    near: rangesOf(own.addresses),
    vpn: rangesOf(own.vpnRanges),
    ownAddresses: new Set(own.addresses.map((cidr) => cidr.split('/')[0])),
    families: new Set(own.addresses.map((cidr) => (cidr.includes(':') ? 'ipv6' : 'ipv4'))),
    found: new WeakMap(),
  };
  PREPARED.set(own, prepared);
  return prepared;
}
