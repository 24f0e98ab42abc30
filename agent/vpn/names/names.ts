/**
 * Names of a cluster's members on this machine: a resolver of our own with what leads programs there, or the hosts
 * file.
 */
import type { NodeId } from '../../../transport/protocol/ids.ts';
import type { VpnMembership, VpnPeer } from '../../../transport/protocol/vpn.ts';
import type { Log } from '../../../transport/net/log.ts';
import { writeHosts } from './hosts.ts';
import { CHECK_MS, DNS_PORT, INTERFACE_MS_MAX, RESOLVED_CHECK_MS } from './limits.ts';
import type { NameMode } from './modes.ts';
import { vpnRecords } from './records.ts';
import type { VpnRecords } from './records.ts';
import { createResolver, loopbackAddress } from './resolver.ts';
import type { Resolver, ResolverStates } from './resolver.ts';
import { SYSTEM_PLACES } from './system/places.ts';
import type { SystemPlaces } from './system/places.ts';
import { hookResolvConf, unhookResolvConf } from './system/resolv-conf.ts';
import {
  hookResolved,
  interfaceIndex,
  isHookedAtResolved,
  isResolvedUsed,
  unhookResolved,
} from './system/systemd-resolved.ts';
import type { ResolvedOptions } from './system/systemd-resolved.ts';

/** What leads programs of this machine to the names now; null: nothing does. */
export type NameWay = 'systemd-resolved' | 'resolv.conf' | 'hosts' | null;

/** What they are made of. */
export interface NamesOptions {
  readonly mode: NameMode;
  readonly node: NodeId;
  /** Of the VPN. */
  readonly interfaceName: string;
  /**
   * The operator lets the resolver stand first in resolv.conf, where systemd-resolved is not used: see
   * docs/decisions/names.md for what this breaks.
   */
  readonly mayUseResolvConf?: boolean;
  readonly log: Log;
  /** Those of this machine, except in tests. */
  readonly places?: SystemPlaces;
  /** 53, except in tests. */
  readonly port?: number;
}

/** Names that are kept up. */
export interface Names {
  /**
   * What there is from now on, whole. Returns at once: the resolver answers by it from the next query on, a file
   * follows within moments.
   */
  update(network: VpnMembership, peers: Iterable<VpnPeer>): void;
  /** This member is in no VPN: no names. */
  clear(): void;
  /**
   * Why programs of this machine do not find the names, in one sentence without addresses; null: they do, or there are
   * none.
   */
  problem(): string | null;
  /**
   * While there is no problem: why they find them by the hosts file although a resolver could be used, in one sentence;
   * null: all is as it should be.
   */
  note(): string | null;
  readonly way: NameWay;
  /** Removes everything. May be called twice. */
  close(): Promise<void>;
}

/** Removes at once what an earlier agent of this node left behind, then waits for `update`. Never throws. */
export function createNames(options: NamesOptions): Names {
  const names = new KeptNames(options);
  names.wake();
  return names;
}

/**
 * Removes what names of this node an agent left behind: on `leave`. Never rejects; what cannot be removed is a warning.
 */
export async function removeNames({
  node,
  interfaceName,
  log,
  places = SYSTEM_PLACES,
}: Pick<NamesOptions, 'node' | 'interfaceName' | 'log' | 'places'>): Promise<void> {
  await unhookResolved(resolvedOptions(interfaceName, places));
  for (const [path, left] of [
    [places.resolvConf, await unhookResolvConf(places.resolvConf, node)],
    [places.hosts, await writeHosts(places.hosts, node, null)],
  ] as const) {
    if (left !== null && left !== NO_FILE) log.warn({}, `Names of the cluster may be left in ${path}: ${left}`);
  }
}

/** Where there is no file, nothing is left in it. */
const NO_FILE = 'it does not exist';

/** What a way says: it works, or why not, as the end of a sentence. */
type Tried = string | null;

class KeptNames implements Names {
  readonly #options: NamesOptions & { readonly places: SystemPlaces };
  readonly #resolver: Resolver | null;
  /**
   * Where it is asked by way of resolv.conf; null: that is not allowed, or programs here would not find other names.
   */
  readonly #loopback: string | null;
  readonly #check: NodeJS.Timeout;
  #records: VpnRecords | null = null;
  #way: NameWay = null;
  /** Of what was tried last. */
  #problem: string | null = null;
  #note: string | null = null;
  /** Since when the interface is waited for; monotonic, in ms. */
  #waitingSinceMs: number | null = null;
  #isDomainBad = false;
  #isWoken = false;
  #isClosed = false;
  #settling: Promise<void> | null = null;
  /** What systemd-resolved was told, and when it was seen there last; monotonic, in ms. */
  #resolved: { readonly told: string; readonly tried: Tried; readonly atMs: number } | null = null;
  /** What was logged last. */
  #said = '';

  constructor(options: NamesOptions) {
    const places = options.places ?? SYSTEM_PLACES;
    this.#options = { ...options, places };
    this.#loopback = options.mayUseResolvConf === true && places.isOneByOne() ? loopbackAddress(options.node) : null;
    this.#resolver =
      options.mode === 'resolver'
        ? createResolver({
            port: options.port ?? DNS_PORT,
            loopback: this.#loopback,
            nowMs: () => performance.now(),
            changed: () => {
              this.wake();
            },
          })
        : null;
    this.#check = setInterval(() => {
      this.wake();
    }, CHECK_MS).unref();
  }

  get way(): NameWay {
    return this.#way;
  }

  update(network: VpnMembership, peers: Iterable<VpnPeer>): void {
    if (this.#isClosed) return;
    this.#records = vpnRecords(this.#options.node, network, peers);
    this.#isDomainBad = this.#records === null;
    if (this.#records !== null) this.#resolver?.serve(this.#records);
    this.wake();
  }

  clear(): void {
    this.#records = null;
    this.#isDomainBad = false;
    this.wake();
  }

  problem(): string | null {
    if (this.#options.mode === 'off') return null;
    if (this.#isDomainBad) return 'The domain of the cluster is no host name, so that its members have no names here';
    if (this.#records === null) return null;
    const isOverdue = this.#waitingSinceMs !== null && performance.now() - this.#waitingSinceMs >= INTERFACE_MS_MAX;
    return isOverdue ? `Names of the cluster wait for the interface ${this.#options.interfaceName}` : this.#problem;
  }

  note(): string | null {
    return this.#records === null || this.problem() !== null ? null : this.#note;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#check);
    this.#records = null;
    this.wake();
    await this.#settling;
    await this.#resolver?.close();
  }

  /** Sees to it that things are as they should be, once more if that is going on already. */
  wake(): void {
    this.#isWoken = true;
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = null;
    });
  }

  async #settle(): Promise<void> {
    await Promise.resolve(); // updates of one turn come together
    while (this.#isWoken) {
      this.#isWoken = false;
      await this.#arrange(this.#records);
    }
  }

  async #arrange(records: VpnRecords | null): Promise<void> {
    const { mode, node, interfaceName, places, log } = this.#options;
    if (mode === 'off' || records === null) {
      // Only this agent writes there, so after the first look nothing can come back by itself.
      if (this.#way !== null || this.#said === '') await removeNames({ node, interfaceName, log, places });
      this.#resolved = null;
      this.#way = this.#problem = this.#note = this.#waitingSinceMs = null;
      this.#said ||= 'nothing';
      return;
    }
    const reasons: string[] = [];
    const way = await this.#firstOf(records, reasons);
    if (way === 'waiting') {
      this.#waitingSinceMs ??= performance.now();
      return;
    }
    this.#waitingSinceMs = null;
    // Others go only when the new way is there: names do not vanish between.
    if (way !== null) await this.#leaveOthers(way);
    this.#way = way;
    this.#problem =
      way === null ? `Programs of this machine do not find names of the cluster: ${reasons.join('; ')}` : null;
    this.#note =
      way === 'hosts' && reasons.length > 0 && isResolvedUsed(places)
        ? `Names of the cluster are in the hosts file: ${reasons.join('; ')}`
        : null;
    this.#tell(way, reasons);
  }

  /** The first way that works. `reasons`: why those before it do not. */
  async #firstOf(records: VpnRecords, reasons: string[]): Promise<NameWay | 'waiting'> {
    const { mode, node, places } = this.#options;
    if (mode === 'resolver' && this.#resolver !== null) {
      const tried = await this.#leadToResolver(records, this.#resolver.states);
      if (tried.way !== null) return tried.way;
      reasons.push(...tried.reasons);
    }
    const tried = await writeHosts(places.hosts, node, records);
    if (tried === null) return 'hosts';
    reasons.push(`${places.hosts}: ${tried}`);
    return null;
  }

  async #leadToResolver(
    { self, zones }: VpnRecords,
    { ipv4, ipv6, loopback }: ResolverStates,
  ): Promise<{ readonly way: NameWay | 'waiting'; readonly reasons: readonly string[] }> {
    const { node, places, port = DNS_PORT } = this.#options;
    if (ipv4 === null || ipv6 === null || (this.#loopback !== null && loopback === null))
      return { way: 'waiting', reasons: [] };
    const states = [ipv4, ipv6];
    if (states.every((state) => !state.isListening && ABSENT.has(state.code))) return { way: 'waiting', reasons: [] };

    const reasons: string[] = [];
    const servers = [...(ipv4.isListening ? [self.ipv4] : []), ...(ipv6.isListening ? [self.ipv6] : [])];
    if (servers.length === 0) reasons.push(`port ${port} of the interface cannot be had (${codesOf(states)})`);
    if (!isResolvedUsed(places)) reasons.push('systemd-resolved is not what programs ask');
    else if (servers.length > 0) {
      const tried = await this.#tryResolved(servers, [...zones]);
      if (tried === null) return { way: 'systemd-resolved', reasons };
      reasons.push(`systemd-resolved: ${tried}`);
    }
    if (this.#options.mayUseResolvConf !== true) return { way: null, reasons };
    if (this.#loopback === null)
      reasons.push(`${places.resolvConf}: programs of this machine ask all of its servers at once`);
    else if (loopback?.isListening !== true)
      reasons.push(`${places.resolvConf}: port ${port} of loopback cannot be had (${codesOf([loopback])})`);
    else {
      const tried = await hookResolvConf(places.resolvConf, node, this.#loopback);
      if (tried === null) return { way: 'resolv.conf', reasons };
      reasons.push(`${places.resolvConf}: ${tried}`);
    }
    return { way: null, reasons };
  }

  async #tryResolved(servers: readonly string[], zones: readonly string[]): Promise<Tried> {
    const { interfaceName, places } = this.#options;
    const options = resolvedOptions(interfaceName, places);
    const domains = zones.filter((zone) => !zone.endsWith('.arpa') || zones.length <= ROUTED_ZONES_MAX);
    const told = [interfaceIndex(options), ...servers, ...domains].join(' ');
    const nowMs = performance.now();
    const last = this.#resolved;
    if (last?.told === told) {
      if (nowMs - last.atMs < RESOLVED_CHECK_MS) return last.tried;
      if (last.tried === null && (await isHookedAtResolved(options, servers, domains))) {
        this.#resolved = { ...last, atMs: nowMs };
        return null;
      }
    }
    const tried = await hookResolved(options, servers, domains);
    this.#resolved = { told, tried, atMs: nowMs };
    return tried;
  }

  async #leaveOthers(way: NameWay): Promise<void> {
    const { node, interfaceName, places } = this.#options;
    if (way !== 'hosts') await writeHosts(places.hosts, node, null);
    if (way !== 'resolv.conf') await unhookResolvConf(places.resolvConf, node);
    if (way !== 'systemd-resolved' && this.#way === 'systemd-resolved') {
      await unhookResolved(resolvedOptions(interfaceName, places));
    }
  }

  /** Says what is other than before. */
  #tell(way: NameWay, reasons: readonly string[]): void {
    const said = `${way} ${reasons.join()}`;
    if (said === this.#said) return;
    this.#said = said;
    const { log, mode } = this.#options;
    if (way === null) log.warn({}, `${this.#problem}`);
    else
      log.info(
        {
          by: way,
          ...(mode === 'resolver' && way === 'hosts' && { reason: reasons.join('; ') }),
        },
        'Names of the cluster are found by programs of this machine',
      );
  }
}

/** The interface is not up yet, or gone; or the machine does not have that family. */
const ABSENT: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Domains that systemd-resolved is given for one interface: two of names, and those of the ranges unless they are many.
 */
const ROUTED_ZONES_MAX = 16;

function codesOf(states: readonly ({ readonly isListening: boolean; readonly code?: string } | null)[]): string {
  return [...new Set(states.flatMap((state) => state?.code ?? []))].join(', ');
}

function resolvedOptions(interfaceName: string, { resolvectl, interfaces }: SystemPlaces): ResolvedOptions {
  return { interfaceName, program: resolvectl, interfaces };
}
