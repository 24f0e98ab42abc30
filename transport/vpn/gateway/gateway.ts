/**
 * This admin as a member of the VPNs of the clusters that it owns: one WireGuard interface for all, by which agents
 * reach it through the VPN.
 */
import { VPN_MTU } from '../../../actors/cluster/vpn.ts';
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../net/log.ts';
import type { RelayMap } from '../derp/map.ts';
import type { CreatedMember } from '../member/create-member.ts';
import { NOTHING_REFUSED } from '../member/member.ts';
import type { Member, MemberPlace, MemberPorts, PeerPath, WantedMember } from '../member/member.ts';
import type { AdminFrameBody } from '../../protocol/frames.ts';
import type { ClusterId, NodeId } from '../../protocol/ids.ts';
import { VPN_ENDPOINTS_MAX, VPN_PATHS } from '../../protocol/vpn.ts';
import type { VpnPath } from '../../protocol/vpn.ts';
import { createAdvertisement } from './advertisement.ts';
import type { AdvertisementPorts, GatewayPlace } from './advertisement.ts';
import { createListeners } from './listeners.ts';
import type { TunnelUpgrade } from './entrance.ts';
import { createLeftOut } from './left-out.ts';
import { checkedVpn, NO_VPNS, mergeVpns } from './merged-vpns.ts';
import type { CheckedVpn, MergedVpns, MergeLimits } from './merged-vpns.ts';
import type { Firewall } from './firewall.ts';
import type { GatewayLink } from '../../../supervisors/ports.ts';

/** What is compared with what should be so often, in ms: a cluster that is not owned any more is left within it. */
export const GATEWAY_ROUND_MS = 500;

/**
 * News of VPNs that come within this are taken together, in ms: an admin that takes over a thousand clusters hears
 * of each.
 */
const GATHER_MS = 20;

/** A machine without rights for an interface may get them: tried again after this, in ms. */
const OPEN_AGAIN_MS = 300_000;

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

/** What a gateway needs. */
export interface GatewayPorts extends AdvertisementPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Base64; made for this run of the admin, and nowhere else. */
  readonly keys: { readonly privateKey: string; readonly publicKey: string };
  /** Opens the interface. Null: it is switched off. */
  readonly open: ((wanted: WantedMember, ports: MemberPorts) => Promise<CreatedMember>) | null;
  readonly firewall: Firewall;
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
  /** Takes over tunnels that come in over the VPN. */
  readonly upgrade: TunnelUpgrade;
}

/** For metrics. */
export interface GatewayReadings {
  /** VPNs that it is in, and those for which it has no room. */
  readonly joined: number;
  readonly leftOut: number;
  readonly peers: Readonly<Record<VpnPath, number>>;
}

/** A gateway. */
export interface Gateway extends GatewayLink {
  /** Where a node's agent reaches this admin through the VPN; null: it does not, or not now. */
  urlFor(node: NodeId): string | null;
  /** The relay map in force; null: there are no relays. */
  mapped(map: RelayMap | null): void;
  /** Null: it is switched off, has nothing to join, or this machine cannot have one. */
  readings(): GatewayReadings | null;
  /**
   * `isHere`: there is an interface. The problem in one sentence without addresses; the note says what is left out,
   * while all else works.
   */
  state(): { readonly isHere: boolean; readonly problem: string | null; readonly note: string | null };
  /** Leaves all VPNs. */
  close(): Promise<void>;
}

/** In no VPN at first. Nothing is opened before there is a VPN to join. */
export function createGateway(ports: GatewayPorts): Gateway {
  const { clock, log, keys, firewall, monotonicMs } = ports;
  const advertisement = createAdvertisement(ports);
  const listeners = createListeners(ports);
  const leftOut = createLeftOut(log);
  /** VPNs of owned clusters in the order in which they came. */
  const vpns = new Map<ClusterId, CheckedVpn>();
  let relayMap: RelayMap | null = null;
  let isNews = false;
  let now: MergedVpns = NO_VPNS;
  let member: Member | null = null;
  let openAtMs = ports.open === null ? Infinity : -Infinity;
  let refusedWith: string | null = null;
  let listenerProblem: string | null = null;
  let paths: { readonly atMs: number; readonly byKey: ReadonlyMap<string, PeerPath> } = {
    atMs: -Infinity,
    byKey: new Map(),
  };
  let isGathering = false;
  let isWaiting = false;
  let isClosed = false;
  let working: Promise<void> = Promise.resolve();
  let cancelRound = clock.after(GATEWAY_ROUND_MS, round);

  function round(): void {
    next();
    cancelRound = clock.after(GATEWAY_ROUND_MS, round);
  }

  function gather(): void {
    if (isGathering) return;
    isGathering = true;
    clock.after(GATHER_MS, () => {
      isGathering = false;
      next();
    });
  }

  /** One comparison after another, and never more than one that waits. */
  function next(): void {
    if (isWaiting || isClosed) return;
    isWaiting = true;
    const before = working;
    working = (async () => {
      await before;
      isWaiting = false;
      try {
        if (!isClosed) await compare();
      } catch (error) {
        log.error({ error }, 'the gateway failed: trying again');
      }
    })();
  }

  async function compare(): Promise<void> {
    for (const cluster of vpns.keys()) if (ports.epochOf(cluster) === null) forget(cluster);
    if (isNews) {
      now = mergeVpns(vpns.values(), ports.limits);
      isNews = false;
      member?.become(wanted());
    }
    if (member === null && now.joined.size > 0 && monotonicMs() >= openAtMs) await open();
    leftOut.say(now, vpns.values(), member?.refused() ?? NOTHING_REFUSED);
    const addresses = new Map([...now.joined].map(([cluster, checked]) => [cluster, checked.addresses.ipv4]));
    listeners.keep(addresses);
    listenerProblem = member === null ? null : await listeners.settle(addresses);
    const place = member === null ? null : placeOf(member.place());
    for (const [cluster, { vpn }] of vpns) {
      const epoch = ports.epochOf(cluster);
      if (epoch !== null) advertisement.say(vpn, epoch, now.joined.has(cluster) ? place : null);
    }
  }

  /** Rules first, then the interface: members reach nothing in between. */
  async function open(): Promise<void> {
    openAtMs = ports.open === null ? Infinity : monotonicMs() + OPEN_AGAIN_MS;
    if (ports.open === null) return;
    const problem = await firewall.raise([]);
    if (problem !== null) return refuse(problem);
    const created = await ports.open(wanted(), {
      wantsTry,
      moved: gather,
      changed: () => {
        paths = { ...paths, atMs: -Infinity };
      },
    });
    if (!created.ok) {
      await firewall.remove();
      return refuse(created.problem);
    }
    ({ member } = created);
    refusedWith = null;
    log.info({ clusters: now.joined.size }, 'this admin is in the VPNs of its clusters');
  }

  /** Said once, and again only when it is another reason. */
  function refuse(problem: string): void {
    if (problem !== refusedWith)
      log.warn(
        { problem },
        'this admin cannot join the VPNs of its clusters: their nodes are reached by tunnels beside the VPN',
      );
    refusedWith = problem;
  }

  function wanted(): WantedMember {
    return {
      privateKey: keys.privateKey,
      addresses: now.addresses,
      mtu: VPN_MTU,
      peers: now.peers,
      observers: [],
      relayMap,
    };
  }

  function forget(cluster: ClusterId): void {
    vpns.delete(cluster);
    advertisement.forget(cluster);
    isNews = true;
  }

  function placeOf({ listenPort, endpoints, relayRegion }: MemberPlace): GatewayPlace {
    const { host } = ports;
    const given = host === null ? [] : [host.includes(':') ? `[${host}]:${listenPort}` : `${host}:${listenPort}`];
    return {
      publicKey: keys.publicKey,
      listenPort,
      endpoints: [...new Set([...given, ...endpoints])].slice(0, VPN_ENDPOINTS_MAX),
      relayRegion,
    };
  }

  function wantsTry(publicKey: string): void {
    const node = now.peers.get(publicKey)?.node ?? null;
    const cluster = node === null ? undefined : now.ofNode.get(node)?.cluster;
    if (node === null || cluster === undefined || member === null || !ports.isFresh(cluster)) return;
    ports.send(node, { type: 'mesh-try', public_key: keys.publicKey, in_ms: TRY_IN_MS });
    member.tryDirect(publicKey, TRY_IN_MS);
  }

  function pathOf(publicKey: string): PeerPath | undefined {
    const nowMs = monotonicMs();
    if (nowMs - paths.atMs >= PATHS_MS_MAX)
      paths = { atMs: nowMs, byKey: new Map((member?.paths() ?? []).map((path) => [path.publicKey, path])) };
    return paths.byKey.get(publicKey);
  }

  return {
    become(vpn) {
      if (isClosed || ports.epochOf(vpn.cluster) === null) return;
      vpns.set(vpn.cluster, checkedVpn(vpn, keys.publicKey));
      isNews = true;
      gather();
    },
    urlFor(node) {
      const known = now.ofNode.get(node);
      if (known === undefined || ports.epochOf(known.cluster) === null) return null;
      const path = pathOf(known.publicKey);
      if (
        path === undefined ||
        path.path === 'none' ||
        path.handshakeAgeMs === null ||
        path.handshakeAgeMs >= HANDSHAKE_MS_MAX
      )
        return null;
      return listeners.urlOf(known.cluster);
    },
    mapped(map) {
      relayMap = map;
      isNews = true;
      if (!isClosed) gather();
    },
    readings() {
      if (member === null) return null;
      const all = member.paths();
      const peers = Object.fromEntries(
        VPN_PATHS.map((path) => [path, all.filter((one) => one.path === path).length]),
      ) as Record<VpnPath, number>;
      return { joined: now.joined.size, leftOut: now.leftOut.length, peers };
    },
    state: () => ({
      isHere: member !== null,
      problem: member === null ? refusedWith : (listenerProblem ?? member.problem()),
      note: leftOut.note(),
    }),
    async close() {
      isClosed = true;
      cancelRound();
      await working;
      listeners.close();
      if (member === null) return;
      await member.close({ isKept: false });
      await firewall.remove();
      member = null;
    },
  };
}
