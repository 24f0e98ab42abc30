/** What leads programs of this machine to names: systemd-resolved, resolv.conf, or the hosts file itself. */
import type { NodeId } from '../../../transport/protocol/ids.ts';
import type { NameMode } from '../../config.ts';
import { writeHosts } from './hosts.ts';
import { RESOLVED_CHECK_MS } from './limits.ts';
import type { VpnRecords } from './records.ts';
import type { ResolverStates } from './resolver.ts';
import type { SystemPlaces } from './system/places.ts';
import { hookResolvConf, unhookResolvConf } from './system/resolv-conf.ts';
import {
  hookResolved,
  interfaceIndex,
  isHookedAtResolved,
  isResolvedUsed,
  unhookResolved,
  type ResolvedOptions,
} from './system/systemd-resolved.ts';

/** What leads programs of this machine to the names now; null: nothing does. */
export type NameWay = 'systemd-resolved' | 'resolv.conf' | 'hosts' | null;

/** What a way says: it works, or why not, as the end of a sentence. */
type Tried = string | null;

/** The first way that works, and why those before it do not. `waiting`: the interface is not there yet. */
export interface FoundWay {
  readonly way: NameWay | 'waiting';
  readonly reasons: readonly string[];
}

/** Where the ways are. */
export interface NameWaysOptions {
  readonly mode: NameMode;
  readonly node: NodeId;
  /** Of the VPN. */
  readonly interfaceName: string;
  /** The operator lets the resolver stand first in resolv.conf. */
  readonly mayUseResolvConf: boolean;
  /** Where the resolver is asked by way of resolv.conf; null: not, or programs here would not find other names. */
  readonly loopback: string | null;
  readonly places: SystemPlaces;
  readonly port: number;
}

/** Ways of one machine. */
export class NameWays {
  readonly #options: NameWaysOptions;
  /** What systemd-resolved was told, and when it was seen there last; monotonic, in ms. */
  #resolved: { readonly told: string; readonly tried: Tried; readonly atMs: number } | null = null;

  constructor(options: NameWaysOptions) {
    this.#options = options;
  }

  /** Leads programs to these names. `states`: of the resolver; null: there is none. Never rejects. */
  async lead(records: VpnRecords, states: ResolverStates | null): Promise<FoundWay> {
    const { node, places } = this.#options;
    const resolved = states === null ? null : await this.#leadToResolver(records, states);
    if (resolved !== null && resolved.way !== null) return resolved;
    const reasons = resolved?.reasons ?? [];
    const tried = await writeHosts(places.hosts, node, records);
    return tried === null
      ? { way: 'hosts', reasons }
      : { way: null, reasons: [...reasons, `${places.hosts}: ${tried}`] };
  }

  /** Ends those that are not this one. `before`: the one until now. */
  async leaveOthers(way: NameWay, before: NameWay): Promise<void> {
    const { node, interfaceName, places } = this.#options;
    if (way !== 'hosts') await writeHosts(places.hosts, node, null);
    if (way !== 'resolv.conf') await unhookResolvConf(places.resolvConf, node);
    if (way !== 'systemd-resolved' && before === 'systemd-resolved')
      await unhookResolved(resolvedOptions(interfaceName, places));
  }

  /** There are no names: what systemd-resolved was told before counts for nothing. */
  forget(): void {
    this.#resolved = null;
  }

  async #leadToResolver({ self, zones }: VpnRecords, { ipv4, ipv6, loopback }: ResolverStates): Promise<FoundWay> {
    const { places, port } = this.#options;
    if (ipv4 === null || ipv6 === null || (this.#options.loopback !== null && loopback === null))
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
    if (!this.#options.mayUseResolvConf) return { way: null, reasons };
    const tried = await this.#tryResolvConf(loopback);
    return tried === null
      ? { way: 'resolv.conf', reasons }
      : { way: null, reasons: [...reasons, `${places.resolvConf}: ${tried}`] };
  }

  async #tryResolvConf(state: ResolverStates['loopback']): Promise<Tried> {
    const { node, places, port, loopback } = this.#options;
    if (loopback === null) return 'programs of this machine ask all of its servers at once';
    if (state?.isListening !== true) return `port ${port} of loopback cannot be had (${codesOf([state])})`;
    return hookResolvConf(places.resolvConf, node, loopback);
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
}

/** A file in which names may be left, and why. */
export interface LeftNames {
  readonly path: string;
  readonly problem: string;
}

/** Where there is no file, nothing is left in it. */
const NO_FILE = 'it does not exist';

/** Ends every way of a node, whoever began it. Never rejects. */
export async function leaveAll({
  node,
  interfaceName,
  places,
}: Pick<NameWaysOptions, 'node' | 'interfaceName' | 'places'>): Promise<readonly LeftNames[]> {
  await unhookResolved(resolvedOptions(interfaceName, places));
  const tried: readonly (readonly [string, string | null])[] = [
    [places.resolvConf, await unhookResolvConf(places.resolvConf, node)],
    [places.hosts, await writeHosts(places.hosts, node, null)],
  ];
  return tried.flatMap(([path, problem]) => (problem === null || problem === NO_FILE ? [] : [{ path, problem }]));
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
