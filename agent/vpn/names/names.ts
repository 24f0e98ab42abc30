/**
 * Names of a cluster's members on this machine: a resolver of our own with what leads programs there, or the hosts
 * file.
 */
import type { NodeId } from '../../../transport/protocol/ids.ts';
import type { VpnMembership, VpnPeer } from '../../../transport/protocol/vpn.ts';
import type { Log } from '../../../transport/net/log.ts';
import type { NameMode } from '../../config.ts';
import { CHECK_MS, DNS_PORT, INTERFACE_MS_MAX } from './limits.ts';
import { vpnRecords, type VpnRecords } from './records.ts';
import { createResolver, loopbackAddress, type Resolver } from './resolver.ts';
import { SYSTEM_PLACES, type SystemPlaces } from './system/places.ts';
import { isResolvedUsed } from './system/systemd-resolved.ts';
import { leaveAll, NameWays, type NameWay } from './ways.ts';

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

/** Removes at once what an earlier agent of this node left behind, then waits for `update`. Never throws. */
export function createNames(options: NamesOptions): Names {
  const names = new Names(options);
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
  for (const { path, problem } of await leaveAll({ node, interfaceName, places }))
    log.warn({}, `Names of the cluster may be left in ${path}: ${problem}`);
}

/** Names that are kept up. Made by `createNames`. */
export class Names {
  readonly #options: NamesOptions & { readonly places: SystemPlaces };
  readonly #resolver: Resolver | null;
  readonly #ways: NameWays;
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
  /** What was logged last. */
  #said = '';

  constructor(options: NamesOptions) {
    const places = options.places ?? SYSTEM_PLACES;
    this.#options = { ...options, places };
    const { mode, node, interfaceName, mayUseResolvConf = false, port = DNS_PORT } = options;
    // null: that is not allowed, or programs here would not find other names
    const loopback = mayUseResolvConf && places.isOneByOne() ? loopbackAddress(node) : null;
    this.#ways = new NameWays({ mode, node, interfaceName, mayUseResolvConf, loopback, places, port });
    this.#resolver =
      mode === 'resolver'
        ? createResolver({
            port,
            loopback,
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

  /**
   * What there is from now on, whole. Returns at once: the resolver answers by it from the next query on, a file
   * follows within moments.
   */
  update(network: VpnMembership, peers: Iterable<VpnPeer>): void {
    if (this.#isClosed) return;
    this.#records = vpnRecords(this.#options.node, network, peers);
    this.#isDomainBad = this.#records === null;
    if (this.#records !== null) this.#resolver?.serve(this.#records);
    this.wake();
  }

  /** This member is in no VPN: no names. */
  clear(): void {
    this.#records = null;
    this.#isDomainBad = false;
    this.wake();
  }

  /**
   * Why programs of this machine do not find the names, in one sentence without addresses; null: they do, or there are
   * none.
   */
  problem(): string | null {
    if (this.#options.mode === 'off') return null;
    if (this.#isDomainBad) return 'The domain of the cluster is no host name, so that its members have no names here';
    if (this.#records === null) return null;
    const isOverdue = this.#waitingSinceMs !== null && performance.now() - this.#waitingSinceMs >= INTERFACE_MS_MAX;
    return isOverdue ? `Names of the cluster wait for the interface ${this.#options.interfaceName}` : this.#problem;
  }

  /**
   * While there is no problem: why they find them by the hosts file although a resolver could be used, in one sentence;
   * null: all is as it should be.
   */
  note(): string | null {
    return this.#records === null || this.problem() !== null ? null : this.#note;
  }

  /** Removes everything. May be called twice. */
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
    this.#settling ??= this.#settle()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#settling = null;
      });
  }

  /** A fault of ours, which costs the names alone: the next look tries again. */
  #failed(error: unknown): void {
    const problem = 'Names of the cluster could not be kept up: trying again';
    if (this.#problem !== problem) this.#options.log.warn({ error }, problem);
    this.#problem = problem;
  }

  async #settle(): Promise<void> {
    await Promise.resolve(); // updates of one turn come together
    while (this.#isWoken) {
      this.#isWoken = false;
      await this.#arrange(this.#records);
    }
  }

  async #arrange(records: VpnRecords | null): Promise<void> {
    const { mode, places } = this.#options;
    if (mode === 'off' || records === null) {
      // Only this agent writes there, so after the first look nothing can come back by itself.
      if (this.#way !== null || this.#said === '') await removeNames(this.#options);
      this.#ways.forget();
      this.#way = this.#problem = this.#note = this.#waitingSinceMs = null;
      this.#said ||= 'nothing';
      return;
    }
    const { way, reasons } = await this.#ways.lead(records, this.#resolver?.states ?? null);
    if (way === 'waiting') {
      this.#waitingSinceMs ??= performance.now();
      return;
    }
    this.#waitingSinceMs = null;
    // Others go only when the new way is there: names do not vanish between.
    if (way !== null) await this.#ways.leaveOthers(way, this.#way);
    this.#way = way;
    this.#problem =
      way === null ? `Programs of this machine do not find names of the cluster: ${reasons.join('; ')}` : null;
    this.#note =
      way === 'hosts' && reasons.length > 0 && isResolvedUsed(places)
        ? `Names of the cluster are in the hosts file: ${reasons.join('; ')}`
        : null;
    this.#tell(way, reasons);
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
