/**
 * How long packets on one direct path may be: pure. They begin as long as every path takes; the peer is asked by longer
 * ones, whose answer says that they arrive, and asked again while they are used.
 */

/** What WireGuard puts around a packet, in bytes, over IPv4 and over IPv6. Source: WireGuard, 5.4.6; RFC 791, 8200, 768. */
const AROUND_BYTES = { ipv4: 60, ipv6: 80 } as const;

/**
 * Lengths that are asked for, in bytes, longest first: what fills 1,500 over IPv4, and what fits into 1,492 over IPv6
 * (PPPoE). Multiples of 16, as WireGuard pads packets to that.
 */
const LENGTHS = [1_440, 1_408] as const;

/** Sent so often at most, one after the other this long after the one before, in ms: what is lost is rarely lost thrice. */
const ASKS_MAX = 4;
const ASK_MS = 250;

/** How long a path is left alone after it became direct, in ms: stragglers of the relay come meanwhile. */
const SETTLED_MS = 1_000;

/**
 * How often a path is asked again whether it takes what it took, in ms, while something is sent on it: a path can
 * change without a word.
 */
export const CHECK_MS = 5_000;

/** What has to be sent since, in bytes, to be worth a question: fewer than a few long packets need none. */
const CHECK_BYTES_MIN = 10_000;

/** Waits after lengths were in vain, in ms, after the first, second, … time. */
const AGAIN_MS = [60_000, 300_000, 900_000, 3_600_000] as const;

/** Lengths that are asked for, one after the other. */
interface Asking {
  readonly length: number;
  readonly asks: number;
}

/** Of one peer whose path is direct. Times are of a monotonic clock, in ms. */
export interface PathMtu {
  readonly endpoint: string;
  /** What the path was seen to take, in bytes; null: what every path takes. */
  readonly length: number | null;
  readonly asking: Asking | null;
  readonly dueMs: number;
  readonly failures: number;
  /** As counted when it was asked last. */
  readonly sentBytes: number;
}

/** What is known when something is due. */
export interface PathMtuLook {
  /** What the way of this machine to the endpoint takes, in bytes; null: not known. */
  readonly room: number | null;
  /** All that was ever sent to the peer. */
  readonly sentBytes: number;
}

/** The next state, and whether the peer is asked now by a packet as long as `asking` says. */
export interface PathMtuStep {
  readonly state: PathMtu;
  readonly isAsked: boolean;
}

/** Of a path that became direct, or has another endpoint. */
export function beginMtu(endpoint: string, nowMs: number): PathMtu {
  return { endpoint, length: null, asking: null, dueMs: nowMs + SETTLED_MS, failures: 0, sentBytes: 0 };
}

/** Its time came. */
export function dueMtu(state: PathMtu, { room, sentBytes }: PathMtuLook, nowMs: number): PathMtuStep {
  const { asking, length } = state;
  if (asking !== null && asking.asks < ASKS_MAX) return ask(state, asking.length, asking.asks + 1, nowMs);
  const bytesMax = room === null ? 0 : room - aroundBytes(state.endpoint);
  // This machine learned that it takes less: what is longer would be sent in pieces, or not at all.
  const isTooLong = length !== null && length > bytesMax;
  if (asking === null && length !== null && !isTooLong) {
    if (sentBytes - state.sentBytes < CHECK_BYTES_MIN) return rest(state, nowMs + CHECK_MS);
    return ask({ ...state, sentBytes }, length, 1, nowMs);
  }
  const belowBytes = asking?.length ?? Infinity;
  const next = LENGTHS.find((one) => one < belowBytes && one <= bytesMax);
  const narrow: PathMtu = { ...state, length: null, asking: null, sentBytes };
  if (next !== undefined) return ask(narrow, next, 1, nowMs);
  const againMs = AGAIN_MS[Math.min(state.failures, AGAIN_MS.length - 1)] ?? 0;
  return rest({ ...narrow, failures: state.failures + 1 }, nowMs + againMs);
}

/** A packet of this length arrived at the peer, as it says. */
export function answeredMtu(state: PathMtu, length: number, nowMs: number): PathMtu {
  if (state.asking?.length !== length) return state;
  return { ...state, length, asking: null, failures: 0, dueMs: nowMs + CHECK_MS };
}

function ask(state: PathMtu, length: number, asks: number, nowMs: number): PathMtuStep {
  return { state: { ...state, asking: { length, asks }, dueMs: nowMs + ASK_MS }, isAsked: true };
}

function rest(state: PathMtu, dueMs: number): PathMtuStep {
  return { state: { ...state, dueMs }, isAsked: false };
}

function aroundBytes(endpoint: string): number {
  return endpoint.startsWith('[') ? AROUND_BYTES.ipv6 : AROUND_BYTES.ipv4;
}
