/**
 * This machine in the VPN of its cluster: it says what it is, becomes what it is told, and goes on with what it
 * knows while no admin answers.
 */
import { leftOutNote, type LeftOutPeer, type VpnSettings } from '../../transport/protocol/vpn.ts';
import type { Log } from '../../transport/net/log.ts';
import type { RelayMap } from '../../transport/vpn/relay-map/map.ts';
import type { CreatedMember, MemberOptions } from '../../transport/vpn/member/create-member.ts';
import type { MemberPorts, WantedMember } from '../../transport/vpn/member/member.ts';
import { publicKeyOf } from '../../transport/vpn/wireguard/keys.ts';
import type { VpnWay } from '../access/tunnel/ways.ts';
import type { Service } from '../observability/health.ts';
import type { NamedPeer } from '../observability/metrics/wireguard.ts';
import type { AdminVpnFrame, AgentVpnFrameBody, SessionClock, SessionVpn } from '../session/ports.ts';
import { addressProblem } from './address-problem.ts';
import { HeldMember } from './held-member.ts';
import { OwnKeys, type VpnKeys } from './keys-file.ts';
import { Observers } from './observers.ts';
import { NetworkMapFile } from './network-map-file.ts';
import { changedNetworkMap, fullNetworkMap, wantedOf, type NetworkMap } from './network-map.ts';
import { Question } from './question.ts';
import { reportOf, Reports } from './reports.ts';

/** What a membership is made of. */
export interface MembershipOptions {
  readonly interfaceName: string;
  /** UDP; 0 picks one and keeps it. */
  readonly port: number;
  /** As in MemberOptions. */
  readonly hasMtuDiscovery: boolean;
  /** Files of the key and of the last known VPN. */
  readonly keysPath: string;
  readonly networkMapPath: string;
  /** Of the cluster that the node is in, as the admin says. */
  readonly clusterName: () => string;
  readonly clock: SessionClock;
  readonly log: Log;
  /** False: no admin hears it now. */
  readonly say: (message: AgentVpnFrameBody) => boolean;
  readonly createMember: (options: MemberOptions, ports: MemberPorts) => Promise<CreatedMember>;
  /** Told of every state of the VPN; null: there is none. */
  readonly named: (networkMap: NetworkMap | null) => void;
}

/**
 * A running membership. Nothing is opened before an admin, or the file of an earlier run, says that there is a VPN.
 */
export class Membership {
  readonly session: SessionVpn = { told: (order) => this.#told(order) };
  readonly service: Service = {
    name: 'vpn',
    problem: () => this.#refused ?? this.#held.member?.problem() ?? addressProblem(this.#held.member),
    note: () =>
      this.#held.problem === null ? leftOutNote(this.#leftOut()) : `This machine joins no VPN: ${this.#held.problem}`,
  };
  readonly #options: MembershipOptions;
  readonly #keys: OwnKeys;
  readonly #held: HeldMember;
  readonly #reports: Reports;
  readonly #question: Question;
  readonly #file: NetworkMapFile;
  readonly #observers = new Observers(() => this.#become());
  #networkMap: NetworkMap | null;
  #relayMap: RelayMap | null = null;
  /** Where this machine is, as an admin heard last: what the member says of it at its start is no news. */
  #heardPlace = '';
  #observed: Extract<AdminVpnFrame, { type: 'mesh-observed' }> | null = null;
  /** Why the admin gave it no VPN. */
  #refused: string | null = null;
  #saidLeftOut: string | null = null;

  constructor(options: MembershipOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#keys = new OwnKeys(options.keysPath, options.port, log);
    this.#file = new NetworkMapFile(options.networkMapPath, clock, log);
    this.#reports = new Reports(clock, () => this.#report());
    this.#question = new Question(clock, () => this.#advertise());
    this.#held = new HeldMember({
      clock,
      log,
      prepare: () => this.#openKeys(),
      create: () => this.#create(),
      opened: () => {
        this.#become();
        this.#advertise();
        this.#reports.start();
      },
      closes: () => {
        this.#reports.stop();
        this.#question.close();
      },
    });
    this.#networkMap = this.#file.read();
    // What an earlier run knew is true until an admin says otherwise: traffic goes on before one answers.
    if (this.#networkMap !== null) this.#held.open();
  }

  /** Settings came, with a welcome or between. */
  configured(settings: VpnSettings | undefined, adminUrl: string): void {
    // an admin of an older version, while others are newer: it says nothing of VPNs, and what is known goes on
    if (settings === undefined) return;
    if (settings.mode !== 'embedded') {
      this.#forget();
      void this.#held.close({ isKept: false });
      return;
    }
    void this.#observers.look(settings.observers, adminUrl);
    const isThere = this.#held.member !== null;
    this.#held.open();
    // Also between welcomes: what was said before may be lost, as with a cluster that was told too much at once, and a
    // VPN that was full may have room.
    if (isThere) this.#advertise();
  }

  /** The relay map in force; null: there are no relays. */
  mapped(map: RelayMap | null): void {
    this.#relayMap = map;
    this.#become();
  }

  /** Makes a new key, and uses it as soon as the admin has told the others. */
  rotate(): void {
    const problem = this.#keys.makeNext();
    if (problem === null) this.#advertise();
    else this.#options.log.error({ problem }, 'The WireGuard key cannot be changed');
  }

  /** What is known of each peer now, by public key. It looks at all of them: to be asked once for many. */
  peers(): ReadonlyMap<string, NamedPeer> {
    const known = new Map<string, NamedPeer>();
    for (const [publicKey, { node }] of this.#networkMap?.peers ?? [])
      known.set(publicKey, { node: node ?? 'gateway', path: null, mtu: null });
    for (const { publicKey, path, mtu } of this.#held.member?.paths() ?? [])
      known.set(publicKey, { node: known.get(publicKey)?.node ?? null, path, mtu });
    return known;
  }

  /** How the admin that owns the cluster is reached through the VPN; null: not at all, or not now. */
  wayToGateway(): VpnWay | null {
    const { member } = this.#held;
    if (member === null || this.#networkMap === null) return null;
    const { peers, network } = this.#networkMap;
    const gateway = [...peers.values()].find(({ node }) => node === null);
    if (gateway === undefined) return null;
    const path = member.paths().find(({ publicKey }) => publicKey === gateway.public_key)?.path ?? 'none';
    if (path === 'none') return null;
    return { gateway: gateway.ipv4, own: network.ipv4 };
  }

  /** How the admin sees this machine from outside; null: not yet. */
  observed(): Extract<AdminVpnFrame, { type: 'mesh-observed' }> | null {
    return this.#observed;
  }

  /** `isKept`: the interface stays for the next start, with its traffic. */
  async close(end: { readonly isKept: boolean }): Promise<void> {
    this.#file.storeNow();
    await this.#held.end(end);
  }

  #told(order: AdminVpnFrame): void {
    switch (order.type) {
      case 'mesh-network':
        this.#learn(fullNetworkMap(order));
        return this.#file.storeNow();
      case 'mesh-changed': {
        const next = changedNetworkMap(this.#networkMap, order);
        // without a member, as before one is opened, nobody wants it: one that is opened asks by itself
        if (next === null) return this.#held.member === null ? undefined : this.#question.ask();
        return next === this.#networkMap ? undefined : this.#learn(next);
      }
      case 'mesh-refused':
        this.#question.close();
        this.#sayRefused(order.reason);
        // a machine that was moved is not to stay among those that it left
        return this.#isPresent() ? undefined : this.#forget();
      case 'mesh-observed':
        this.#observed = order;
        return;
      case 'mesh-try':
        return this.#held.member?.tryDirect(order.public_key, order.in_ms);
      case 'netmaker-join':
        return; // of the other kind of coordination
      default:
        throw new Error(`no such order: ${(order satisfies never as { type: string }).type}`);
    }
  }

  #sayRefused(reason: string): void {
    if (this.#refused !== reason)
      this.#options.log.error({ reason }, 'The admin does not let this machine into the VPN of its cluster');
    this.#refused = reason;
  }

  /** It is in no VPN from now on, also after a restart. */
  #forget(): void {
    this.#networkMap = null;
    this.#file.forget();
    this.#become();
  }

  /** Whether what it was told is of the cluster that it is in now. */
  #isPresent(): boolean {
    return this.#networkMap?.network.cluster_name === this.#options.clusterName();
  }

  #learn(next: NetworkMap): void {
    this.#networkMap = next;
    this.#refused = null;
    this.#question.close();
    this.#keys.turnTo(next.network.public_key);
    this.#file.storeSoon(next);
    this.#sayLeftOut();
    this.#become();
  }

  /** The map may be of the key that is to follow, where an earlier run turned to it and could not store that. */
  #openKeys(): string | null {
    const problem = this.#keys.open();
    if (problem === null && this.#networkMap !== null) this.#keys.turnTo(this.#networkMap.network.public_key);
    return problem;
  }

  #create(): Promise<CreatedMember> {
    const { createMember, interfaceName, hasMtuDiscovery, say } = this.#options;
    const keys = this.#keys.held;
    if (keys === null) throw new Error('there are no keys to open an interface with');
    return createMember(
      { interfaceName, listenPort: keys.listenPort, wanted: this.#wanted(keys), hasMtuDiscovery },
      {
        wantsTry: (publicKey) => void say({ type: 'mesh-try', public_key: publicKey }),
        moved: (place) => JSON.stringify(place) === this.#heardPlace || this.#advertise(),
        changed: () => {
          this.#sayLeftOut();
          this.#reports.soon();
        },
      },
    );
  }

  #wanted({ privateKey }: VpnKeys): WantedMember {
    return wantedOf(privateKey, this.#networkMap, { observers: this.#observers.found, relayMap: this.#relayMap });
  }

  #become(): void {
    const { held: keys } = this.#keys;
    if (keys === null) return;
    this.#held.member?.become(this.#wanted(keys));
    // names of machines that cannot be reached are of no use
    this.#options.named(this.#held.member === null ? null : this.#networkMap);
  }

  /** False: no admin heard it. */
  #advertise(): boolean {
    const { member } = this.#held;
    const { held: keys } = this.#keys;
    if (member === null || keys === null) return false;
    const place = member.place();
    const { listenPort, endpoints, relayRegion } = place;
    const publicKey = publicKeyOf(keys.nextPrivateKey ?? keys.privateKey);
    const { revision = null, network } = this.#networkMap ?? {};
    // Owners of clusters count each for themselves: a state of another cluster may have the number of one of this.
    const isCurrent = network?.public_key === publicKey && this.#isPresent();
    const isHeard = this.#options.say({
      type: 'mesh-advertise',
      advertisement: {
        public_key: publicKey,
        listen_port: listenPort,
        endpoints: [...endpoints],
        relay_region: relayRegion,
        revision: isCurrent ? revision : null,
      },
    });
    if (isHeard) this.#heardPlace = JSON.stringify(place);
    return isHeard;
  }

  #report(): boolean {
    const { member } = this.#held;
    if (member !== null) this.#options.say({ type: 'mesh-report', report: reportOf(member, this.#networkMap) });
    return member !== null;
  }

  /** Peers without which this machine is in its VPN: what they are told to be is nothing that WireGuard takes. */
  #leftOut(): readonly LeftOutPeer[] {
    return [...(this.#networkMap?.leftOut.values() ?? []), ...(this.#held.member?.refused().peers ?? [])];
  }

  /** Said once for each state. */
  #sayLeftOut(): void {
    const note = leftOutNote(this.#leftOut());
    if (note !== this.#saidLeftOut && note !== null)
      this.#options.log.warn({ problem: note }, 'Peers are left out of the VPN of this machine: it reaches all others');
    this.#saidLeftOut = note;
  }
}
