/**
 * VPNs of several clusters as one member: which of them an interface has room for, and whose peers they are. Pure.
 */
import type { GatewayVpn } from '../../../actors/vpn/effects.ts';
import type { ClusterId, NodeId } from '../../protocol/ids.ts';
import type { VpnPeer } from '../../protocol/vpn.ts';
import { rangesOf } from '../../net/endpoints.ts';

/** The gateway's own: an address of each family, plain and with the prefix length of its VPN. */
export interface GatewayAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
  readonly cidrs: readonly [string, string];
}

/** A VPN that can be joined: its members, without the gateway and without those whose addresses are not of it. */
export interface CheckedVpn {
  readonly vpn: GatewayVpn;
  readonly addresses: GatewayAddresses;
  readonly members: readonly VpnPeer[];
}

/** What comes of all of them. */
export interface MergedVpns {
  /** In the order in which they were given. */
  readonly joined: ReadonlyMap<ClusterId, CheckedVpn>;
  /** Those for which there is no room, in the order in which they were given. */
  readonly leftOut: readonly GatewayVpn[];
  readonly addresses: readonly string[];
  readonly peers: ReadonlyMap<string, VpnPeer>;
  /** By node: its key, and where it is a member. */
  readonly ofNode: ReadonlyMap<NodeId, { readonly publicKey: string; readonly cluster: ClusterId }>;
}

/** No VPN. */
export const NO_VPNS: MergedVpns = {
  joined: new Map(),
  leftOut: [],
  addresses: [],
  peers: new Map(),
  ofNode: new Map(),
};

/** The VPN of a cluster, checked: nobody in it can take an address of another cluster's, whatever the rows say. */
export function checkedVpn(vpn: GatewayVpn, ownKey: string | null): CheckedVpn {
  const ranges = rangesOf([vpn.ipv4Range, vpn.ipv6Range]);
  const members = [...vpn.peers.values()].filter(
    (peer) =>
      peer.node !== null &&
      peer.public_key !== ownKey &&
      ranges.check(peer.ipv4, 'ipv4') &&
      ranges.check(peer.ipv6, 'ipv6'),
  );
  return { vpn, addresses: gatewayAddresses(vpn.ipv4Range, vpn.ipv6Range), members };
}

/**
 * Host 1 of a cluster's ranges, as the rows write them: `100.64.7.0/24` and `fd00:1:2:3::/64`. Members have 2 and
 * above.
 */
export function gatewayAddresses(ipv4Range: string, ipv6Range: string): GatewayAddresses {
  const [network4 = '', prefix4 = ''] = ipv4Range.split('/');
  const [network6 = '', prefix6 = ''] = ipv6Range.split('/');
  const octets = network4.split('.').map(Number);
  // a network of 30 bits and less has an even last octet
  const ipv4 = [...octets.slice(0, 3), (octets[3] ?? 0) + 1].join('.');
  const ipv6 = `${network6}1`; // of 64 bits: it ends in ::
  return { ipv4, ipv6, cidrs: [`${ipv4}/${prefix4}`, `${ipv6}/${prefix6}`] };
}

/** What all VPNs together may have: bounded by what one interface takes, whatever a setting says. */
export interface MergeLimits {
  readonly peersMax: number;
  /** Addresses of the gateway, two a VPN. */
  readonly addressesMax: number;
}

/** Joins them, the first first, for as long as there is room. A key that comes twice is the first one's. */
export function mergeVpns(vpns: Iterable<CheckedVpn>, { peersMax, addressesMax }: MergeLimits): MergedVpns {
  const joined = new Map<ClusterId, CheckedVpn>();
  const leftOut: GatewayVpn[] = [];
  const peers = new Map<string, VpnPeer>();
  const ofNode = new Map<NodeId, { readonly publicKey: string; readonly cluster: ClusterId }>();
  let addresses = 0;
  for (const checked of vpns) {
    if (peers.size + checked.members.length > peersMax || addresses + checked.addresses.cidrs.length > addressesMax) {
      leftOut.push(checked.vpn);
      continue;
    }
    addresses += checked.addresses.cidrs.length;
    joined.set(checked.vpn.cluster, checked);
    for (const peer of checked.members) {
      if (peer.node === null || peers.has(peer.public_key)) continue;
      peers.set(peer.public_key, peer);
      ofNode.set(peer.node, { publicKey: peer.public_key, cluster: checked.vpn.cluster });
    }
  }
  return {
    joined,
    leftOut,
    addresses: [...joined.values()].flatMap(({ addresses }) => addresses.cidrs),
    peers,
    ofNode,
  };
}
