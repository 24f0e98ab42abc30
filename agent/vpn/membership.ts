/**
 * This machine in the VPN of its cluster: it says what it is, becomes what it is told, and goes on with what it
 * knows while no admin answers.
 */
import type { RelayMap } from '../../transport/vpn/derp/map.ts';
import {
  leftOutNote,
  type LeftOutPeer,
  type VpnPath,
  type VpnReport,
  type VpnSettings,
} from '../../transport/protocol/vpn.ts';
import { makeKeyPair, publicKeyOf } from '../../transport/vpn/wireguard/keys.ts';
import type { CreatedMember, MemberOptions } from '../../transport/vpn/member/create-member.ts';
import type { Member, MemberPorts, WantedMember } from '../../transport/vpn/member/member.ts';
import type { Service } from '../observability/health.ts';
import type { AdminVpnFrame, AgentVpnFrameBody, SessionClock, SessionVpn } from '../ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { openVpnKeys, storeVpnKeys, type VpnKeys } from './keys-file.ts';
import type { VpnWay } from '../access/tunnel/tunnels.ts';
import { observerPeers, type ObserverPeer } from './observers.ts';
import { changedPicture, forgetPicture, readPicture, storePicture, wholePicture, type Picture } from './picture.ts';

/** How often the admin is told how well this machine is connected, in ms; a change of a path is told sooner. */
const REPORT_MS = 30_000;

/** Changes of paths within this time are told together, in ms. */
const REPORT_GATHER_MS = 1_000;

/** A machine that can have no interface now is tried again after this, in ms: somebody may have loaded a module. */
const OPEN_AGAIN_MS = 600_000;

/**
 * Changes of the VPN within this time are stored together, in ms: each is a wait for the disk. After a crash, an
 * admin tells what is missing.
 */
const STORE_GATHER_MS = 1_000;

/** MTU until a VPN says another: what fits through every path. */
const MTU_MIN = 1_280;

/** What a membership is made of. */
export interface MembershipOptions {
  readonly interfaceName: string;
  /** UDP; 0 picks one and keeps it. */
  readonly port: number;
  /** Files of the key and of the last known VPN. */
  readonly keysPath: string;
  readonly picturePath: string;
  /** Of the cluster that the node is in, as the admin says. */
  readonly clusterName: () => string;
  readonly clock: SessionClock;
  readonly log: Log;
  /** False: no admin hears it now. */
  readonly say: (message: AgentVpnFrameBody) => boolean;
  readonly createMember: (options: MemberOptions, ports: MemberPorts) => Promise<CreatedMember>;
  /** Told of every state of the VPN; null: there is none. */
  readonly named: (picture: Picture | null) => void;
}

/** A running membership. */
export interface Membership {
  readonly session: SessionVpn;
  readonly service: Service;
  /** Settings came, with a welcome (`isWelcome`) or between. */
  configured(settings: VpnSettings | undefined, adminUrl: string, isWelcome: boolean): void;
  /** The relay map in force; null: there are no relays. */
  mapped(map: RelayMap | null): void;
  /** Makes a new key, and uses it as soon as the admin has told the others. */
  rotate(): void;
  /** The node, or the gateway, that has this key; null: a stranger. */
  nodeOf(publicKey: string): string | null;
  pathOf(publicKey: string): VpnPath | null;
  /** How the admin that owns the cluster is reached through the VPN; null: not at all, or not now. */
  wayToGateway(): VpnWay | null;
  /** How the admin sees this machine from outside; null: not yet. */
  observed(): Extract<AdminVpnFrame, { type: 'mesh-observed' }> | null;
  /** `isKept`: the interface stays for the next start, with its traffic. */
  close(end: { readonly isKept: boolean }): Promise<void>;
}

/** Nothing is opened before an admin, or the file of an earlier run, says that there is a VPN. */
export function createMembership(options: MembershipOptions): Membership {
  const { clock, log, say, named } = options;
  let keys: VpnKeys | null = null;
  let picture: Picture | null = readPicture(options.picturePath);
  let observers: readonly ObserverPeer[] = [];
  let relayMap: RelayMap | null = null;
  let seen: Extract<AdminVpnFrame, { type: 'mesh-observed' }> | null = null;
  let member: Member | null = null;
  /** Why there is no member on this machine, and why the admin gave it no VPN. */
  let cannot: string | null = null;
  let refused: string | null = null;
  /** The admin wants no VPN here. */
  let isOff = false;
  /** Why it ends, once it does. */
  let ended: { readonly isKept: boolean } | null = null;
  let opening: Promise<void> | null = null;
  let closing: Promise<void> = Promise.resolve();
  let unstored: Picture | null = null;
  let observing = 0;
  let cancelAgain = (): void => {};
  let cancelStore = (): void => {};
  let cancelReport = (): void => {};
  let reportDueMs = 0;
  let saidLeftOut: string | null = null;

  function open(): void {
    if (member !== null || opening !== null || ended !== null || isOff) return;
    const opened = openVpnKeys(options.keysPath, options.port);
    if (!opened.ok) return failed(opened.problem);
    keys = opened.keys;
    cancelAgain();
    opening = create(opened.keys).finally(() => {
      opening = null;
    });
  }

  async function create(made: VpnKeys): Promise<void> {
    await closing; // the interface that goes has the same name
    const created = await options.createMember(
      { interfaceName: options.interfaceName, listenPort: made.listenPort, wanted: wanted(made) },
      {
        wantsTry: (publicKey) => void say({ type: 'mesh-try', public_key: publicKey }),
        moved: advertise,
        changed: () => {
          sayLeftOut();
          reportIn(REPORT_GATHER_MS);
        },
      },
    );
    if (!created.ok) return failed(created.problem);
    cannot = null;
    ({ member } = created);
    if (ended !== null || isOff) return shut(ended ?? { isKept: false });
    become();
    advertise();
    return reportIn(REPORT_MS);
  }

  function failed(problem: string): void {
    if (cannot !== problem) log.warn({ problem }, 'This machine joins no VPN: everything else works');
    cannot = problem;
    if (ended === null) cancelAgain = clock.after(OPEN_AGAIN_MS, open);
  }

  /** Never rejects. */
  function shut(end: { readonly isKept: boolean }): Promise<void> {
    cancelReport();
    const leaving = member;
    member = null;
    closing = closing
      .then(() => leaving?.close(end))
      .catch((error: unknown) =>
        log.warn({ problem: (error as Error).message }, 'The network interface of this machine could not be removed'),
      );
    return closing;
  }

  function wanted({ privateKey }: VpnKeys): WantedMember {
    const network = picture?.network;
    // What was told for another key, or another machine's, is no VPN of this one.
    const isOurs = network?.public_key === publicKeyOf(privateKey);
    if (picture === null || network === undefined || !isOurs)
      return { privateKey, addresses: [], mtu: MTU_MIN, peers: new Map(), observers, relayMap };
    return {
      privateKey,
      addresses: [withPrefix(network.ipv4, network.ipv4_range), withPrefix(network.ipv6, network.ipv6_range)],
      mtu: network.mtu,
      peers: picture.peers,
      observers,
      relayMap,
    };
  }

  function become(): void {
    if (keys === null) return;
    member?.become(wanted(keys));
    named(member === null ? null : picture); // names of machines that cannot be reached are of no use
  }

  function advertise(): void {
    if (member === null || keys === null) return;
    const { listenPort, endpoints, relayRegion } = member.place();
    const publicKey = publicKeyOf(keys.nextPrivateKey ?? keys.privateKey);
    // Owners of clusters count each for themselves: a state of another cluster may have the number of one of this.
    const isCurrent =
      picture?.network.public_key === publicKey && picture.network.cluster_name === options.clusterName();
    say({
      type: 'mesh-advertise',
      advertisement: {
        public_key: publicKey,
        listen_port: listenPort,
        endpoints: [...endpoints],
        relay_region: relayRegion,
        revision: isCurrent ? (picture?.revision ?? null) : null,
      },
    });
  }

  function learn(next: Picture): void {
    picture = next;
    refused = null;
    if (keys?.nextPrivateKey != null && publicKeyOf(keys.nextPrivateKey) === next.network.public_key)
      turn(keys.nextPrivateKey);
    if (unstored === null) cancelStore = clock.after(STORE_GATHER_MS, store);
    unstored = next;
    sayLeftOut();
    become();
  }

  /** Peers without which this machine is in its VPN: what they are told to be is nothing that WireGuard takes. */
  function leftOut(): readonly LeftOutPeer[] {
    return [...(picture?.leftOut.values() ?? []), ...(member?.refused().peers ?? [])];
  }

  /** Said once for each state. */
  function sayLeftOut(): void {
    const note = leftOutNote(leftOut());
    if (note !== saidLeftOut && note !== null)
      log.warn({ problem: note }, 'Peers are left out of the VPN of this machine: it reaches all others');
    saidLeftOut = note;
  }

  function store(): void {
    cancelStore();
    if (unstored === null) return;
    try {
      storePicture(options.picturePath, unstored);
    } catch (error) {
      log.warn(
        {
          problem: (error as Error).message,
        },
        'The VPN could not be stored: after a restart it is known once an admin answers',
      );
    }
    unstored = null;
  }

  /** The others know the new key: from now on it is the one. */
  function turn(privateKey: string): void {
    if (keys === null) return;
    const stored = storeVpnKeys(options.keysPath, { ...keys, privateKey, nextPrivateKey: null });
    keys = { ...keys, privateKey, nextPrivateKey: null };
    log.info(stored.ok ? {} : { problem: stored.problem }, 'The WireGuard key was changed');
  }

  function told(order: AdminVpnFrame): void {
    switch (order.type) {
      case 'mesh-network':
        learn(wholePicture(order));
        return store();
      case 'mesh-changed': {
        const next = changedPicture(picture, order);
        return next === null ? advertise() : learn(next);
      }
      case 'mesh-refused':
        if (refused !== order.reason)
          log.error({ reason: order.reason }, 'The admin does not let this machine into the VPN of its cluster');
        refused = order.reason;
        return;
      case 'mesh-observed':
        seen = order;
        return;
      case 'mesh-try':
        return member?.tryDirect(order.public_key, order.in_ms);
      case 'netmaker-join':
        return; // of the other kind of coordination
      default:
        throw new Error(`no such order: ${(order satisfies never as { type: string }).type}`);
    }
  }

  function reportIn(ms: number): void {
    const dueMs = clock.nowMs() + ms;
    if (ended !== null || (reportDueMs > clock.nowMs() && reportDueMs <= dueMs)) return;
    cancelReport();
    reportDueMs = dueMs;
    cancelReport = clock.after(ms, () => {
      if (member === null) return;
      reportDueMs = 0;
      say({ type: 'mesh-report', report: reportOf(member, picture) });
      reportIn(REPORT_MS);
    });
  }

  async function observe(settings: Extract<VpnSettings, { mode: 'embedded' }>, adminUrl: string): Promise<void> {
    observing += 1;
    const asked = observing;
    const found = await observerPeers(settings.observers, adminUrl);
    if (asked !== observing || JSON.stringify(found) === JSON.stringify(observers)) return;
    observers = found;
    become();
  }

  // What an earlier run knew is true until an admin says otherwise: traffic goes on before one answers.
  if (picture !== null) open();

  return {
    session: { told },
    service: {
      name: 'vpn',
      problem: () => refused ?? member?.problem() ?? addressProblem(member),
      note: () => (cannot === null ? leftOutNote(leftOut()) : `This machine joins no VPN: ${cannot}`),
    },
    configured(settings, adminUrl, isWelcome) {
      // an admin of an older version, while others are newer: it says nothing of VPNs, and what is known goes on
      if (settings === undefined) return;
      isOff = settings.mode !== 'embedded';
      if (settings.mode !== 'embedded') {
        cancelAgain();
        cancelStore();
        picture = unstored = null;
        forgetPicture(options.picturePath);
        named(null);
        void shut({ isKept: false });
        return;
      }
      void observe(settings, adminUrl);
      if (member === null) open();
      else if (isWelcome || refused !== null) advertise(); // a VPN that was full may have room
    },
    mapped(map) {
      relayMap = map;
      become();
    },
    rotate() {
      const opened = openVpnKeys(options.keysPath, options.port);
      const known = keys ?? (opened.ok ? opened.keys : null);
      if (known === null)
        return log.error({ problem: opened.ok ? '' : opened.problem }, 'The WireGuard key cannot be changed');
      const stored = storeVpnKeys(options.keysPath, {
        ...known,
        nextPrivateKey: known.nextPrivateKey ?? makeKeyPair().privateKey,
      });
      if (!stored.ok) return log.error({ problem: stored.problem }, 'The WireGuard key cannot be changed');
      keys = stored.keys;
      advertise();
    },
    nodeOf: (publicKey) => nodeName(picture, publicKey),
    pathOf: (publicKey) => member?.paths().find((path) => path.publicKey === publicKey)?.path ?? null,
    wayToGateway() {
      if (member === null || picture === null) return null;
      const gateway = [...picture.peers.values()].find(({ node }) => node === null);
      const path = member.paths().find(({ publicKey }) => publicKey === gateway?.public_key)?.path ?? 'none';
      return gateway === undefined || path === 'none' ? null : { gateway: gateway.ipv4, own: picture.network.ipv4 };
    },
    observed: () => seen,
    async close({ isKept }) {
      ended = { isKept };
      cancelAgain();
      store();
      await opening;
      await shut(ended);
    },
  };
}

function reportOf(member: Member, picture: Picture | null): VpnReport {
  const paths = member.paths();
  const count = (path: VpnPath): number => paths.filter((one) => one.path === path).length;
  const gateway = paths.find(({ publicKey }) => picture?.peers.get(publicKey)?.node === null);
  return {
    direct: count('direct'),
    relayed: count('relayed'),
    none: count('none'),
    gateway:
      gateway === undefined
        ? null
        : {
            path: gateway.path,
            handshake_age_ms: gateway.handshakeAgeMs === null ? null : Math.round(gateway.handshakeAgeMs),
          },
  };
}

/** Its own addresses are told by the admin: one that the system does not take is nobody else's fault. */
function addressProblem(member: Member | null): string | null {
  return (member?.refused().addresses.length ?? 0) === 0
    ? null
    : 'the interface does not take an address that the admin gave to this machine';
}

function nodeName(picture: Picture | null, publicKey: string): string | null {
  const peer = picture?.peers.get(publicKey);
  if (peer === undefined) return null;
  return peer.node ?? 'gateway';
}

function withPrefix(address: string, range: string): string {
  return `${address}/${range.split('/')[1] ?? ''}`;
}
