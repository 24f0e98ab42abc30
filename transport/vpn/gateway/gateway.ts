/**
 * This admin as a member of the VPNs of the clusters that it owns: one WireGuard interface for all, by which agents
 * reach it through the VPN.
 */
import { VPN_MTU } from '../../../actors/cluster/vpn.ts';
import type { Clock } from '../../../actors/ports.ts';
import type { GatewayVpn } from '../../../actors/vpn/effects.ts';
import type { GatewayLink } from '../../../supervisors/ports.ts';
import type { AdminFrameBody } from '../../protocol/frames.ts';
import type { ClusterId, NodeId } from '../../protocol/ids.ts';
import { VPN_ENDPOINTS_MAX, VPN_PATHS, type VpnPath } from '../../protocol/vpn.ts';
import type { RelayMap } from '../relay-map/map.ts';
import { NOTHING_REFUSED, type MemberPlace, type PeerPath, type WantedMember } from '../member/member.ts';
import {
  createAdvertisement,
  type Advertisement,
  type AdvertisementPorts,
  type GatewayPlace,
} from './advertisement.ts';
import { createListeners, type Listeners } from './listeners.ts';
import type { TunnelUpgrade } from './entrance.ts';
import { createLeftOut, type LeftOut } from './left-out.ts';
import { Rounds } from './rounds.ts';
import { checkedVpn, NO_VPNS, mergeVpns, type CheckedVpn, type MergedVpns, type MergeLimits } from './merged-vpns.ts';
import { FirewalledMember, type FirewalledMemberPorts } from './firewalled-member.ts';

/**
 * A node is reached through the VPN when its last handshake is younger than this, in ms. Source: WireGuard's paper,
 * 6.2, Reject-After-Time: older keys are not used.
 */
export const HANDSHAKE_MS_MAX = 180_000;

/** Readings of paths are kept for this, in ms. */
const PATHS_MS_MAX = 1_000;

/**
 * Both sides of a pair begin to try a direct path after this, in ms: the node's session delivers the message within it.
 */
const TRY_IN_MS = 250;

/** Nothing was read. */
const NO_PATHS = { atMs: -Infinity, byKey: new Map<string, PeerPath>() };

/** What a gateway needs. */
export interface GatewayPorts extends AdvertisementPorts, FirewalledMemberPorts {
  readonly clock: Clock;
  /** Base64; made for this run of the admin, and nowhere else. */
  readonly keys: { readonly privateKey: string; readonly publicKey: string };
  /** Address under which members elsewhere reach this machine; null: those of its interfaces. */
  readonly host: string | null;
  /** Of all VPNs together. */
  readonly limits: MergeLimits;
  /** The epoch under which this admin owns a cluster now; null: it does not. */
  epochOf(cluster: ClusterId): number | null;
  /** Whether that is still so by the lease clock: one that was paused or suspended asks nobody for anything (O1). */
  isFresh(cluster: ClusterId): boolean;
  /** To the live session of a node, if there is one. */
  send(node: NodeId, frame: AdminFrameBody): void;
  /** Whether this agent's tunnels would come without TLS: the VPN alone keeps secret then what is said in them. */
  readonly isPlain: (node: NodeId) => boolean;
  /** Takes over tunnels that come in over the VPN. */
  readonly upgrade: TunnelUpgrade;
  /** Tells the relay map in force from now on, null: there are no relays; the answer ends it. */
  readonly followRelayMap: (mapped: (map: RelayMap | null) => void) => () => void;
}

/** For metrics. */
export interface GatewayReadings {
  /** VPNs that it is in, and those for which it has no room. */
  readonly joined: number;
  readonly leftOut: number;
  readonly peers: Readonly<Record<VpnPath, number>>;
}

/** A gateway. In no VPN at first: nothing is opened before there is a VPN to join. */
export class Gateway implements GatewayLink {
  readonly #ports: GatewayPorts;
  readonly #held: FirewalledMember;
  readonly #listeners: Listeners;
  readonly #advertisement: Advertisement;
  readonly #leftOut: LeftOut;
  readonly #rounds: Rounds;
  /** VPNs of owned clusters in the order in which they came. */
  readonly #vpns = new Map<ClusterId, CheckedVpn>();
  /** What the interface is, or is to become in the next round where there is news. */
  #now: MergedVpns = NO_VPNS;
  #isNews = false;
  #relayMap: RelayMap | null = null;
  #unfollowRelayMap = (): void => {};
  #listenerProblem: string | null = null;
  #paths: { readonly atMs: number; readonly byKey: ReadonlyMap<string, PeerPath> } = NO_PATHS;

  constructor(ports: GatewayPorts) {
    this.#ports = ports;
    this.#held = new FirewalledMember(ports);
    this.#listeners = createListeners(ports);
    this.#advertisement = createAdvertisement(ports);
    this.#leftOut = createLeftOut(ports.log);
    this.#rounds = new Rounds(ports.clock, ports.log, () => this.#compare());
  }

  become(vpn: GatewayVpn): void {
    if (this.#rounds.isOver || this.#ports.epochOf(vpn.cluster) === null) return;
    this.#vpns.set(vpn.cluster, checkedVpn(vpn, this.#ports.keys.publicKey));
    this.#isNews = true;
    this.#rounds.soon();
  }

  /**
   * Where a node's agent reaches this admin through the VPN; null: it does not, or not now, or gains nothing by it. See
   * docs/decisions/gateway.md.
   */
  urlFor(node: NodeId): string | null {
    const known = this.#now.ofNode.get(node);
    if (known === undefined || this.#ports.epochOf(known.cluster) === null) return null;
    const path = this.#pathOf(known.publicKey);
    if (path === undefined || path.path === 'none' || !this.#isWorthIt(node, path)) return null;
    return path.handshakeAgeMs === null || path.handshakeAgeMs >= HANDSHAKE_MS_MAX
      ? null
      : this.#listeners.urlOf(known.cluster);
  }

  /** WireGuard in user space, and relays, are slower than TLS beside the VPN. */
  #isWorthIt(node: NodeId, { path }: PeerPath): boolean {
    return this.#ports.isPlain(node) || (path === 'direct' && this.#held.member?.backend() === 'kernel');
  }

  /** Null: it is switched off, has nothing to join, or this machine cannot have one. */
  readings(): GatewayReadings | null {
    const { member } = this.#held;
    if (member === null) return null;
    const all = member.paths();
    const peers = Object.fromEntries(
      VPN_PATHS.map((path) => [path, all.filter((one) => one.path === path).length]),
    ) as Record<VpnPath, number>;
    return { joined: this.#now.joined.size, leftOut: this.#now.leftOut.length, peers };
  }

  /**
   * `isHere`: there is an interface. The problem in one sentence without addresses; the note says what is left out,
   * while all else works.
   */
  state(): { readonly isHere: boolean; readonly problem: string | null; readonly note: string | null } {
    const { member, problem } = this.#held;
    return {
      isHere: member !== null,
      problem: member === null ? problem : (this.#listenerProblem ?? member.problem()),
      note: this.#leftOut.note(),
    };
  }

  /** Leaves all VPNs. */
  async close(): Promise<void> {
    await this.#rounds.end();
    this.#unfollowRelayMap();
    this.#listeners.close();
    await this.#held.close();
  }

  async #compare(): Promise<void> {
    for (const cluster of this.#vpns.keys()) if (this.#ports.epochOf(cluster) === null) this.#forget(cluster);
    if (this.#isNews) {
      this.#now = mergeVpns(this.#vpns.values(), this.#ports.limits);
      this.#isNews = false;
      this.#held.member?.become(this.#wanted());
    }
    await this.#held.finish();
    if (this.#now.joined.size > 0 && (await this.#open()))
      this.#ports.log.info({ clusters: this.#now.joined.size }, 'this admin is in the VPNs of its clusters');
    const { member } = this.#held;
    this.#leftOut.say(this.#now, this.#vpns.values(), member?.refused() ?? NOTHING_REFUSED);
    const addresses = new Map([...this.#now.joined].map(([cluster, checked]) => [cluster, checked.addresses.ipv4]));
    this.#listeners.keep(addresses);
    this.#listenerProblem = member === null ? null : await this.#listeners.settle(addresses);
    if (this.#listenerProblem !== null && this.#listeners.isExposed()) await this.#leave(this.#listenerProblem);
    const place = this.#held.member === null ? null : this.#placeOf(this.#held.member.place());
    for (const [cluster, { vpn }] of this.#vpns) {
      const epoch = this.#ports.epochOf(cluster);
      if (epoch !== null) this.#advertisement.say(vpn, epoch, this.#now.joined.has(cluster) ? place : null);
    }
  }

  /** There is no gateway without its firewall. */
  async #leave(problem: string): Promise<void> {
    this.#listeners.leave();
    this.#unfollowRelayMap();
    this.#listenerProblem = null;
    await this.#held.leave(problem);
  }

  async #open(): Promise<boolean> {
    const isOpened = await this.#held.open(() => this.#wanted(), {
      wantsTry: (publicKey) => this.#wantsTry(publicKey),
      moved: () => {
        this.#rounds.soon();
        return true;
      },
      changed: () => {
        this.#paths = NO_PATHS;
      },
    });
    if (isOpened)
      this.#unfollowRelayMap = this.#ports.followRelayMap((map) => {
        this.#relayMap = map;
        this.#isNews = true;
        this.#rounds.soon();
      });
    return isOpened;
  }

  #wanted(): WantedMember {
    const { addresses, peers } = this.#now;
    return {
      privateKey: this.#ports.keys.privateKey,
      addresses,
      mtu: VPN_MTU,
      peers,
      observers: [],
      relayMap: this.#relayMap,
    };
  }

  #forget(cluster: ClusterId): void {
    this.#vpns.delete(cluster);
    this.#advertisement.forget(cluster);
    this.#isNews = true;
  }

  #placeOf({ listenPort, endpoints, relayRegion }: MemberPlace): GatewayPlace {
    const { host, keys } = this.#ports;
    const given = host === null ? [] : [host.includes(':') ? `[${host}]:${listenPort}` : `${host}:${listenPort}`];
    return {
      publicKey: keys.publicKey,
      listenPort,
      endpoints: [...new Set([...given, ...endpoints])].slice(0, VPN_ENDPOINTS_MAX),
      relayRegion,
    };
  }

  #wantsTry(publicKey: string): void {
    const { member } = this.#held;
    const node = this.#now.peers.get(publicKey)?.node ?? null;
    const cluster = node === null ? undefined : this.#now.ofNode.get(node)?.cluster;
    if (node === null || cluster === undefined || member === null || !this.#ports.isFresh(cluster)) return;
    this.#ports.send(node, { type: 'mesh-try', public_key: this.#ports.keys.publicKey, in_ms: TRY_IN_MS });
    member.tryDirect(publicKey, TRY_IN_MS);
  }

  #pathOf(publicKey: string): PeerPath | undefined {
    const nowMs = this.#ports.monotonicMs();
    if (nowMs - this.#paths.atMs >= PATHS_MS_MAX) {
      const paths = this.#held.member?.paths() ?? [];
      this.#paths = { atMs: nowMs, byKey: new Map(paths.map((path) => [path.publicKey, path])) };
    }
    return this.#paths.byKey.get(publicKey);
  }
}
