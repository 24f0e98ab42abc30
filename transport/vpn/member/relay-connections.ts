/** Connections of one member to relays, each for as long as it is used. */
import { DerpClient } from '../derp/client.ts';
import { hasSameRelays, type RelayMap, type RelayReach, type RelayRegion } from '../relay-map/map.ts';
import { HOME_MS_MAX, RELAY_IDLE_MS, RELAY_WAITING_MAX, RELAYS_MAX } from './limits.ts';

/** Whom they tell. */
export interface RelayConnectionPorts {
  readonly received: (publicKey: string, packet: Uint8Array) => void;
  /** One was lost or found. */
  readonly changed: () => void;
  readonly reach?: RelayReach;
}

interface Connected {
  readonly region: RelayRegion;
  readonly connection: DerpClient;
  readonly isHome: boolean;
  usedAtMs: number;
  /** Null: connected, or not yet known. */
  lostAtMs: number | null;
  /** Before it is connected for the first time. */
  waiting: { readonly publicKey: string; readonly packet: Uint8Array }[];
}

/** By region. None at first. */
export class RelayConnections {
  readonly #ports: RelayConnectionPorts;
  readonly #connected = new Map<number, Connected>();

  constructor(ports: RelayConnectionPorts) {
    this.#ports = ports;
  }

  /** Whether a connection that is needed is away. */
  get isAnyLost(): boolean {
    return [...this.#connected.values()].some(({ lostAtMs }) => lostAtMs !== null);
  }

  isOpen(region: number): boolean {
    return this.#connected.get(region)?.connection.isOpen === true;
  }

  /** Since when it is away; null: it is not, or nothing is known of it. */
  lostAtMs(region: number): number | null {
    return this.#connected.get(region)?.lostAtMs ?? null;
  }

  /** A restart of a relay is no reason to look for other ways. */
  isUsable(region: number): boolean {
    const lostAtMs = this.lostAtMs(region);
    return lostAtMs === null || performance.now() - lostAtMs < HOME_MS_MAX;
  }

  /** Connects to a home. A connection that is none, or that is away, is made anew. */
  openHome(region: RelayRegion, privateKey: string): void {
    const known = this.#connected.get(region.id);
    if (known?.isHome === true && known.connection.isOpen) return;
    known?.connection.close();
    this.#open(region, privateKey, true);
  }

  /** Connects where there is no connection. False: dropped. */
  send(region: RelayRegion, privateKey: string, publicKey: string, packet: Uint8Array): boolean {
    const known = this.#connected.get(region.id);
    if (known === undefined && this.#connected.size > RELAYS_MAX) return false;
    const entry = known ?? this.#open(region, privateKey, false);
    entry.usedAtMs = performance.now();
    if (!entry.connection.isOpen && entry.lostAtMs === null && entry.waiting.length < RELAY_WAITING_MAX) {
      entry.waiting.push({ publicKey, packet });
      return true;
    }
    return entry.connection.send(publicKey, packet);
  }

  /** This one is used as long from now on as one that was sent to. */
  use(region: number): void {
    const known = this.#connected.get(region);
    if (known !== undefined) known.usedAtMs = performance.now();
  }

  /** Ends those that were not used lately, but these. */
  closeIdle(kept: readonly (number | null)[], nowMs: number): void {
    for (const [region, { connection, usedAtMs }] of this.#connected) {
      if (kept.includes(region) || nowMs - usedAtMs < RELAY_IDLE_MS) continue;
      connection.close();
      this.#connected.delete(region);
    }
  }

  /** Ends those whose relays are not in this map, or are others there. */
  closeAllBut(map: RelayMap | null): void {
    for (const [id, { region, connection }] of this.#connected) {
      const known = map?.regions.get(id);
      if (known !== undefined && hasSameRelays(known, region)) continue;
      connection.close();
      this.#connected.delete(id);
    }
  }

  closeAll(): void {
    for (const { connection } of this.#connected.values()) connection.close();
    this.#connected.clear();
  }

  #open(region: RelayRegion, privateKey: string, isHome: boolean): Connected {
    const { received, changed, reach } = this.#ports;
    const entry: Connected = {
      region,
      isHome,
      usedAtMs: performance.now(),
      lostAtMs: null,
      waiting: [],
      connection: new DerpClient({
        region,
        privateKey,
        isHome,
        ...(reach === undefined ? {} : { reach }),
        owner: {
          received,
          opened: () => {
            entry.lostAtMs = null;
            for (const { publicKey, packet } of entry.waiting) entry.connection.send(publicKey, packet);
            entry.waiting = [];
            changed();
          },
          lost: () => {
            entry.lostAtMs ??= performance.now();
            entry.waiting = [];
            if (this.#connected.get(region.id) === entry) changed();
          },
        },
      }),
    };
    this.#connected.set(region.id, entry);
    return entry;
  }
}
