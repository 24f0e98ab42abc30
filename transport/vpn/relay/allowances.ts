/**
 * How much each key may send: one allowance for all of its connections, which stays for one that comes back. Pure, but
 * for what it remembers.
 */
import { debtMs, fullBucket, isFull, spend, type BucketLimits, type TokenBucket } from '../../net/token-bucket.ts';

/** What one key has left. */
export interface Allowance {
  /** Takes this many bytes off, and answers how long the key is to be read no more, in ms; 0: it goes on. */
  spend(bytes: number, nowMs: number): number;
}

/** Those of all keys. */
export interface Allowances {
  /** The one of this key. */
  of(id: string): Allowance;
  /** Forgets those that are whole again. */
  sweep(nowMs: number): void;
}

/** All are whole at first. A token is a byte. `nowMs` is monotonic. */
export function createAllowances(limits: BucketLimits): Allowances {
  const buckets = new Map<string, TokenBucket>();
  return {
    of: (id) => ({
      spend(bytes, nowMs) {
        const bucket = spend(buckets.get(id) ?? fullBucket(limits), limits, bytes, nowMs);
        buckets.set(id, bucket);
        return debtMs(bucket, limits);
      },
    }),
    sweep(nowMs) {
      for (const [id, bucket] of buckets) if (isFull(bucket, limits, nowMs)) buckets.delete(id);
    },
  };
}
