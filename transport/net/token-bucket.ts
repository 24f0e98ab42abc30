/**
 * A token bucket, the one rate limiter of what is spent: so much in one go, and so much a second for long. Pure, with
 * no timer: whoever keeps the bucket keeps the value that comes back. Unix or monotonic ms will do for `nowMs`; a clock
 * that is set back refills nothing, and time counts from where it was set to.
 */

/** What a bucket holds. What one token is (a frame, a byte, an attempt) says whoever names the limits. */
export interface BucketLimits {
  /** A full bucket: what may be taken in one go. Above 0. */
  readonly tokensMax: number;
  /** What comes back in a second, up to `tokensMax`. Above 0; may be a fraction. */
  readonly tokensPerSecond: number;
}

/** What was left at `atMs`; below zero: so much is owed. */
export interface TokenBucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** What came of trying to take tokens. The bucket is to be kept either way: it has the time of the try. */
export interface Taking {
  readonly isTaken: boolean;
  readonly bucket: TokenBucket;
}

/** One from which nothing was taken, whatever the time is. */
export function fullBucket({ tokensMax }: BucketLimits): TokenBucket {
  return { tokens: tokensMax, atMs: 0 };
}

/** Takes so many tokens, or none when there are not as many. */
export function take(bucket: TokenBucket, limits: BucketLimits, tokens: number, nowMs: number): Taking {
  const refilled = refill(bucket, limits, nowMs);
  if (refilled.tokens < tokens) return { isTaken: false, bucket: refilled };
  return { isTaken: true, bucket: { tokens: refilled.tokens - tokens, atMs: nowMs } };
}

/** Takes so many tokens although there may be fewer: what came is counted, and what is owed holds up what follows. */
export function spend(bucket: TokenBucket, limits: BucketLimits, tokens: number, nowMs: number): TokenBucket {
  return { tokens: refill(bucket, limits, nowMs).tokens - tokens, atMs: nowMs };
}

/** Puts back what did not count after all. */
export function refund(bucket: TokenBucket, { tokensMax }: BucketLimits, tokens: number): TokenBucket {
  return { tokens: Math.min(tokensMax, bucket.tokens + tokens), atMs: bucket.atMs };
}

/** How long until nothing is owed any more, in whole ms from `atMs` of the bucket; 0: nothing is. */
export function debtMs({ tokens }: TokenBucket, { tokensPerSecond }: BucketLimits): number {
  return tokens >= 0 ? 0 : Math.ceil((-tokens * 1_000) / tokensPerSecond);
}

/** Whether nothing is missing: such a bucket need not be remembered. */
export function isFull(bucket: TokenBucket, limits: BucketLimits, nowMs: number): boolean {
  return refill(bucket, limits, nowMs).tokens >= limits.tokensMax;
}

function refill({ tokens, atMs }: TokenBucket, limits: BucketLimits, nowMs: number): TokenBucket {
  const returned = (Math.max(0, nowMs - atMs) * limits.tokensPerSecond) / 1_000;
  return { tokens: Math.min(limits.tokensMax, tokens + returned), atMs: nowMs };
}
