/** What an interface should hold, compared with what it holds. Pure. */
import type { DevicePeer, DeviceRefusals, PeerReading } from '../wireguard/device.ts';
import type { VpnPeer } from '../../protocol/vpn.ts';
import { KEEPALIVE_SECONDS } from './limits.ts';
import type { MemberRefusals, WantedMember } from './member.ts';

/** What has to be done to the interface. */
export interface PeerChange {
  readonly set: readonly DevicePeer[];
  readonly removed: readonly string[];
  /** Of `set`: members that were not there at all. They keep silent until their path says where to speak. */
  readonly met: readonly string[];
}

/** What an interface was found to be, and is to be now. */
export interface Becoming {
  readonly target: WantedMember;
  readonly readings: readonly PeerReading[];
  /** Peers that were not there before. */
  readonly met: ReadonlySet<string>;
  /** Keys that the interface does not take. */
  readonly refused: ReadonlyMap<string, string> | undefined;
  /** The key of this side is new. */
  readonly isRotated: boolean;
  readonly ownPublicKey: string;
}

/** Exactly these addresses are the peer's own. */
export function allowedIpsOf({ ipv4, ipv6 }: VpnPeer): readonly string[] {
  return [`${ipv4}/32`, `${ipv6}/128`];
}

/** `ownPublicKey` is no peer, whoever says so. */
export function changeOf(
  { peers, observers }: WantedMember,
  readings: readonly PeerReading[],
  ownPublicKey: string,
): PeerChange {
  const present = new Map(readings.map((reading) => [reading.publicKey, reading]));
  const seeing = new Map(
    observers
      .filter(({ publicKey }) => !peers.has(publicKey) && publicKey !== ownPublicKey)
      .map((observer) => [observer.publicKey, observer]),
  );
  const members = [...peers.values()].filter(({ public_key: publicKey }) => publicKey !== ownPublicKey);
  const met = members.filter(({ public_key: publicKey }) => !present.has(publicKey));
  const differing = members.filter((peer) => {
    const there = present.get(peer.public_key);
    return there !== undefined && !isSame(there.allowedIps, allowedIpsOf(peer));
  });
  const observing = [...seeing.values()].filter(({ publicKey, endpoint }) => {
    const there = present.get(publicKey);
    return there === undefined || there.endpoint !== endpoint || there.allowedIps.length > 0;
  });
  return {
    met: met.map(({ public_key: publicKey }) => publicKey),
    removed: readings
      .map(({ publicKey }) => publicKey)
      .filter((publicKey) => publicKey === ownPublicKey || (!peers.has(publicKey) && !seeing.has(publicKey))),
    set: [
      ...met.map((peer) => ({
        publicKey: peer.public_key,
        allowedIps: allowedIpsOf(peer),
        endpoint: null,
        keepaliveSeconds: 0,
      })),
      ...differing.map((peer) => ({
        publicKey: peer.public_key,
        allowedIps: allowedIpsOf(peer),
        endpoint: null,
        keepaliveSeconds: KEEPALIVE_SECONDS,
      })),
      ...observing.map(({ publicKey, endpoint }) => ({
        publicKey,
        allowedIps: [],
        endpoint,
        keepaliveSeconds: KEEPALIVE_SECONDS,
      })),
    ],
  };
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && others.every((one) => some.includes(one));
}

/** What the interface does not take of what is wanted. */
export function refusalsOf(
  { peers, addresses }: DeviceRefusals,
  { peers: wanted }: WantedMember,
): Omit<MemberRefusals, 'taken'> {
  return {
    peers: [...peers].flatMap(([key, reason]) => {
      const peer = wanted.get(key);
      return peer === undefined ? [] : [{ node: peer.node, reason }];
    }),
    addresses: [...addresses.keys()],
  };
}
