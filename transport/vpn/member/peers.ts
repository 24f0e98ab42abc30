/**
 * The loop of a member: one turn after another reads the interface, tells the paths, and carries out what they ask for.
 */
import type { RelayReach } from '../relay-map/map.ts';
import type { WireguardDevice } from '../wireguard/device.ts';
import { perform, type PathEffectPorts } from './path-effects.ts';
import { prepareCandidates } from './candidates.ts';
import { Inbox } from './inbox.ts';
import { InterfaceRepair } from './interface-repair.ts';
import { KnownPeers } from './known-peers.ts';
import {
  ADDRESSES_MS,
  READ_EAGER_MS,
  READ_HANDSHAKE_MS,
  READ_IDLE_MS,
  RELAY_START_MS_MAX,
  REPAIR_MS,
  SLEEP_MS_MIN,
} from './limits.ts';
import { localEndpoints, type Interfaces } from './local-endpoints.ts';
import {
  NOTHING_REFUSED,
  type MemberPlace,
  type MemberPorts,
  type MemberRefusals,
  type PeerPath,
  type WantedMember,
} from './member.ts';
import { OwnAddresses } from './own-addresses.ts';
import { PathMtus } from './path-mtus.ts';
import { refusalsOf } from './peer-set.ts';
import { RelayedTraffic } from './relayed-traffic.ts';
import { LoopPacer } from './loop-pacer.ts';

/** What stays the same for the whole life of a member. */
export interface PeersOptions {
  readonly listenPort: number;
  readonly interfaceName: string;
  readonly interfaces: () => Interfaces;
  readonly wanted: WantedMember;
  readonly relayReach?: RelayReach;
  /** As in MemberOptions. */
  readonly hasMtuDiscovery?: boolean;
}

/** The peers of a member, and the paths to them. Does nothing before it has a device. */
export class Peers {
  readonly #ports: MemberPorts;
  readonly #peers: KnownPeers;
  readonly #traffic: RelayedTraffic;
  readonly #interface: InterfaceRepair;
  readonly #own: OwnAddresses;
  /** Until then the own relay is waited for. */
  readonly #placedByMs = performance.now() + RELAY_START_MS_MAX;
  readonly #ending = new AbortController();
  readonly #pacer = new LoopPacer();
  readonly #inbox = new Inbox();
  readonly #mtus: PathMtus;
  readonly #running: Promise<void>;
  #wanted: WantedMember;
  #device: WireguardDevice | null = null;
  #isWantedNew = true;
  #readAtMs = 0;
  #heededAtMs = 0;
  #repairAtMs = 0;
  #lookAtMs = 0;
  #lastTurnMs = performance.now();
  #problem: string | null = null;
  #toldPlace = '';
  #toldRefused = '';

  constructor(options: PeersOptions, ports: MemberPorts) {
    this.#ports = ports;
    this.#wanted = options.wanted;
    this.#own = new OwnAddresses(options);
    this.#traffic = new RelayedTraffic({
      wireguardPort: options.listenPort,
      reach: options.relayReach,
      isPeer: (publicKey) => this.#peers.has(publicKey),
      regionOf: (publicKey) => this.#peers.regionOf(publicKey),
      said: (publicKey, message) => {
        if (this.#inbox.hear(publicKey, message, performance.now())) this.#pacer.wakeSoon();
      },
      straggled: (publicKey) => {
        const endpoint = this.#peers.directEndpointOf(publicKey);
        if (endpoint !== null)
          // the next reading repairs it
          this.#device?.setEndpoints([{ publicKey, endpoint, isSentNow: false }]).catch(() => {});
      },
      changed: () => this.#pacer.wake(),
    });
    this.#peers = new KnownPeers(this.#own.place, {
      carries: (region) => this.#traffic.relays.carries(region),
      relayEndpointOf: (publicKey) => this.#traffic.relaySockets.endpointOf(publicKey),
      earlyUntilMs: () => this.#earlyUntilMs(),
      changed: () => ports.changed(),
    });
    this.#mtus = new PathMtus({
      isEnabled: options.hasMtuDiscovery,
      reached: () => this.#peers.reached(),
      own: () => this.#own.place.vpnRanges,
      changed: () => this.#pacer.wake(),
    });
    this.#interface = new InterfaceRepair(this.#peers, () => this.#device);
    this.#running = this.#run();
  }

  /** From now on on this device; null: there is none now. All paths begin anew, but those that the device has alive. */
  use(device: WireguardDevice | null): void {
    this.#device = device;
    this.#interface.forget();
    this.#mtus.forget();
    this.#isWantedNew = true;
    this.#peers.clear();
    this.#peers.taken(); // of no use on another device
    this.#pacer.renew();
  }

  become(wanted: WantedMember): void {
    this.#wanted = wanted;
    this.#isWantedNew = true;
    this.#pacer.renew();
  }

  tryDirect(publicKey: string, inMs: number): void {
    if (this.#peers.has(publicKey) && this.#inbox.put(publicKey, { type: 'agreed', inMs })) this.#pacer.wakeSoon();
  }

  paths(): readonly PeerPath[] {
    return this.#peers.paths().map((path) => ({ ...path, mtu: this.#mtus.mtuOf(path.publicKey) }));
  }

  place(): MemberPlace {
    const { addresses, listenPort } = this.#own.place;
    return { listenPort, endpoints: localEndpoints(addresses, listenPort), relayRegion: this.#traffic.relays.home() };
  }

  refused(): MemberRefusals {
    if (this.#device === null) return NOTHING_REFUSED;
    return { ...refusalsOf(this.#device.refusals(), this.#wanted), taken: [...this.#own.taken] };
  }

  problem(): string | null {
    return this.#problem ?? (this.#wanted.peers.size > 0 ? this.#traffic.relays.problem() : null);
  }

  /** Once it is known where others find this member, or that this will take long. */
  async placed(): Promise<void> {
    if (this.#wanted.relayMap == null) return;
    await this.#traffic.placed(this.#placedByMs, this.#ending.signal);
  }

  async close({ isKept }: { readonly isKept: boolean }): Promise<void> {
    this.#ending.abort();
    this.#pacer.end();
    await this.#running;
    this.#traffic.relays.close();
    this.#mtus.close();
    if (isKept) await this.#leaveDirect().catch(() => {}); // the next start repairs it
    this.#traffic.relaySockets.close();
    await (isKept ? this.#device?.release() : this.#device?.remove());
  }

  /** At the start the own relay is waited for, but not for ever. */
  #earlyUntilMs(): number | null {
    return this.#traffic.relays.isSearching && performance.now() < this.#placedByMs ? this.#placedByMs : null;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    for (;;) {
      await this.#pacer.next(
        Math.min(
          this.#readAtMs,
          this.#repairAtMs,
          this.#lookAtMs,
          this.#traffic.relays.isSearching ? performance.now() + READ_EAGER_MS : Infinity,
          this.#peers.dueMs(),
          this.#mtus.dueMs(),
        ),
      );
      if (this.#ending.signal.aborted) return;
      try {
        await this.#turn(performance.now());
        this.#problem = null;
        this.#pacer.succeeded();
      } catch (error) {
        // The device says for itself when it is gone; anything else is tried again, later each time.
        this.#problem = this.#device === null ? null : (error as Error).message;
        this.#isWantedNew = true;
        this.#repairAtMs = 0;
        this.#pacer.failed();
      }
    }
  }

  async #turn(nowMs: number): Promise<void> {
    const hasSlept = nowMs - this.#lastTurnMs > SLEEP_MS_MIN;
    this.#lastTurnMs = nowMs;
    this.#traffic.relays.become(this.#wanted.relayMap ?? null, this.#wanted.privateKey);
    this.#traffic.relays.sweep(nowMs);
    if (hasSlept || nowMs >= this.#lookAtMs) await this.#look(nowMs, hasSlept);
    const device = this.#device;
    if (device === null) {
      [this.#readAtMs, this.#repairAtMs] = [nowMs + READ_IDLE_MS, nowMs + READ_IDLE_MS];
      return;
    }
    const isRegular = nowMs >= this.#repairAtMs;
    if (this.#isWantedNew || isRegular) await this.#repair(device, nowMs, isRegular);
    // A peer whose handshake is next may have begun one meanwhile: handshakes that cross lead nowhere, and a peer that
    // is added anew forgets the one under way.
    else if (
      nowMs >= this.#readAtMs ||
      (nowMs >= this.#heededAtMs + READ_HANDSHAKE_MS && this.#peers.isHandshakeDue(nowMs))
    )
      await this.#readAll(device);
    for (const { publicKey, message } of this.#inbox.taken()) this.#peers.tell(publicKey, message);
    this.#peers.tellRelays();
    this.#peers.tellTime(nowMs);
    await this.#mtus.narrow(device);
    await perform(this.#peers.taken(), this.#effectPorts(device));
    await this.#mtus.turn(device, isRegular);
    this.#traffic.sweepSockets((publicKey) => this.#peers.directEndpointOf(publicKey) === null);
    this.#readAtMs = Math.max(Math.min(this.#readAtMs, performance.now() + this.#peers.cadence()), this.#lastTurnMs);
    this.#tellPlace();
  }

  #effectPorts(device: WireguardDevice): PathEffectPorts {
    return {
      device,
      relaySockets: this.#traffic.relaySockets,
      taken: () => this.#peers.taken(),
      wantsTry: (publicKey) => this.#ports.wantsTry(publicKey),
      say: (publicKey, message) => this.#traffic.say(publicKey, message),
      strange: (publicKey) => this.#peers.strange(publicKey),
      read: () => this.#readAll(device),
    };
  }

  /** The addresses of this machine, and what follows from them. */
  async #look(nowMs: number, hasSlept: boolean): Promise<void> {
    this.#lookAtMs = nowMs + ADDRESSES_MS;
    const { isMoved, isOneGone, isTakenOtherwise } = this.#own.look(this.#wanted.addresses);
    if (isTakenOtherwise) this.#isWantedNew = true;
    if (!isMoved && !hasSlept) return;
    if (hasSlept || isOneGone) this.#traffic.relays.renew();
    await prepareCandidates(this.#wanted.peers.values(), this.#own.place);
    this.#peers.moved(this.#own.place);
    this.#mtus.forget();
    if (hasSlept) this.#readAtMs = nowMs;
  }

  /** Makes the interface what is wanted. */
  async #repair(device: WireguardDevice, nowMs: number, isRegular: boolean): Promise<void> {
    this.#repairAtMs = nowMs + REPAIR_MS;
    const wanted = this.#wanted; // another one that comes meanwhile has a repair and a look of its own
    const looking = this.#look(nowMs, false);
    this.#isWantedNew = false;
    await looking;
    if (isRegular) this.#inbox.sweep(nowMs);
    const { taken } = this.#own;
    const target = { ...wanted, addresses: wanted.addresses.filter((cidr) => !taken.has(cidr)) };
    await prepareCandidates(target.peers.values(), this.#own.place);
    const readings = await this.#interface.repair(device, { target, nowMs, isRegular });
    this.#readAtMs = nowMs;
    this.#heededAtMs = performance.now();
    this.#peers.heed(readings);
    this.#tellRefused(device);
  }

  async #readAll(device: WireguardDevice): Promise<void> {
    const readings = await device.read();
    this.#heededAtMs = performance.now();
    this.#peers.heed(readings);
    this.#readAtMs = performance.now() + this.#peers.cadence();
  }

  #tellRefused(device: WireguardDevice): void {
    const { peers: refused, addresses } = device.refusals();
    const text = JSON.stringify([...refused.keys(), ...addresses.keys(), ...this.#own.taken]);
    if (text === this.#toldRefused || (text === '[]' && this.#toldRefused === '')) return;
    this.#toldRefused = text;
    this.#ports.changed();
  }

  #tellPlace(): void {
    const place = this.place();
    const text = JSON.stringify(place);
    if (text === this.#toldPlace || !this.#ports.moved(place)) return;
    this.#toldPlace = text;
    this.#traffic.relays.told(place.relayRegion);
  }

  /** Nobody looks after paths for a while: who was relayed is left at the likeliest endpoint. */
  async #leaveDirect(): Promise<void> {
    if (this.#device === null) return;
    await this.#mtus.leave(this.#device).catch(() => {}); // the next start takes it back
    await this.#device.setEndpoints(this.#peers.likeliest());
  }
}
