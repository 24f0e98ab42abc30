/**
 * How often a machine may enrol the node again that it has: each time is a transaction, events, a new token and a
 * restart of the node's actor (L1).
 */
import type { NodeEnrolled } from '../../actors/writes.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../transport/net/token-bucket.ts';
import type { WindowClock } from '../../transport/net/window-limiter.ts';

/**
 * Enrolments of one node that is enrolled in one go, and how many more in a minute for long, at each admin: beyond, 429
 * with the time until the next. They come back evenly, as an honest machine whose answers are lost tries 11 times in
 * its first minute and four times in later ones: with two URLs of one admin it is never refused.
 */
export const ENROLLED_AGAIN_BURST_MAX = 24;
export const ENROLLED_AGAIN_PER_MINUTE_MAX = 12;

/** Nodes that are remembered for it, the longest unused is forgotten first (L2). */
const NODES_REMEMBERED_MAX = 20_000;

/** A token is an enrolment. */
const LIMITS: BucketLimits = {
  tokensMax: ENROLLED_AGAIN_BURST_MAX,
  tokensPerSecond: ENROLLED_AGAIN_PER_MINUTE_MAX / 60,
};

/** Counts enrolments by node. */
export interface AgainLimiter {
  /** One more of a node, by how it may enrol. 0: it is within limits, and counted; else the ms until there is one. */
  take(node: NodeId, by: NodeEnrolled['existing']): number;
}

/**
 * Nothing counted yet. What a recovery key opens is counted by itself: the machine that is to lose the node could spend
 * the share of the one that is to have it.
 */
export function createAgainLimiter(clock: WindowClock): AgainLimiter {
  const buckets = new Map<string, TokenBucket>(); // the longest unused first
  return {
    take(node, { type }) {
      if (type === 'none') return 0; // a new node: its key counts it
      const key = `${type} ${node}`;
      const { isTaken, bucket } = take(buckets.get(key) ?? fullBucket(LIMITS), LIMITS, 1, clock.nowMs());
      buckets.delete(key);
      if (buckets.size >= NODES_REMEMBERED_MAX) buckets.delete(buckets.keys().next().value ?? '');
      buckets.set(key, bucket);
      return isTaken ? 0 : Math.ceil(((1 - bucket.tokens) * 1_000) / LIMITS.tokensPerSecond);
    },
  };
}
