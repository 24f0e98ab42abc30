/**
 * The relays of a member: the own one, where others find it, and those of the peers that are spoken to, for as long as
 * they are.
 */
import { chooseHome, measureRegions } from '../derp/home.ts';
import type { RelayMap } from '../relay-map/map.ts';
import { AvoidedRegions } from './avoided-regions.ts';
import { HOME_MS_MAX, MEASURE_AGAIN_MS, MEASURE_MS_MAX } from './limits.ts';
import { RelayConnections, type RelayConnectionPorts } from './relay-connections.ts';

/** Whom relays tell. `changed`: also when the own relay is another one now. */
export type RelayPorts = RelayConnectionPorts;

/** The relays of one member. Nothing is connected before there is a map. */
export class Relays {
  readonly #ports: RelayPorts;
  readonly #connections: RelayConnections;
  readonly #avoided = new AvoidedRegions();
  #map: RelayMap | null = null;
  #privateKey = '';
  /** Regions of the map that may be the own one. */
  #homes: readonly number[] = [];
  #home: number | null = null;
  #homeSinceMs = 0;
  /** The home that was reached last: one that is away for a moment is still told. */
  #toldHome: number | null = null;
  /** Where others look for this member, as they heard last: connected until they heard of another. */
  #heardHome: number | null = null;
  #measuring: AbortController | null = null;
  #measuredAtMs = 0;

  constructor(ports: RelayPorts) {
    this.#ports = ports;
    this.#connections = new RelayConnections({ ...ports, changed: () => this.#changed() });
  }

  /** Whether a connection that is needed is away, so that `sweep` is due soon. */
  get isSearching(): boolean {
    return this.#connections.isAnyLost || (this.#homes.length > 0 && this.#reached() === null);
  }

  /**
   * Nothing changed: nothing happens. Connections that are as good as before are kept: with another key there is none,
   * with another map they are those whose relays are the same.
   */
  become(map: RelayMap | null, privateKey: string): void {
    if (map === this.#map && privateKey === this.#privateKey) return;
    this.#stopMeasuring();
    if (privateKey === this.#privateKey) this.#connections.closeAllBut(map);
    else this.#connections.closeAll();
    this.#map = map;
    this.#privateKey = privateKey;
    const homes = map === null ? [] : [...map.regions.values()].filter(({ isHome }) => isHome).map(({ id }) => id);
    this.#homes = homes;
    this.#avoided.forget();
    if (map?.regions.has(this.#toldHome ?? -1) !== true) this.#toldHome = null;
    // One region is chosen without being asked, and a home that is in the new map too is kept until another is known
    // to be faster.
    this.#home = homes.length === 1 ? (homes[0] ?? null) : homes.includes(this.#home ?? -1) ? this.#home : null;
    this.#connectHomes();
    if (homes.length > 1) void this.#measure(performance.now());
    this.#changed();
  }

  /** Region of the own relay; null: none is reached. */
  home(): number | null {
    return this.#toldHome;
  }

  /**
   * Others hear now that this is the own region. Until all have, those that look at the one before find this member.
   */
  told(region: number | null): void {
    if (region === null || region === this.#heardHome) return;
    if (this.#heardHome !== null) this.#connections.use(this.#heardHome);
    this.#heardHome = region;
  }

  /** Whether packets to who waits at this region, and back, are carried, as far as is known. */
  carries(region: number | null): boolean {
    if (region === null || this.#toldHome === null) return false;
    return (
      this.#map?.regions.has(region) === true &&
      this.#connections.isUsable(this.#toldHome) &&
      this.#connections.isUsable(region)
    );
  }

  /**
   * False: dropped. The first packets to a region connect to it, and wait for that: they are handshakes, which would
   * not come again for 5 s.
   */
  send(region: number, publicKey: string, packet: Uint8Array): boolean {
    const known = this.#map?.regions.get(region);
    return known !== undefined && this.#connections.send(known, this.#privateKey, publicKey, packet);
  }

  /**
   * This machine slept, or an address of it is gone: what was connected before is dead, though nobody said so, and is
   * connected again.
   */
  renew(): void {
    this.#connections.closeAll();
    this.#connectHomes();
  }

  /**
   * Looks after time: idle connections end, a home that is away for too long is replaced. Of `performance.now`, in ms.
   */
  sweep(nowMs: number): void {
    this.#connections.closeIdle([this.#home, this.#toldHome, this.#heardHome], nowMs);
    if (this.#homes.length < 2) return;
    const awaySinceMs = this.#home === null ? this.#homeSinceMs : this.#connections.lostAtMs(this.#home);
    const isAway =
      this.#reached() === null &&
      awaySinceMs !== null &&
      nowMs - Math.max(awaySinceMs, this.#homeSinceMs, this.#measuredAtMs) >= HOME_MS_MAX;
    if (isAway && this.#home !== null) this.#avoided.failed(this.#home, nowMs);
    if (isAway || nowMs - this.#measuredAtMs >= MEASURE_AGAIN_MS) void this.#measure(nowMs);
  }

  /** What does not work, in one sentence; null: nothing. */
  problem(): string | null {
    if (this.#homes.length === 0 || this.#isFound()) return null;
    return this.#homes.length === 1
      ? 'the relay of the map is not reached: packets that need it are lost'
      : 'no relay of the map is reached: packets that need one are lost';
  }

  close(): void {
    this.#map = null;
    this.#stopMeasuring();
    this.#connections.closeAll();
  }

  #reached(): number | null {
    return this.#home !== null && this.#connections.isOpen(this.#home) ? this.#home : null;
  }

  /** Whether this member waits where others are told that it does. */
  #isFound(): boolean {
    return this.#toldHome !== null && this.#connections.isOpen(this.#toldHome);
  }

  /**
   * A home that is away for a moment is still the home: others would look for this member elsewhere, and it would come
   * back.
   */
  #changed(): void {
    const reached = this.#reached();
    if (reached !== null) this.#avoided.worked(reached);
    this.#toldHome = reached ?? this.#toldHome;
    this.#ports.changed();
  }

  /** Where it is to wait, and where others look for it until they are told so. */
  #connectHomes(): void {
    this.#homeSinceMs = performance.now();
    for (const region of new Set([this.#home, this.#toldHome, this.#heardHome])) this.#connectHome(region);
  }

  #connectHome(region: number | null): void {
    const known = region === null ? undefined : this.#map?.regions.get(region);
    if (known !== undefined) this.#connections.openHome(known, this.#privateKey);
  }

  /**
   * Chooses the own relay anew: the fastest of those that are not avoided, unless the present one is about as fast.
   * Never rejects.
   */
  async #measure(nowMs: number): Promise<void> {
    const among = this.#map;
    if (among === null || this.#measuring !== null) return;
    const asking = new AbortController();
    this.#measuring = asking;
    this.#measuredAtMs = nowMs;
    const latencies = await measureRegions(
      among,
      this.#ports.reach ?? {},
      AbortSignal.any([asking.signal, AbortSignal.timeout(MEASURE_MS_MAX)]),
    );
    if (this.#measuring !== asking) return;
    this.#measuring = null;
    const present = this.#isFound() ? this.#toldHome : null;
    const open = new Map([...latencies].filter(([region]) => !this.#avoided.has(region, nowMs)));
    const best = chooseHome(present, open, among) ?? present ?? this.#next();
    if (best === this.#home) return;
    this.#home = best;
    this.#homeSinceMs = performance.now();
    this.#connectHome(best);
    this.#changed();
  }

  /**
   * When none that is not avoided answers in time: one may only be slow. They are taken in turn, those that are avoided
   * last.
   */
  #next(): number | null {
    const present = this.#homes.indexOf(this.#home ?? -1);
    return this.#avoided.next([...this.#homes.slice(present + 1), ...this.#homes.slice(0, present + 1)]);
  }

  #stopMeasuring(): void {
    this.#measuring?.abort();
    this.#measuring = null;
  }
}
