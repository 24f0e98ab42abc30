/**
 * Which trace something belongs to, as W3C Trace Context (level 1) writes it. Pure, so that admin and agent read and
 * write it alike.
 */
import { hash, randomFillSync } from 'node:crypto';
import { wireText } from './text.ts';

/** A place in a trace: whoever continues the trace names this span as its parent. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** Whether who began the trace records it. Whoever continues it does as well, if it records anything. */
  readonly sampled: boolean;
}

/**
 * Version 00 has exactly this length, in characters; a later one may have more behind it. Source: W3C Trace Context,
 * 3.2.2.
 */
const TRACEPARENT_CHARACTERS = 55;

/**
 * Longest header that is looked at, in characters. A later version may be longer than 55; nothing sensible is longer
 * than this.
 */
const HEADER_CHARACTERS_MAX = 512;

const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/u;

/** The only version of today. */
const VERSION = '00';

/** The version that is never valid. Source: W3C Trace Context, 3.2.2.1. */
const VERSION_INVALID = 'ff';

/** Bit of the flags. The others are unknown to level 1 and are not passed on. */
const SAMPLED = 0x01;

/**
 * A `traceparent` header; null when it is none. Upper case, a wrong length, zero ids and version ff are refused, as the
 * standard wants; of a later version the part is read that it shares with this one.
 */
export function parseTraceparent(header: unknown): TraceContext | null {
  if (typeof header !== 'string' || header.length > HEADER_CHARACTERS_MAX) return null;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (
    traceId === undefined ||
    spanId === undefined ||
    version === VERSION_INVALID ||
    (version === VERSION && more !== undefined)
  )
    return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags ?? '', 16) & SAMPLED) !== 0 };
}

/** The header of a place in a trace, 55 characters. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `${VERSION}-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** A `traceparent` in a frame: version 00, so that both sides know what it says. */
export const Traceparent = wireText()
  .length(TRACEPARENT_CHARACTERS)
  .refine((text) => text.startsWith(`${VERSION}-`) && parseTraceparent(text) !== null);

/** The trace id of a `traceparent`, for log lines; undefined when there is none. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return parseTraceparent(traceparent)?.traceId;
}

/** Random bytes made at a time: one call of the system is enough for hundreds of ids. */
const POOL_BYTES = 4_096;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

function randomHex(bytes: number): string {
  if (used + bytes > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /^0+$/u.test(text) ? randomHex(bytes) : text; // zero means none
}

/** An id for a new trace. */
export function newTraceId(): string {
  return randomHex(16);
}

/** An id for a new span. */
export function newSpanId(): string {
  return randomHex(8);
}

/**
 * The span of something that has an id of its own, in this trace: always the same, so that an admin that takes over, or
 * comes back after a crash, continues the span that another one began without anything being stored for it.
 */
export function spanIdOf(traceId: string, id: string): string {
  const text = hash('sha256', `${traceId}/${id}`).slice(0, 16);
  return /^0+$/u.test(text) ? '0000000000000001' : text;
}
