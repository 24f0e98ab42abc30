/**
 * The wire of the VPN: what members of a cluster's WireGuard VPN are told of each other, and what they say of
 * themselves.
 */
import { z } from 'zod';
import { AliasName, ClusterName } from './cluster-names.ts';
import { NodeId } from './ids.ts';
import { wireText } from './text.ts';
import {
  HostIpv4,
  HostIpv6,
  isEndpoint,
  isWireguardKey,
  RangeIpv4,
  RangeIpv6,
  UdpPort,
  WireguardEndpoint,
  WireguardKey,
} from './wireguard.ts';

/** Endpoints that one member publishes. A machine with more interfaces names those that are likeliest to be reached. */
export const VPN_ENDPOINTS_MAX = 8;

/**
 * Peers of one member, and so members of one VPN: beyond, a machine is let into the cluster but not into its
 * VPN. One frame must hold them all.
 */
export const VPN_PEERS_MAX = 512;

/** Aliases of one peer that become names. */
export const VPN_ALIASES_MAX = 16;

/** Observers that an agent is told of: two tell the kind of a NAT. */
export const VPN_OBSERVERS_MAX = 4;

/** Wait for a simultaneous try to begin, in ms. */
export const VPN_TRY_IN_MS_MAX = 5_000;

/** Region of a relay map. Source: DERPMap. */
export const RelayRegion = z.int().min(1).max(65_535);

/**
 * One state of a VPN, as its owner counts: the epoch of the ownership, and a number that rises with each change and
 * is no other VPN's of the same admin.
 */
export const VpnRevision = z.object({ epoch: z.int().min(1), number: z.int().min(0) });
export type VpnRevision = z.infer<typeof VpnRevision>;

/**
 * Another member. `node` is null for the gateway of the admin that owns the cluster. Addresses are plain, of one host
 * each.
 */
export const VpnPeer = z.object({
  node: NodeId.nullable(),
  public_key: WireguardKey,
  ipv4: HostIpv4,
  ipv6: HostIpv6,
  endpoints: z.array(WireguardEndpoint).max(VPN_ENDPOINTS_MAX * 2),
  relay_region: RelayRegion.nullable(),
  aliases: z.array(AliasName).max(VPN_ALIASES_MAX),
});
export type VpnPeer = z.infer<typeof VpnPeer>;

/** Any text where a peer has a key, an address or an endpoint, in characters. */
const WORD_CHARACTERS_MAX = 64;

/** What stands for a key that may be none: of a peer that goes, or of one that is looked at alone. */
export const ToldKey = wireText().max(WORD_CHARACTERS_MAX);

/**
 * A peer as an admin tells of it. What WireGuard must take is only bounded here and looked at by `soundPeers`: one bad
 * peer, told by an admin that knew no better, would else be the end of the frame, and of every change to the others
 * (R4).
 */
export const ToldVpnPeer = VpnPeer.extend({
  public_key: ToldKey,
  ipv4: ToldKey,
  ipv6: ToldKey,
  endpoints: z.array(ToldKey).max(VPN_ENDPOINTS_MAX * 2),
});

/** A peer that no interface would take, and why, in a few words without the value. `node` is null for a gateway. */
export interface LeftOutPeer {
  readonly node: NodeId | null;
  readonly reason: string;
}

/** Those that every interface takes, and the others. An endpoint that is none is left out by itself. */
export function soundPeers(peers: Iterable<VpnPeer>): {
  readonly sound: readonly VpnPeer[];
  readonly leftOut: readonly LeftOutPeer[];
} {
  const sound: VpnPeer[] = [];
  const leftOut: LeftOutPeer[] = [];
  for (const peer of peers) {
    const reason = isWireguardKey(peer.public_key)
      ? hasAddresses(peer)
        ? null
        : 'its address in the VPN is none'
      : 'its WireGuard key is none';
    if (reason !== null) leftOut.push({ node: peer.node, reason });
    else
      sound.push(peer.endpoints.every(isEndpoint) ? peer : { ...peer, endpoints: peer.endpoints.filter(isEndpoint) });
  }
  return { sound, leftOut };
}

/** Those that are named when some are left out; the rest is counted. */
export const LEFT_OUT_NAMED_MAX = 4;

/** Says which are left out and why, in one sentence without addresses; null: none. */
export function leftOutNote(peers: readonly LeftOutPeer[]): string | null {
  if (peers.length === 0) return null;
  const named = peers
    .slice(0, LEFT_OUT_NAMED_MAX)
    .map(({ node, reason }) => `${node === null ? 'the gateway' : `node ${node}`} (${reason})`);
  return `left out of the VPN: ${named.join(', ')}${peers.length > LEFT_OUT_NAMED_MAX ? `, and ${peers.length - LEFT_OUT_NAMED_MAX} more` : ''}`;
}

function hasAddresses({ ipv4, ipv6 }: VpnPeer): boolean {
  return HostIpv4.safeParse(ipv4).success && HostIpv6.safeParse(ipv6).success;
}

/**
 * The VPN as one member sees it, without its peers. `ipv4_range` and `ipv6_range` are those of the whole cluster.
 */
export const VpnMembership = z.object({
  cluster_name: ClusterName,
  /** `<cluster>.<DOMAIN>`, below which names of members are. */
  domain: wireText().max(253),
  /** The key under which this member is known to the others: the one to use. */
  public_key: WireguardKey,
  ipv4: HostIpv4,
  ipv6: HostIpv6,
  ipv4_range: RangeIpv4,
  ipv6_range: RangeIpv6,
  mtu: z.int().min(1_280).max(9_000),
  /** Aliases of this member itself. */
  aliases: z.array(AliasName).max(VPN_ALIASES_MAX),
});
export type VpnMembership = z.infer<typeof VpnMembership>;

/** What a member says of itself. Its addresses in the VPN are not its own to choose. */
export const VpnAdvertisement = z.object({
  public_key: WireguardKey,
  listen_port: UdpPort,
  /** Of its own interfaces. What NATs make of them is observed, not claimed. */
  endpoints: z.array(WireguardEndpoint).max(VPN_ENDPOINTS_MAX),
  relay_region: RelayRegion.nullable(),
  /** The state that it holds already; null: none. */
  revision: VpnRevision.nullable(),
});
export type VpnAdvertisement = z.infer<typeof VpnAdvertisement>;

/** How packets go to a peer. */
export const VPN_PATHS = ['direct', 'relayed', 'none'] as const;
export type VpnPath = (typeof VPN_PATHS)[number];

/** How well a member is connected: counts of its peers by path, and the gateway apart, null when there is none. */
export const VpnReport = z.object({
  direct: z.int().min(0).max(VPN_PEERS_MAX),
  relayed: z.int().min(0).max(VPN_PEERS_MAX),
  none: z.int().min(0).max(VPN_PEERS_MAX),
  gateway: z.object({ path: z.enum(VPN_PATHS), handshake_age_ms: z.int().min(0).nullable() }).nullable(),
});
export type VpnReport = z.infer<typeof VpnReport>;

/**
 * Where a member's WireGuard socket is seen from outside: a peer without addresses, which answers handshakes and
 * nothing else. Null host: the one of the admin's URL.
 */
export const VpnObserver = z.object({ host: wireText().max(253).nullable(), port: UdpPort, public_key: WireguardKey });
export type VpnObserver = z.infer<typeof VpnObserver>;

/**
 * How agents join their VPN: coordinated by the admin; by Netmaker's client, once they get a `netmaker-join`; or
 * not at all.
 */
export const VpnSettings = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('embedded'), observers: z.array(VpnObserver).max(VPN_OBSERVERS_MAX) }),
  z.object({ mode: z.literal('netmaker') }),
  z.object({ mode: z.literal('off') }),
]);
export type VpnSettings = z.infer<typeof VpnSettings>;
