/**
 * Connections to relays: the own one, where others find this member, and those of the peers that are spoken to, for as
 * long as they are.
 */
import { connectDerp } from '../derp/client.ts';
import type { DerpConnection } from '../derp/connection.ts';
import { chooseHome, measureRegions } from '../derp/home.ts';
import type { RelayMap, RelayRegion } from '../derp/map.ts';
import type { RelayReach } from '../derp/socket.ts';
import {
  HOME_MS_MAX,
  MEASURE_AGAIN_MS,
  MEASURE_MS_MAX,
  RELAY_IDLE_MS,
  RELAY_WAITING_MAX,
  RELAYS_MAX,
} from './limits.ts';

/** Whom relays tell. */
export interface RelayPorts {
  readonly received: (publicKey: string, packet: Uint8Array) => void;
  /** The own relay is another one now, or one was lost or found. */
  readonly changed: () => void;
  readonly reach?: RelayReach;
}

/** The relays of one member. */
export interface Relays {
  /** Nothing changed: nothing happens. Another key or map: all connections are made anew. */
  become(map: RelayMap | null, privateKey: string): void;
  /** Region of the own relay; null: none is reached. */
  home(): number | null;
  /** Whether packets to who waits at this region, and back, are carried, as far as is known. */
  carries(region: number | null): boolean;
  /**
   * False: dropped. The first packets to a region connect to it, and wait for that: they are handshakes, which would
   * not come again for 5 s.
   */
  send(region: number, publicKey: string, packet: Uint8Array): boolean;
  /**
   * This machine slept, or an address of it is gone: what was connected before is dead, though nobody said so, and is
   * connected again.
   */
  renew(): void;
  /** Looks after time: idle connections end, a home that is away for too long is replaced. */
  sweep(): void;
  /** Whether a connection that is needed is away, so that `sweep` is due soon. */
  readonly isSearching: boolean;
  /** What does not work, in one sentence; null: nothing. */
  problem(): string | null;
  close(): void;
}

interface Connected {
  readonly connection: DerpConnection;
  usedAtMs: number;
  /** Null: connected, or not yet known. */
  lostAtMs: number | null;
  /** Before it is connected for the first time. */
  waiting: { readonly publicKey: string; readonly packet: Uint8Array }[];
}

/** Nothing is connected before there is a map. */
export function createRelays(ports: RelayPorts): Relays {
  const connected = new Map<number, Connected>();
  let map: RelayMap | null = null;
  let privateKey = '';
  let homes: readonly number[] = [];
  let home: number | null = null;
  let homeSinceMs = 0;
  let toldHome: number | null = null;
  let measuring: AbortController | null = null;
  let measuredAtMs = 0;

  function open(region: RelayRegion): Connected {
    const entry: Connected = {
      usedAtMs: performance.now(),
      lostAtMs: null,
      waiting: [],
      connection: connectDerp({
        region,
        privateKey,
        isHome: region.id === home,
        ...(ports.reach === undefined ? {} : { reach: ports.reach }),
        owner: {
          received: (publicKey, packet) => ports.received(publicKey, packet),
          opened() {
            entry.lostAtMs = null;
            for (const { publicKey, packet } of entry.waiting) entry.connection.send(publicKey, packet);
            entry.waiting = [];
            tell();
          },
          lost() {
            entry.lostAtMs ??= performance.now();
            entry.waiting = [];
            if (connected.get(region.id) === entry) tell();
          },
        },
      }),
    };
    connected.set(region.id, entry);
    return entry;
  }

  function reached(): number | null {
    return home !== null && connected.get(home)?.connection.isOpen === true ? home : null;
  }

  /**
   * A home that is away for a moment is still the home: others would look for this member elsewhere, and it would come
   * back.
   */
  function tell(): void {
    const now = reached();
    if (now !== null) toldHome = now;
    ports.changed();
  }

  /** A restart of a relay is no reason to look for other ways. */
  function isUsable(region: number): boolean {
    const lostAtMs = connected.get(region)?.lostAtMs ?? null;
    return lostAtMs === null || performance.now() - lostAtMs < HOME_MS_MAX;
  }

  function settle(region: number | null): void {
    home = region;
    homeSinceMs = performance.now();
    const known = region === null ? undefined : map?.regions.get(region);
    if (known === undefined || region === null) return;
    connected.get(region)?.connection.close();
    open(known);
  }

  /** Chooses the own relay anew: the fastest, unless the present one is about as fast. Never rejects. */
  async function measure(): Promise<void> {
    const among = map;
    if (among === null || measuring !== null) return;
    const asking = new AbortController();
    measuring = asking;
    measuredAtMs = performance.now();
    const latencies = await measureRegions(
      among,
      ports.reach ?? {},
      AbortSignal.any([asking.signal, AbortSignal.timeout(MEASURE_MS_MAX)]),
    );
    if (measuring !== asking) return;
    measuring = null;
    const present = reached();
    // When none answers in time they are taken in turn: one may only be slow.
    const best =
      chooseHome(present, latencies, among) ?? present ?? homes[(homes.indexOf(home ?? -1) + 1) % homes.length] ?? null;
    if (best === home) return;
    settle(best);
    ports.changed();
  }

  function closeAll(): void {
    measuring?.abort();
    measuring = null;
    for (const { connection } of connected.values()) connection.close();
    connected.clear();
  }

  return {
    become(nextMap, nextKey) {
      if (nextMap === map && nextKey === privateKey) return;
      closeAll();
      map = nextMap;
      privateKey = nextKey;
      homes = map === null ? [] : [...map.regions.values()].filter(({ isHome }) => isHome).map(({ id }) => id);
      toldHome = null;
      // One region is chosen without being asked, and a home that is in the new map too is kept until another is known
      // to be faster.
      const kept = homes.length === 1 ? (homes[0] ?? null) : homes.includes(home ?? -1) ? home : null;
      settle(kept);
      if (homes.length > 1) void measure();
      ports.changed();
    },
    home: () => toldHome,
    carries(region) {
      if (region === null || home === null || toldHome === null || map?.regions.has(region) !== true) return false;
      return isUsable(home) && isUsable(region);
    },
    send(region, publicKey, packet) {
      const known = map?.regions.get(region);
      if (known === undefined) return false;
      const entry = connected.get(region) ?? (connected.size > RELAYS_MAX ? undefined : open(known));
      if (entry === undefined) return false;
      entry.usedAtMs = performance.now();
      if (!entry.connection.isOpen && entry.lostAtMs === null && entry.waiting.length < RELAY_WAITING_MAX) {
        entry.waiting.push({ publicKey, packet });
        return true;
      }
      return entry.connection.send(publicKey, packet);
    },
    renew() {
      for (const [region, { connection }] of connected) {
        connection.close();
        connected.delete(region);
      }
      settle(home);
    },
    sweep() {
      const nowMs = performance.now();
      for (const [region, { connection, usedAtMs }] of connected) {
        if (region === home || nowMs - usedAtMs < RELAY_IDLE_MS) continue;
        connection.close();
        connected.delete(region);
      }
      if (homes.length < 2) return;
      const awaySinceMs = home === null ? homeSinceMs : (connected.get(home)?.lostAtMs ?? null);
      const isAway =
        reached() === null &&
        awaySinceMs !== null &&
        nowMs - Math.max(awaySinceMs, homeSinceMs, measuredAtMs) >= HOME_MS_MAX;
      if (isAway || nowMs - measuredAtMs >= MEASURE_AGAIN_MS) void measure();
    },
    get isSearching() {
      return (
        [...connected.values()].some(({ lostAtMs }) => lostAtMs !== null) || (homes.length > 0 && reached() === null)
      );
    },
    problem() {
      if (homes.length === 0 || reached() !== null) return null;
      return homes.length === 1
        ? 'the relay of the map is not reached: packets that need it are lost'
        : 'no relay of the map is reached: packets that need one are lost';
    },
    close() {
      map = null;
      closeAll();
    },
  };
}
