/** The peers of a member, each with its path: what they are told, and what their paths ask for. */
import type { VpnPeer } from '../../protocol/vpn.ts';
import type { DevicePeer, PeerReading } from '../wireguard/device.ts';
import { candidatesOf, type OwnPlace } from './candidates.ts';
import type { PeerEffect } from './path-effects.ts';
import { createHandshakeAges } from './handshake-ages.ts';
import {
  ATTEMPT_MS,
  KEEPALIVE_SECONDS,
  READ_BUSY_MS,
  READ_EAGER_MS,
  READ_IDLE_MS,
  REPLACED_MS,
  ROTATED_MS,
  SESSION_MS_MAX,
  UNHEARD_MS_MAX,
} from './limits.ts';
import type { PeerPath, WantedMember } from './member.ts';
import type { ReachedPeer } from './path-mtus.ts';
import type { PathMessage, PathReading, PathState, PathStep } from './path-state.ts';
import { meet, transition } from './path-transition.ts';
import { allowedIpsOf, type Becoming } from './peer-set.ts';

/** What peers need of their member. */
export interface KnownPeersPorts {
  /** Whether a relay of this region carries packets. */
  readonly carries: (region: number | null) => boolean;
  /** Endpoint on this machine by which the peer's packets are relayed; null: none is open. */
  readonly relayEndpointOf: (publicKey: string) => string | null;
  /** Until when the own relay is waited for, on the clock of `performance.now`; null: it is not. */
  readonly earlyUntilMs: () => number | null;
  /** A path changed, or a peer came. */
  readonly changed: () => void;
}

interface Peer {
  readonly publicKey: string;
  wanted: VpnPeer;
  state: PathState;
  reading: PeerReading | null;
}

/** Touches neither the interface nor a relay. All times are of `performance.now`, in ms. */
export class KnownPeers {
  readonly #ports: KnownPeersPorts;
  readonly #peers = new Map<string, Peer>();
  readonly #ages = createHandshakeAges();
  readonly #effects: PeerEffect[] = [];
  #own: OwnPlace;

  constructor(own: OwnPlace, ports: KnownPeersPorts) {
    this.#own = own;
    this.#ports = ports;
  }

  has(publicKey: string): boolean {
    return this.#peers.has(publicKey);
  }

  keys(): readonly string[] {
    return [...this.#peers.keys()];
  }

  /** Of the relay at which the peer listens; null: none, or there is no such peer. */
  regionOf(publicKey: string): number | null {
    return this.#peers.get(publicKey)?.wanted.relay_region ?? null;
  }

  /** Where a peer with a direct path is spoken to; null: it has none. */
  directEndpointOf(publicKey: string): string | null {
    const state = this.#peers.get(publicKey)?.state;
    return state?.path === 'direct' ? state.endpoint : null;
  }

  /** As PathMtus wants them. */
  reached(): readonly ReachedPeer[] {
    return [...this.#peers.values()].flatMap(({ publicKey, wanted: { node, ipv4, ipv6 }, state, reading }) => {
      // Not while a direct path is tried, nor where packets just came directly: this side's may go there, too.
      const isRelayed = state.path === 'relayed' && state.last?.way?.kind === 'relay';
      if (node === null || (state.path !== 'direct' && !isRelayed)) return [];
      return [
        { publicKey, ipv4, ipv6, endpoint: this.directEndpointOf(publicKey), sentBytes: reading?.sentBytes ?? 0 },
      ];
    });
  }

  /** When the first of them has something to do without being told. */
  dueMs(): number {
    return Math.min(...[...this.#peers.values()].map(({ state }) => state.dueMs));
  }

  /** Whether a handshake with one of them is to begin now. */
  isHandshakeDue(nowMs: number): boolean {
    return [...this.#peers.values()].some(({ state }) => state.path === 'none' && state.dueMs <= nowMs);
  }

  paths(): readonly Omit<PeerPath, 'mtu'>[] {
    return [...this.#peers.values()].map((peer) => this.#pathOf(peer));
  }

  /** What the paths asked for since the last call. */
  taken(): readonly PeerEffect[] {
    return this.#effects.splice(0);
  }

  /** All paths begin anew, with the next `become`. */
  clear(): void {
    this.#peers.clear();
    this.#ages.forget(() => false);
  }

  tell(publicKey: string, message: PathMessage): void {
    const peer = this.#peers.get(publicKey);
    if (peer !== undefined) this.#take(peer, transition(peer.state, message, performance.now()));
  }

  #take(peer: Peer, { state, effects }: PathStep): void {
    const hasChanged = peer.state.path !== state.path;
    peer.state = state;
    for (const effect of effects) this.#effects.push({ publicKey: peer.publicKey, effect });
    if (hasChanged) this.#ports.changed();
  }

  /** Tells those whose relay is reached, or is not any more. */
  tellRelays(): void {
    for (const { publicKey, wanted, state } of this.#peers.values()) {
      const carries = this.#ports.carries(wanted.relay_region);
      if (carries !== state.hasRelay) this.tell(publicKey, { type: carries ? 'relay-opened' : 'relay-lost' });
    }
  }

  /** Tells those that have something to do. */
  tellTime(nowMs: number): void {
    const due = [...this.#peers.values()].filter(({ state }) => state.dueMs <= nowMs);
    for (const { publicKey } of due) this.tell(publicKey, { type: 'time-passed' });
  }

  /** This machine has other addresses, or slept. */
  moved(own: OwnPlace): void {
    this.#own = own;
    for (const { publicKey, wanted } of this.#peers.values()) {
      this.tell(publicKey, { type: 'candidates-changed', candidates: candidatesOf(wanted.endpoints, own) });
      this.tell(publicKey, { type: 'moved' });
    }
  }

  /** The interface was read. */
  heed(readings: readonly PeerReading[]): void {
    for (const reading of readings) {
      const peer = this.#peers.get(reading.publicKey);
      if (peer === undefined) continue;
      peer.reading = reading;
      this.tell(reading.publicKey, { type: 'read', reading: this.#readingOf(reading) });
    }
  }

  /** Handshakes of peers that are gone, or that were added anew, count no more. */
  forgetHandshakes(target: WantedMember, met: ReadonlySet<string>): void {
    this.#ages.forget((publicKey) => target.peers.has(publicKey) && !met.has(publicKey));
  }

  /** Peers as the interface has them now. */
  become({ target, readings, met, refused, isRotated, ownPublicKey }: Becoming): void {
    const readingOfKey = new Map(readings.map((reading) => [reading.publicKey, reading]));
    const replaced = new Set<string | null>();
    for (const [publicKey, { wanted }] of this.#peers) {
      if (target.peers.has(publicKey) && !met.has(publicKey)) continue;
      this.#peers.delete(publicKey);
      replaced.add(wanted.node);
    }
    for (const peer of target.peers.values()) {
      const { public_key: publicKey } = peer;
      if (publicKey === ownPublicKey || (met.has(publicKey) && refused?.has(publicKey) === true)) continue;
      const known = this.#peers.get(publicKey);
      if (known === undefined)
        this.#meet(
          peer,
          readingOfKey.get(publicKey) ?? null,
          isRotated ? ROTATED_MS : replaced.has(peer.node) ? REPLACED_MS : null,
          ownPublicKey < publicKey,
        );
      else if (known.wanted !== peer) {
        known.wanted = peer;
        this.tell(publicKey, { type: 'candidates-changed', candidates: candidatesOf(peer.endpoints, this.#own) });
      }
    }
  }

  /**
   * `silentMs`: the key of one of both is new, and this side waits for so long with its first message; null: it is not.
   */
  #meet(peer: VpnPeer, reading: PeerReading | null, silentMs: number | null, isFirst: boolean): void {
    const publicKey = peer.public_key;
    const seen = reading === null || silentMs !== null ? null : this.#readingOf(reading);
    // At the start the own relay is about to be reached, and a handshake that is sent elsewhere meanwhile would not
    // come again for 5 s.
    const earlyUntilMs = this.#ports.earlyUntilMs();
    const { state, effects } = meet(
      {
        candidates: candidatesOf(peer.endpoints, this.#own),
        hasRelay: this.#ports.carries(peer.relay_region),
        isFirst,
        reading: seen,
      },
      performance.now(),
    );
    const dueMs = silentMs !== null ? performance.now() + silentMs : earlyUntilMs;
    const waiting = dueMs !== null && state.path === 'none' ? { ...state, attempt: -1, dueMs } : null;
    this.#peers.set(publicKey, { publicKey, wanted: peer, state: waiting ?? state, reading });
    if (waiting === null) for (const effect of effects) this.#effects.push({ publicKey, effect });
    this.#ports.changed();
  }

  /** Those that had a session and are not heard any more, as they are to be added again. */
  unheard(nowMs: number): readonly DevicePeer[] {
    return [...this.#peers.values()]
      .filter(({ state }) => state.path === 'none' && nowMs - state.sinceMs >= UNHEARD_MS_MAX)
      .filter(({ publicKey }) => this.#ages.of(publicKey, nowMs) !== null)
      .map(({ publicKey, wanted: peer, reading }) => ({
        publicKey,
        allowedIps: allowedIpsOf(peer),
        endpoint: reading?.endpoint ?? null,
        keepaliveSeconds: KEEPALIVE_SECONDS,
      }));
  }

  /** Of a peer without a session; null: there is one, or no such peer. */
  strange(publicKey: string): { readonly allowedIps: readonly string[] } | null {
    const peer = this.#peers.get(publicKey);
    const ageMs = this.#ages.of(publicKey, performance.now());
    return peer === undefined || (ageMs !== null && ageMs < SESSION_MS_MAX)
      ? null
      : { allowedIps: allowedIpsOf(peer.wanted) };
  }

  /** The likeliest endpoints of those that are not direct. */
  likeliest(): readonly { readonly publicKey: string; readonly endpoint: string; readonly isSentNow: boolean }[] {
    return [...this.#peers.values()].flatMap(({ publicKey, state }) => {
      const [endpoint] = state.candidates;
      return state.path === 'direct' || endpoint === undefined ? [] : [{ publicKey, endpoint, isSentNow: false }];
    });
  }

  /** How long after a reading the interface is read again, in ms. */
  cadence(): number {
    const soonMs = performance.now() + ATTEMPT_MS;
    let isBusy = false;
    for (const { state } of this.#peers.values()) {
      if (
        state.path === 'trying' ||
        (state.path === 'none' && state.dueMs <= soonMs) ||
        (state.path === 'direct' && state.silentSinceMs !== null)
      )
        return READ_EAGER_MS;
      isBusy ||= state.path === 'direct' && state.isBusy;
    }
    return isBusy ? READ_BUSY_MS : READ_IDLE_MS;
  }

  #readingOf({ publicKey, endpoint, handshakeAtMs, receivedBytes, sentBytes }: PeerReading): PathReading {
    const isRelaySocket = endpoint !== null && endpoint.startsWith('127.');
    const isOurs = isRelaySocket && endpoint === this.#ports.relayEndpointOf(publicKey);
    return {
      way:
        endpoint === null || (isRelaySocket && !isOurs)
          ? null
          : isOurs
            ? { kind: 'relay' }
            : { kind: 'direct', endpoint },
      handshakeAgeMs: this.#ages.read(publicKey, handshakeAtMs, performance.now(), Date.now()),
      receivedBytes,
      sentBytes,
    };
  }

  #pathOf({ publicKey, state, reading, wanted: { relay_region: region } }: Peer): Omit<PeerPath, 'mtu'> {
    const handshakeAgeMs = this.#ages.of(publicKey, performance.now());
    const isAlive = handshakeAgeMs !== null && handshakeAgeMs < SESSION_MS_MAX;
    const path = !isAlive || state.path === 'none' ? 'none' : state.path === 'direct' ? 'direct' : 'relayed';
    return {
      publicKey,
      path,
      relayRegion: path === 'relayed' ? region : null,
      handshakeAgeMs,
      receivedBytes: reading?.receivedBytes ?? 0,
      sentBytes: reading?.sentBytes ?? 0,
    };
  }
}
