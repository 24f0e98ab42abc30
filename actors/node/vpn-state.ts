/** What a node holds of the VPN of its cluster: its session's report, and what it may still cost the others. */
import { fullBucket, type BucketLimits, type TokenBucket } from '../../transport/net/token-bucket.ts';
import type { VpnReport } from '../../transport/protocol/vpn.ts';

/**
 * Tries of direct paths that an agent may ask for at once, and how many more each second: one a peer of a large VPN
 * when it starts.
 */
export const TRIES_BURST_MAX = 512;
export const TRIES_PER_SECOND_MAX = 8;

/**
 * What an agent may say of itself at once, and how much more each second: each may be the whole VPN as the answer.
 */
export const ADVERTISEMENTS_BURST_MAX = 128;
export const ADVERTISEMENTS_PER_SECOND_MAX = 4;

/**
 * News of itself that is stored at once, and how much more each second: each is a row, and a frame to every other
 * member. What comes faster is taken together, the newest last (L1).
 */
export const NEWS_BURST_MAX = 32;
export const NEWS_PER_SECOND_MAX = 0.5;

/** The buckets of these three. */
export const TRIES: BucketLimits = { tokensMax: TRIES_BURST_MAX, tokensPerSecond: TRIES_PER_SECOND_MAX };
/** As above. */
export const ADVERTISEMENTS: BucketLimits = {
  tokensMax: ADVERTISEMENTS_BURST_MAX,
  tokensPerSecond: ADVERTISEMENTS_PER_SECOND_MAX,
};
/** As above. */
export const NEWS: BucketLimits = { tokensMax: NEWS_BURST_MAX, tokensPerSecond: NEWS_PER_SECOND_MAX };

/** What is known of the VPN on a live session. */
export interface VpnSession {
  /** The last report and when it came; null: none yet. */
  readonly report: { readonly said: VpnReport; readonly atMs: number } | null;
}

/** Of a session that has just begun. One object for all. */
export const NEW_VPN_SESSION: VpnSession = { report: null };

/**
 * What a node may still cost the others. It is the node's and not the session's: an agent that connects again has no
 * more than before.
 */
export interface VpnAllowances {
  readonly tries: TokenBucket;
  readonly advertisements: TokenBucket;
  readonly news: TokenBucket;
  /** A reminder of news that was too much is under way: what is said until then takes its place. */
  readonly isNewsWaiting: boolean;
}

/** Nothing was spent. One object for all. */
export const FULL_VPN_ALLOWANCES: VpnAllowances = {
  tries: fullBucket(TRIES),
  advertisements: fullBucket(ADVERTISEMENTS),
  news: fullBucket(NEWS),
  isNewsWaiting: false,
};
