/** Bounds of diagnoses, with units. */

/**
 * A whole diagnosis may take so long, in ms, and then keeping its report; whatever the database does, it is over within
 * 15 s.
 */
export const DIAGNOSIS_MS_MAX = 14_000;
export const STORE_MS_MAX = 1_000;

/** A tunnel to the node is waited for so long, in ms. One that opens takes two round trips and a handshake. */
export const TUNNEL_MS_MAX = 3_500;

/** A round trip through it may take so long, in ms, and is warned of above that. */
export const ROUND_TRIP_MS_MAX = 1_500;
export const ROUND_TRIP_MS_WARN = 750;

/** The agent's own report may take so long, in ms, as far as there is time left. Its checks have 9 s. */
export const REPORT_MS_MAX = 9_500;

/** Nodes that are diagnosed at once; more are told to come again (L2). */
export const DIAGNOSES_MAX = 64;
