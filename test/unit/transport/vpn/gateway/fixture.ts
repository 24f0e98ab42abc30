/** VPNs of clusters for a gateway, and a member that stands for the interface. */
import { setImmediate as turn } from 'node:timers/promises';
import type { GatewayVpn } from '../../../../../actors/vpn/effects.ts';
import {
  NOTHING_REFUSED,
  type Member,
  type MemberPlace,
  type MemberPorts,
  type MemberRefusals,
  type PeerPath,
  type WantedMember,
} from '../../../../../transport/vpn/member/member.ts';
import type { ClusterId, NodeId } from '../../../../../transport/protocol/ids.ts';
import type { VpnPeer } from '../../../../../transport/protocol/vpn.ts';
import type { DeviceBackend } from '../../../../../transport/vpn/wireguard/device.ts';

/** A key that is none of anybody's: 32 bytes of which the first tells it from others. */
export function key(number: number): string {
  return Buffer.from([number >> 8, number & 0xff, ...Array<number>(30).fill(0)]).toString('base64');
}

/** The id of cluster `number`. */
export function clusterId(number: number): ClusterId {
  return `0190f5c2-7a11-4c3e-8f00-0000000c00${String(number).padStart(2, '0')}` as ClusterId;
}

/** The id of a node of a cluster. */
export function nodeId(cluster: number, index: number): NodeId {
  return `0190f5c2-7a11-4c3e-8f00-00000a${String(cluster).padStart(2, '0')}${String(index).padStart(4, '0')}` as NodeId;
}

/** A member of a cluster's VPN. */
export function member(cluster: number, index: number, changes: Partial<VpnPeer> = {}): VpnPeer {
  return {
    node: nodeId(cluster, index),
    public_key: key(cluster * 256 + index),
    ipv4: `100.64.${cluster}.${index}`,
    ipv6: `fd00:0:0:${cluster}::${index}`,
    endpoints: [`198.51.100.${index}:51820`],
    relay_region: null,
    aliases: [],
    ...changes,
  };
}

/** The VPN of cluster `number` with these members. */
export function vpn(number: number, members: readonly VpnPeer[]): GatewayVpn {
  return {
    cluster: clusterId(number),
    clusterName: `cluster-${number}`,
    ipv4Range: `100.64.${number}.0/24`,
    ipv6Range: `fd00:0:0:${number}::/64`,
    peers: new Map(members.map((peer) => [peer.public_key, peer])),
    leftOut: [],
  };
}

/** What stands for the interface. */
export interface RecordingMember extends Member {
  readonly wanted: WantedMember[];
  readonly tries: string[];
  readonly ports: MemberPorts;
  isClosed: boolean;
  paths: () => readonly PeerPath[];
  say: { problem: string | null; place: MemberPlace; backend: DeviceBackend; refused: MemberRefusals };
}

/** Remembers what it should be; its paths and its place are what a test says. */
export function recordingMember(wanted: WantedMember, ports: MemberPorts): RecordingMember {
  const all = [wanted];
  const tries: string[] = [];
  const made: RecordingMember = {
    wanted: all,
    tries,
    ports,
    isClosed: false,
    say: {
      problem: null,
      place: { listenPort: 51_820, endpoints: ['203.0.113.1:51820'], relayRegion: 900 },
      backend: 'user-space',
      refused: NOTHING_REFUSED,
    },
    become: (next) => {
      all.push(next);
    },
    tryDirect: (publicKey) => {
      tries.push(publicKey);
    },
    paths: () => [],
    place: () => made.say.place,
    backend: () => made.say.backend,
    refused: () => made.say.refused,
    problem: () => made.say.problem,
    close: async () => {
      made.isClosed = true;
    },
  };
  return made;
}

/** A path to a peer whose last handshake was so long ago. */
export function path(publicKey: string, handshakeAgeMs: number | null, how: PeerPath['path'] = 'direct'): PeerPath {
  return {
    publicKey,
    path: how,
    relayRegion: how === 'relayed' ? 900 : null,
    handshakeAgeMs,
    mtu: null,
    receivedBytes: 10,
    sentBytes: 20,
  };
}

/** Lets what was begun go on until it waits for something real. */
export async function settled(): Promise<void> {
  for (let left = 50; left > 0; left -= 1) await turn();
}
