/**
 * What may be read of answers of one node: looking at 4 MiB takes 25 ms, in which nobody else is served (L1). The share
 * is that of a node, over all who ask it.
 */
import type { NodeId } from '../protocol/ids.ts';
import { fullBucket, isFull, take, type BucketLimits, type TokenBucket } from '../net/token-bucket.ts';
import { NODE_ANSWER_BYTES_AT_ONCE_MAX, NODE_ANSWER_BYTES_PER_SECOND_MAX } from './limits.ts';

const LIMITS: BucketLimits = {
  tokensMax: NODE_ANSWER_BYTES_AT_ONCE_MAX,
  tokensPerSecond: NODE_ANSWER_BYTES_PER_SECOND_MAX,
};

/** Of these, the longest unused are looked at with each answer: so many that are whole again are forgotten. */
const FORGOTTEN_AT_ONCE = 2;

/** The shares of all nodes that answered lately. */
export class AnswerShares {
  readonly #buckets = new Map<NodeId, TokenBucket>(); // the longest unused first

  /** Nodes that are remembered. */
  get count(): number {
    return this.#buckets.size;
  }

  /** So many bytes of an answer came. False: these are too many. */
  take(node: NodeId, bytes: number, nowMs: number): boolean {
    const { isTaken, bucket } = take(this.#buckets.get(node) ?? fullBucket(LIMITS), LIMITS, bytes, nowMs);
    this.#buckets.delete(node);
    this.#buckets.set(node, bucket);
    return isTaken;
  }

  /** To be called with each answer. */
  forget(nowMs: number): void {
    let count = 0;
    for (const [node, bucket] of this.#buckets) {
      if (count === FORGOTTEN_AT_ONCE || !isFull(bucket, LIMITS, nowMs)) return;
      this.#buckets.delete(node);
      count += 1;
    }
  }
}
