/** The VPN as this machine was told of it last, and what the machine is in it. Pure. */
import {
  soundPeers,
  type LeftOutPeer,
  type VpnMembership,
  type VpnPeer,
  type VpnRevision,
} from '../../transport/protocol/vpn.ts';
import type { WantedMember } from '../../transport/vpn/member/member.ts';
import { publicKeyOf } from '../../transport/vpn/wireguard/keys.ts';
import type { AdminVpnFrame } from '../session/ports.ts';

/** MTU until a VPN says another: what fits through every path. */
const MTU_MIN = 1_280;

/**
 * One state of the VPN. `peers` by public key, those alone that an interface takes; the others are `leftOut`, by
 * what stands for their key.
 */
export interface NetworkMap {
  readonly revision: VpnRevision;
  readonly network: VpnMembership;
  readonly peers: ReadonlyMap<string, VpnPeer>;
  readonly leftOut: ReadonlyMap<string, LeftOutPeer>;
}

/** A whole VPN. */
export function fullNetworkMap({
  revision,
  network,
  peers,
}: Extract<AdminVpnFrame, { type: 'mesh-network' }>): NetworkMap {
  return { revision, network, ...joined(new Map(), new Map(), peers) };
}

/**
 * The network map after a change: the same when it is no older than the change, as one that asks for what it misses
 * may be told it twice; null when the change follows another state.
 */
export function changedNetworkMap(
  known: NetworkMap | null,
  { from, to, set, removed }: Extract<AdminVpnFrame, { type: 'mesh-changed' }>,
): NetworkMap | null {
  if (known === null) return null;
  const { epoch, number } = known.revision;
  if (epoch === to.epoch && number >= to.number) return known;
  if (epoch !== from.epoch || number !== from.number) return null;
  const peers = new Map(known.peers);
  const leftOut = new Map(known.leftOut);
  for (const key of removed) {
    peers.delete(key);
    leftOut.delete(key);
  }
  return { ...known, revision: to, ...joined(peers, leftOut, set) };
}

/** Takes in those that are told now. */
function joined(
  peers: Map<string, VpnPeer>,
  leftOut: Map<string, LeftOutPeer>,
  told: readonly VpnPeer[],
): Pick<NetworkMap, 'peers' | 'leftOut'> {
  for (const peer of told) {
    const {
      sound: [sound],
      leftOut: [bad],
    } = soundPeers([peer]);
    if (bad === undefined) leftOut.delete(peer.public_key);
    else peers.delete(peer.public_key);
    if (sound !== undefined) peers.set(peer.public_key, sound);
    if (bad !== undefined) leftOut.set(peer.public_key, bad);
  }
  return { peers, leftOut };
}

/** What the member of this machine should be: without addresses and peers, unless the VPN is that of its key. */
export function wantedOf(
  privateKey: string,
  networkMap: NetworkMap | null,
  around: Pick<WantedMember, 'observers' | 'relayMap'>,
): WantedMember {
  // What was told for another key, or another machine's, is no VPN of this one.
  if (networkMap === null || networkMap.network.public_key !== publicKeyOf(privateKey))
    return { privateKey, addresses: [], mtu: MTU_MIN, peers: new Map(), ...around };
  const { network, peers } = networkMap;
  return {
    privateKey,
    addresses: [withPrefix(network.ipv4, network.ipv4_range), withPrefix(network.ipv6, network.ipv6_range)],
    mtu: network.mtu,
    peers,
    ...around,
  };
}

function withPrefix(address: string, range: string): string {
  return `${address}/${range.split('/')[1] ?? ''}`;
}
