/** A client of one region's relays, which is connected whenever one of them answers. */
import type { Duplex } from 'node:stream';
import { boxKeys, DERP_PACKET_BYTES_MAX, keyOf, type BoxKeys } from './protocol.ts';
import { KEYS_MAX, PING_MS, RECONNECT_MS_MAX, RECONNECT_MS_MIN, SILENCE_MS_MAX } from './limits.ts';
import type { RelayNode, RelayReach, RelayRegion } from '../relay-map/map.ts';
import { DerpSession, type DerpEnd } from './session.ts';
import { DERP_FORMS, FormRefused, openRelayStream, type DerpForm } from './stream.ts';

/** What a client tells its owner. */
export interface DerpOwner {
  /** A packet that the relay says is from the owner of this key. */
  received(publicKey: string, packet: Uint8Array): void;
  opened(): void;
  /**
   * It was lost and is made again by itself; the problem in one sentence. Also when no relay of the region was reached.
   */
  lost(problem: string): void;
  /**
   * The relay says what is wrong with this connection, for example that another one has the same key; empty: no more.
   */
  warned?(problem: string): void;
}

/** Whom to connect to, as whom. */
export interface DerpOptions {
  readonly region: Pick<RelayRegion, 'nodes'>;
  /** A WireGuard key, base64. */
  readonly privateKey: string;
  readonly owner: DerpOwner;
  /** Whether others find this client there. */
  readonly isHome?: boolean;
  readonly reach?: RelayReach;
  /** In [0, 1). */
  readonly random?: () => number;
  readonly pingMs?: number;
  readonly silenceMsMax?: number;
  readonly reconnectMsMin?: number;
  readonly reconnectMsMax?: number;
}

/** What became of one try. `openMs`: how long it was connected; null: never. */
interface Attempt {
  readonly problem: string;
  readonly openMs: number | null;
  readonly waitMs: number | null;
}

/** Growth of the bound of the wait with each round that failed. */
const GROWTH = 2;

/** A connection that lasted so long, in ms, was a good one: the next attempt comes soon. */
const STEADY_MS = 10_000;

/** What is taken where the options say nothing. */
const DEFAULTS = {
  isHome: false,
  reach: {},
  random: Math.random,
  pingMs: PING_MS,
  silenceMsMax: SILENCE_MS_MAX,
  reconnectMsMin: RECONNECT_MS_MIN,
  reconnectMsMax: RECONNECT_MS_MAX,
} as const;

/**
 * A live connection, or one that is being made again: connects whenever the connection is lost, until it is closed. The
 * relays of the region are tried in their order, each by upgrade and then as a WebSocket; the form that a relay took is
 * tried first the next time.
 */
export class DerpClient {
  readonly #options: Required<DerpOptions>;
  readonly #keys: BoxKeys;
  readonly #binaryKeys = new BinaryKeys(KEYS_MAX);
  readonly #forms = new Map<RelayNode, DerpForm>();
  readonly #closing = new AbortController();
  #session: DerpSession | null = null;
  #wake: (() => void) | null = null;

  /** Begins at once. Throws when the private key is none. */
  constructor(options: DerpOptions) {
    this.#options = { ...DEFAULTS, ...options };
    this.#keys = boxKeys(options.privateKey);
    void this.#run();
  }

  /** Whether packets go out now. */
  get isOpen(): boolean {
    return this.#session?.isOpen === true;
  }

  /**
   * Hands a packet to the relay, for a key as `wg` writes it. False: it was dropped, since nothing is connected or too
   * much waits already. Nothing is ever queued beyond the limit.
   */
  send(publicKey: string, packet: Uint8Array): boolean {
    if (this.#session === null || packet.length > DERP_PACKET_BYTES_MAX) return false;
    const key = this.#binaryKeys.of(publicKey);
    return key !== null && this.#session.send(key, packet);
  }

  /** Never connects again. */
  close(): void {
    this.#closing.abort();
    this.#session?.end('closed');
    this.#wake?.();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { region, owner, reconnectMsMin, reconnectMsMax, random } = this.#options;
    let round = 0;
    while (!this.#closing.signal.aborted) {
      const problems: string[] = [];
      let restMs: number | null = null;
      for (const node of region.nodes) {
        const tried = await this.#attempt(node);
        if (this.#closing.signal.aborted) return;
        problems.push(`${node.hostName}: ${tried.problem}`);
        if (tried.openMs === null) continue;
        restMs = tried.waitMs;
        if (tried.openMs > STEADY_MS) round = 0;
        break;
      }
      owner.lost(problems.join('; '));
      const bound = Math.min(reconnectMsMax, reconnectMsMin * GROWTH ** Math.min(round + 1, 16));
      await this.#pause(Math.min(restMs ?? 0, reconnectMsMax) + reconnectMsMin + random() * (bound - reconnectMsMin));
      round += 1;
    }
  }

  /**
   * One relay, until it is lost. The first problem is told: later ones are of the same cause, seen from further away.
   */
  async #attempt(node: RelayNode): Promise<Attempt> {
    const { signal } = this.#closing;
    let problem: string | null = null;
    const last = this.#forms.get(node);
    for (const form of last === undefined ? DERP_FORMS : DERP_FORMS.toSorted((a) => (a === last ? -1 : 1))) {
      try {
        const { stream, head } = await openRelayStream(node, form, this.#options.reach, signal);
        const tried = await this.#spoken(stream, head, () => this.#forms.set(node, form));
        if (tried.spoke) return tried;
        problem ??= tried.problem;
      } catch (error) {
        problem ??= (error as Error).message;
        if (!(error instanceof FormRefused)) break;
      }
      if (signal.aborted) break;
    }
    return { problem: problem ?? '', openMs: null, waitMs: null };
  }

  /** One session, until it has ended. `worked`: the relay let us in. */
  async #spoken(stream: Duplex, head: Buffer, worked: () => void): Promise<Attempt & DerpEnd> {
    const { owner, isHome, pingMs, silenceMsMax } = this.#options;
    return await new Promise((resolve) => {
      let openedAtMs: number | null = null;
      this.#session = new DerpSession({
        stream,
        head,
        keys: this.#keys,
        isHome,
        pingMs,
        silenceMsMax,
        opened() {
          openedAtMs = performance.now();
          worked();
          owner.opened();
        },
        received: (source, packet) => owner.received(source.toString('base64'), packet),
        warned: (problem) => owner.warned?.(problem),
        ended: (end) => {
          this.#session = null;
          resolve({ ...end, openMs: openedAtMs === null ? null : performance.now() - openedAtMs });
        },
      });
      if (this.#closing.signal.aborted) this.#session.end('closed');
    });
  }

  async #pause(ms: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}

/** Public keys in the form in which frames carry them, remembered for the next packet: so many at most. */
class BinaryKeys {
  readonly #keysMax: number;
  readonly #known = new Map<string, Buffer>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Null: this text is no key. */
  of(publicKey: string): Buffer | null {
    const known = this.#known.get(publicKey);
    if (known !== undefined) return known;
    const key = keyOf(publicKey);
    if (key === null) return null;
    if (this.#known.size >= this.#keysMax) this.#known.clear();
    this.#known.set(publicKey, key);
    return key;
  }
}
