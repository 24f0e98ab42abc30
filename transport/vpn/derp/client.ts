/** A client of one region's relays, which is connected whenever one of them answers. */
import type { Duplex } from 'node:stream';
import { boxKeys, keyOf } from './box.ts';
import { DERP_PACKET_BYTES_MAX, type DerpConnection, type DerpOwner } from './connection.ts';
import { KEYS_MAX, PING_MS, RECONNECT_MS_MAX, RECONNECT_MS_MIN, SILENCE_MS_MAX } from './limits.ts';
import type { RelayNode, RelayRegion } from './map.ts';
import { startDerpSession, type DerpEnd, type DerpSession } from './session.ts';
import type { RelayReach } from './socket.ts';
import { DERP_FORMS, FormRefused, openRelayStream, type DerpForm } from './stream.ts';

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

/**
 * Connects, and again whenever the connection is lost, until it is closed. The relays of the region are tried in their
 * order, each by upgrade and then as a
 * WebSocket; the form that a relay took is tried first the next time. Throws when the private key is none.
 */
export function connectDerp({
  region,
  privateKey,
  owner,
  isHome = false,
  reach = {},
  random = Math.random,
  pingMs = PING_MS,
  silenceMsMax = SILENCE_MS_MAX,
  reconnectMsMin = RECONNECT_MS_MIN,
  reconnectMsMax = RECONNECT_MS_MAX,
}: DerpOptions): DerpConnection {
  const keys = boxKeys(privateKey);
  const closing = new AbortController();
  const binaryKeys = new Map<string, Buffer>();
  const forms = new Map<RelayNode, DerpForm>();
  let session: DerpSession | null = null;
  let wake: (() => void) | null = null;

  void run();

  return {
    get isOpen() {
      return session?.isOpen === true;
    },
    send(publicKey, packet) {
      if (session === null || packet.length > DERP_PACKET_BYTES_MAX) return false;
      const key = binaryKey(publicKey);
      return key !== null && session.send(key, packet);
    },
    close() {
      closing.abort();
      session?.end('closed');
      wake?.();
    },
  };

  /** Never rejects. */
  async function run(): Promise<void> {
    let round = 0;
    while (!closing.signal.aborted) {
      const problems: string[] = [];
      let restMs: number | null = null;
      for (const node of region.nodes) {
        const tried = await attempt(node);
        if (closing.signal.aborted) return;
        problems.push(`${node.hostName}: ${tried.problem}`);
        if (tried.openMs === null) continue;
        restMs = tried.waitMs;
        if (tried.openMs > STEADY_MS) round = 0;
        break;
      }
      owner.lost(problems.join('; '));
      const bound = Math.min(reconnectMsMax, reconnectMsMin * GROWTH ** Math.min(round + 1, 16));
      await pause(Math.min(restMs ?? 0, reconnectMsMax) + reconnectMsMin + random() * (bound - reconnectMsMin));
      round += 1;
    }
  }

  /**
   * One relay, until it is lost. The first problem is told: later ones are of the same cause, seen from further away.
   */
  async function attempt(node: RelayNode): Promise<Attempt> {
    let problem: string | null = null;
    const last = forms.get(node);
    for (const form of last === undefined ? DERP_FORMS : DERP_FORMS.toSorted((a) => (a === last ? -1 : 1))) {
      try {
        const { stream, head } = await openRelayStream(node, form, reach, closing.signal);
        const tried = await spoken(stream, head, () => forms.set(node, form));
        if (tried.spoke) return tried;
        problem ??= tried.problem;
      } catch (error) {
        problem ??= (error as Error).message;
        if (!(error instanceof FormRefused)) break;
      }
      if (closing.signal.aborted) break;
    }
    return { problem: problem ?? '', openMs: null, waitMs: null };
  }

  async function spoken(stream: Duplex, head: Buffer, worked: () => void): Promise<Attempt & DerpEnd> {
    return await new Promise((resolve) => {
      let openedAtMs: number | null = null;
      session = startDerpSession({
        stream,
        head,
        keys,
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
        ended(end) {
          session = null;
          resolve({ ...end, openMs: openedAtMs === null ? null : performance.now() - openedAtMs });
        },
      });
      if (closing.signal.aborted) session.end('closed');
    });
  }

  function binaryKey(publicKey: string): Buffer | null {
    const known = binaryKeys.get(publicKey);
    if (known !== undefined) return known;
    const key = keyOf(publicKey);
    if (key === null) return null;
    if (binaryKeys.size >= KEYS_MAX) binaryKeys.clear();
    binaryKeys.set(publicKey, key);
    return key;
  }

  async function pause(ms: number): Promise<void> {
    if (closing.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = null;
  }
}
