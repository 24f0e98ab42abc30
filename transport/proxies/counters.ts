/** What a proxy server counts. */
import { DIAL_FAILURES, type DialFailure } from '../net/streams/dialled.ts';

/**
 * Why a client was turned away before or instead of a stream: wrong or no `credentials`, `throttled` after too many
 * wrong ones, a request that is `malformed` or `unsupported`, too `slow` to ask, no room (`crowded`), a target that
 * must not be reached (`blocked`), or that leads back here (`loop`).
 */
export const BLOCK_REASONS = [
  'credentials',
  'throttled',
  'malformed',
  'unsupported',
  'slow',
  'crowded',
  'blocked',
  'loop',
] as const;
/** One of them. */
export type BlockReason = (typeof BLOCK_REASONS)[number];

/** Since the start. The sum of `blocked` is the metric `<protocol>_blocked_total`. */
export interface ProxyCounters {
  /** TCP connections that came. */
  connections: number;
  readonly blocked: Record<BlockReason, number>;
  /** What became of the streams that were asked for. */
  readonly dials: Record<'connected' | DialFailure, number>;
}

/** All at zero. */
export function createCounters(): ProxyCounters {
  return {
    connections: 0,
    blocked: { credentials: 0, throttled: 0, malformed: 0, unsupported: 0, slow: 0, crowded: 0, blocked: 0, loop: 0 },
    dials: {
      connected: 0,
      ...(Object.fromEntries(DIAL_FAILURES.map((failure) => [failure, 0])) as Record<DialFailure, number>),
    },
  };
}
