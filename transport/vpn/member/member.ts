/**
 * One member of one or more VPNs, on one WireGuard interface: its peers, the paths to them, and the relays between.
 * Knows nobody: an agent and an admin's gateway are made of it.
 */
import type { RelayMap } from '../relay-map/map.ts';
import type { LeftOutPeer, VpnPath, VpnPeer } from '../../protocol/vpn.ts';
import type { DeviceBackend } from '../wireguard/device.ts';

/**
 * What the member should be. Whole: compared with what is, what differs is repaired, and strangers in the interface are
 * removed.
 */
export interface WantedMember {
  readonly privateKey: string;
  /** Its own addresses with the prefix lengths of their VPNs. */
  readonly addresses: readonly string[];
  readonly mtu: number;
  /** By public key. */
  readonly peers: ReadonlyMap<string, VpnPeer>;
  /**
   * Peers of the interface without any address, kept alive, that see from where its packets come: no strangers, and no
   * members.
   */
  readonly observers: readonly { readonly publicKey: string; readonly endpoint: string }[];
  /** The map in force; none: there are no relays. A map that did not change is the same object. */
  readonly relayMap?: RelayMap | null;
}

/** How it goes to one peer now. */
export interface PeerPath {
  readonly publicKey: string;
  readonly path: VpnPath;
  /** Region of the relay, when relayed. */
  readonly relayRegion: number | null;
  readonly handshakeAgeMs: number | null;
  /** How long packets to it may be, in bytes: over a relay, or as its path was seen to take; null: as the VPN says. */
  readonly mtu: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What the member says of itself, for others to find it. */
export interface MemberPlace {
  readonly listenPort: number;
  /** Of its own interfaces, best first. */
  readonly endpoints: readonly string[];
  /** The relay where it waits; null: none is reached. */
  readonly relayRegion: number | null;
}

/** What its interface does not take, while all else goes on. */
export interface MemberRefusals {
  readonly peers: readonly LeftOutPeer[];
  /** Of its own, with prefix lengths: never to be shown (R3). */
  readonly addresses: readonly string[];
  /** Of its own, which it goes without, as the machine has another address of their range: never to be shown either. */
  readonly taken: readonly string[];
}

/** Everything was taken. */
export const NOTHING_REFUSED: MemberRefusals = { peers: [], addresses: [], taken: [] };

/** A running member. */
export interface Member {
  /** Returns at once; calls while it works come together. */
  become(wanted: WantedMember): void;
  /** Both sides were told to try a direct path to this peer, in so many ms. */
  tryDirect(publicKey: string, inMs: number): void;
  paths(): readonly PeerPath[];
  place(): MemberPlace;
  /** Who runs its interface; null: it has none now. */
  backend(): DeviceBackend | null;
  refused(): MemberRefusals;
  /** Why packets do not flow as they should, in one sentence without addresses; null: they do. */
  problem(): string | null;
  /** Ends relays and relay sockets. `isKept`: the interface stays, with direct traffic going on, for the next start. */
  close(end: { readonly isKept: boolean }): Promise<void>;
}

/** What a member reaches and tells. */
export interface MemberPorts {
  /** Asks for a simultaneous try with this peer. */
  readonly wantsTry: (publicKey: string) => void;
  /** Its place changed. False: nobody heard it, and it is said again. */
  readonly moved: (place: MemberPlace) => boolean;
  /** A path changed, or what the interface refuses. */
  readonly changed: () => void;
}
