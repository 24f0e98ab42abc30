/** Bounds of egress. */

/** Longest wait for an open stream, look-up included, in ms: four SYNs of Linux (at 0, 1, 3 and 7 s) fit. */
export const DIAL_MS_MAX = 10_000;

/**
 * Longest wait for one of several addresses before the next is tried, in ms. The last one has what is left. Source:
 * transport/net/guard/limits.ts.
 */
export const ATTEMPT_MS_MAX = 1_000;

/** Dials under way at once, a use: the admin's are not kept waiting by clients of this machine's proxies. */
export const DIALS_MAX = 256;

/**
 * Streams open at once, a use. Two files each, of the 20,000 and more that Node may open where the system's hard limit
 * is common.
 */
export const STREAMS_MAX = 4_096;

/** Silence after which the system asks whether the other end of a stream is still there, in ms. */
export const KEEP_ALIVE_MS = 60_000;

/** Entries of one list of hosts or ports: each dial looks through all. */
export const RULES_MAX = 256;
