/** Makes a member: a device, the paths to its peers, and the relays between. */
import type { RelayReach } from '../relay-map/map.ts';
import type { DeviceBackend, WireguardDevice } from '../wireguard/device.ts';
import { openDevice } from '../wireguard/open.ts';
import { REOPEN_MS_MAX, REOPEN_MS_MIN } from './limits.ts';
import { systemInterfaces, type Interfaces } from './local-endpoints.ts';
import type { Member, MemberPlace, MemberPorts, MemberRefusals, PeerPath, WantedMember } from './member.ts';
import { Peers } from './peers.ts';

/** What a member is made of. */
export interface MemberOptions {
  /** Of its interface: at most 15 characters, and its own on the whole machine, over all network namespaces. */
  readonly interfaceName: string;
  /** UDP, on all addresses. Kept over restarts, so that an interface that was left is taken over. */
  readonly listenPort: number;
  /** What it is at first. */
  readonly wanted: WantedMember;
  /** How relays are reached, beyond what the map says. */
  readonly relayReach?: RelayReach;
  /**
   * Whether packets may be longer than the VPN says: over relays, and on a direct path once that was seen to take them;
   * false: it answers those of others alone (`mtu-echo.ts`), undefined: not even that.
   */
  readonly hasMtuDiscovery?: boolean;
  /** Addresses of this machine. */
  readonly interfaces?: () => Interfaces;
}

/**
 * A member, or why there can be none on this machine, in one sentence without addresses: no root, no TUN, no program.
 */
export type CreatedMember =
  | { readonly ok: true; readonly member: Member }
  | { readonly ok: false; readonly problem: string };

/**
 * Opens the interface, or takes over the one that an earlier run left, with its direct paths. Rejects only through a
 * fault of ours, and leaves no interface then.
 */
export async function createMember(options: MemberOptions, ports: MemberPorts): Promise<CreatedMember> {
  const { interfaceName: name, listenPort, wanted } = options;
  const opened = await openDevice({ name, listenPort, privateKey: wanted.privateKey, mtu: wanted.mtu });
  if (!opened.ok) return opened;
  return { ok: true, member: await memberOn(opened.device, options, ports) };
}

/** A member on this device, once it has its place. Where it rejects, the device is removed. */
export async function memberOn(device: WireguardDevice, options: MemberOptions, ports: MemberPorts): Promise<Member> {
  let member: DeviceMember | null = null;
  try {
    member = new DeviceMember(options, ports);
    member.use(device);
    // Others that were told of it before it has a relay would look for it elsewhere first.
    await member.placed();
    return member;
  } catch (error) {
    await (member === null ? device.remove() : member.close({ isKept: false }));
    throw error;
  }
}

/** On a device, which is opened again whenever it is lost. */
class DeviceMember implements Member {
  readonly #options: MemberOptions;
  readonly #ports: MemberPorts;
  readonly #peers: Peers;
  #wanted: WantedMember;
  /** Why there is no device now; null: there is one. */
  #lost: string | null = null;
  #backend: DeviceBackend | null = null;
  #isClosed = false;
  #again: NodeJS.Timeout | null = null;
  #opening: Promise<void> = Promise.resolve();

  constructor(options: MemberOptions, ports: MemberPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#wanted = options.wanted;
    this.#peers = new Peers({ interfaces: systemInterfaces, ...options }, ports);
  }

  placed(): Promise<void> {
    return this.#peers.placed();
  }

  become(wanted: WantedMember): void {
    this.#wanted = wanted;
    this.#peers.become(wanted);
  }

  tryDirect(publicKey: string, inMs: number): void {
    this.#peers.tryDirect(publicKey, inMs);
  }

  paths(): readonly PeerPath[] {
    return this.#peers.paths();
  }

  place(): MemberPlace {
    return this.#peers.place();
  }

  backend(): DeviceBackend | null {
    return this.#backend;
  }

  refused(): MemberRefusals {
    return this.#peers.refused();
  }

  problem(): string | null {
    return this.#lost ?? this.#peers.problem();
  }

  async close(end: { readonly isKept: boolean }): Promise<void> {
    this.#isClosed = true;
    if (this.#again !== null) clearTimeout(this.#again);
    await this.#opening;
    await this.#peers.close(end);
  }

  /** On this device from now on. */
  use(device: WireguardDevice): void {
    this.#lost = null;
    this.#backend = device.backend;
    this.#peers.use(device);
    device.onLost((problem) => {
      this.#lost = problem;
      this.#backend = null;
      this.#peers.use(null);
      this.#ports.changed();
      this.#reopenIn(REOPEN_MS_MIN);
    });
  }

  #reopenIn(ms: number): void {
    if (this.#isClosed) return;
    this.#again = setTimeout(() => {
      this.#opening = this.#reopen(ms);
    }, ms);
    this.#again.unref();
  }

  /** Never rejects. */
  async #reopen(afterMs: number): Promise<void> {
    const { interfaceName: name, listenPort } = this.#options;
    const { privateKey, mtu } = this.#wanted;
    const next = await openDevice({ name, listenPort, privateKey, mtu });
    if (next.ok) {
      this.use(next.device);
      return this.#ports.changed();
    }
    this.#lost = next.problem;
    this.#reopenIn(Math.min(afterMs * 2, REOPEN_MS_MAX));
  }
}
