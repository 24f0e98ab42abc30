/**
 * How long packets on one direct path may be: pure. They begin as long as every path takes; the peer is asked by longer
 * ones, whose answer says that they arrive, and asked again while they are used.
 */

import { SETTLE_MS } from './limits.ts';

/**
 * What WireGuard puts around a packet, in bytes, over IPv4 and over IPv6. Source: WireGuard, 5.4.6; RFC 791, 8200, 768.
 */
const AROUND_BYTES = { ipv4: 60, ipv6: 80 } as const;

/** The same, in bytes, as it is counted of a peer. Source: WireGuard, 5.4.6. */
const COUNTED_AROUND_BYTES = 32;

/**
 * Lengths that are asked for, in bytes, longest first: what fills 1,500 over IPv4, and what fits into 1,492 over IPv6
 * (PPPoE). Multiples of 16, as WireGuard pads packets to that.
 */
const LENGTHS = [1_440, 1_408] as const;

/**
 * Sent so often at most, one after the other this long after the one before, in ms: what is lost is rarely lost thrice.
 */
const ASKS_MAX = 4;
const ASK_MS = 250;

/**
 * How long a path is left alone after it became direct, in ms: until no straggler of the relay is handed over any more,
 * since one makes WireGuard speak over the relay for a moment, and that takes any length.
 */
const SETTLED_MS = SETTLE_MS + 500;

/**
 * How often a path is asked again whether it takes what it took, in ms, while something is sent on it: a path can
 * change without a word.
 */
export const CHECK_MS = 5_000;

/** What has to be sent since, in bytes, to be worth a question: less is no long packet. */
const CHECK_BYTES_MIN = 1_300;

/**
 * Waits after lengths were in vain, in ms, after the first, second, … time: a path that takes a shorter one is asked
 * about the longest again, too, as four packets may have been lost otherwise.
 */
const AGAIN_MS = [10_000, 60_000, 300_000, 900_000, 3_600_000] as const;

/** Lengths that are asked for, one after the other. */
interface Asking {
  readonly length: number;
  readonly asks: number;
  /** Nothing longer fits into the way out of this machine. */
  readonly isLongest: boolean;
}

/** Of one peer whose path is direct. Times are of a monotonic clock, in ms. */
export interface PathMtu {
  readonly endpoint: string;
  /** What the path was seen to take, in bytes; null: what every path takes. */
  readonly length: number | null;
  readonly asking: Asking | null;
  readonly dueMs: number;
  /** Times that the longest was in vain, one after the other, and when it is asked for again. */
  readonly failures: number;
  readonly longestAtMs: number;
  /** As counted when it was asked last, with the questions themselves. */
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
  return {
    endpoint,
    length: null,
    asking: null,
    dueMs: nowMs + SETTLED_MS,
    failures: 0,
    longestAtMs: nowMs,
    sentBytes: 0,
  };
}

/**
 * Whether nothing long was sent on it since it was asked: it needs no look and no question now. Of the state with its
 * next time then; else null.
 */
export function atRest(state: PathMtu, sentBytes: number, nowMs: number): PathMtu | null {
  if (state.length === null || state.asking !== null) return null;
  // A counter that fell belongs to a peer that was removed and added again.
  const sent = sentBytes - state.sentBytes;
  if (sent < 0 || sent >= CHECK_BYTES_MIN) return null;
  return { ...state, dueMs: checkAtMs(nowMs) };
}

/** Its time came. */
export function dueMtu(state: PathMtu, { room, sentBytes }: PathMtuLook, nowMs: number): PathMtuStep {
  const { asking } = state;
  if (asking !== null && asking.asks < ASKS_MAX) return ask(state, { ...asking, asks: asking.asks + 1 }, nowMs);
  const bytesMax = room === null ? 0 : room - aroundBytes(state.endpoint);
  const lengths = LENGTHS.filter((length) => length <= bytesMax);
  const [longest] = lengths;
  // Not what was just asked for in vain, and not what this machine learned to be too long.
  const isKept = state.length !== null && state.length <= bytesMax && state.length !== asking?.length;
  const known: PathMtu = { ...state, length: isKept ? state.length : null, asking: null, sentBytes };
  const begin = (of: PathMtu, length: number): PathMtuStep =>
    ask(of, { length, asks: 1, isLongest: length === longest }, nowMs);
  if (asking === null && longest !== undefined)
    return begin(known, nowMs >= known.longestAtMs ? longest : (known.length ?? longest));
  const missed = asking === null || asking.isLongest ? missedLongest(known, nowMs) : known;
  const next = lengths.find((length) => asking !== null && length < asking.length);
  if (next !== undefined) return begin(missed, next);
  // A path that took it until now most likely takes it again soon.
  const over = state.length === null ? missed : missedLongest({ ...missed, failures: 0 }, nowMs);
  return { state: { ...over, dueMs: Math.max(nowMs, over.longestAtMs) }, isAsked: false };
}

/** A packet of this length arrived at the peer, as it says. */
export function answeredMtu(state: PathMtu, length: number, nowMs: number): PathMtu {
  const { asking } = state;
  if (asking?.length !== length) return state;
  const failures = asking.isLongest ? 0 : state.failures;
  return { ...state, length, asking: null, failures, dueMs: checkAtMs(nowMs) };
}

function missedLongest(state: PathMtu, nowMs: number): PathMtu {
  const againMs = AGAIN_MS[Math.min(state.failures, AGAIN_MS.length - 1)] ?? 0;
  return { ...state, failures: state.failures + 1, longestAtMs: nowMs + againMs };
}

function ask(state: PathMtu, asking: Asking, nowMs: number): PathMtuStep {
  const sentBytes = state.sentBytes + asking.length + COUNTED_AROUND_BYTES;
  return { state: { ...state, sentBytes, asking, dueMs: nowMs + ASK_MS }, isAsked: true };
}

/** All paths of a machine have their times together: one look at the system is enough for all of them. */
function checkAtMs(nowMs: number): number {
  return (Math.floor(nowMs / CHECK_MS) + 1) * CHECK_MS;
}

function aroundBytes(endpoint: string): number {
  return endpoint.startsWith('[') ? AROUND_BYTES.ipv6 : AROUND_BYTES.ipv4;
}
