/** Who is in the VPN of a cluster, from the rows of its members and its gateway. */
import {
  soundPeers,
  VPN_ALIASES_MAX,
  VPN_PEERS_MAX,
  type LeftOutPeer,
  type VpnPeer,
} from '../../transport/protocol/vpn.ts';
import type { VpnGatewayRecord, VpnMemberRecord } from '../records.ts';

/** Why a machine is in a cluster and not in its VPN, where that has as many members as one frame holds. */
const IS_FULL = `a VPN has at most ${VPN_PEERS_MAX} members`;

/**
 * The gateway first: of more members than a frame holds, it is never the one that is left out, nor is it a member that
 * says it has the gateway's key.
 */
export function peersOf(
  members: readonly VpnMemberRecord[],
  gateway: VpnGatewayRecord | null,
): { readonly peers: ReadonlyMap<string, VpnPeer>; readonly leftOut: readonly LeftOutPeer[] } {
  const others = members.filter(({ publicKey }) => publicKey !== gateway?.publicKey);
  const { sound, leftOut } = soundPeers([
    ...(gateway === null ? [] : [gatewayPeer(gateway)]),
    ...others.map(memberPeer),
  ]);
  const beyond = sound.slice(VPN_PEERS_MAX).map(({ node }) => ({ node, reason: IS_FULL }));
  return {
    peers: new Map(sound.slice(0, VPN_PEERS_MAX).map((peer) => [peer.public_key, peer])),
    leftOut: [...leftOut, ...beyond],
  };
}

function memberPeer(member: VpnMemberRecord): VpnPeer {
  const observed = member.observed === null || member.endpoints.includes(member.observed) ? [] : [member.observed];
  return {
    node: member.node,
    public_key: member.publicKey,
    ipv4: member.ipv4,
    ipv6: member.ipv6,
    endpoints: [...member.endpoints, ...observed],
    relay_region: member.relayRegion,
    aliases: member.aliases.slice(0, VPN_ALIASES_MAX),
  };
}

function gatewayPeer(gateway: VpnGatewayRecord): VpnPeer {
  return {
    node: null,
    public_key: gateway.publicKey,
    ipv4: gateway.ipv4,
    ipv6: gateway.ipv6,
    endpoints: [...gateway.endpoints],
    relay_region: gateway.relayRegion,
    aliases: [],
  };
}

/** Whether nothing about this peer changed. */
export function isSame(known: VpnPeer | undefined, peer: VpnPeer): boolean {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(peer);
}
