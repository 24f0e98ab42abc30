/** Limits of talking to Netmaker, with their units. */

/** One request with its answer, in ms; there may be REQUEST_TRIES_MAX of them in a call. */
export const REQUEST_MS_MAX = 10_000;

/** One call with all its tries and waits, in ms. Below the lease of whoever reconciles. */
export const CALL_MS_MAX = 20_000;

/** Tries of a request that found Netmaker away or too busy. */
export const REQUEST_TRIES_MAX = 3;

/** First wait between two of them, in ms; each further one is twice as long, and half to all of it is waited. */
export const RETRY_MS = 300;

/** Requests under way at once. Its controllers lock whole tables. */
export const REQUESTS_MAX = 4;

/** Requests that wait for their turn; more are refused. */
export const REQUESTS_WAITING_MAX = 256;

/** Largest answer, in bytes: all nodes of all networks, of 1 to 2 KiB each. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** How much of what Netmaker says about a failure is told, in characters. */
export const REASON_CHARACTERS_MAX = 160;

/**
 * A member that has not checked in for so long is not connected, in ms, where Netmaker does not say by itself. Its
 * clients check in each minute.
 */
export const CHECK_IN_MS_MAX = 180_000;

/** Longest enrolment token that is taken, in characters. Source: the frame `netmaker-join`. */
export const TOKEN_CHARACTERS_MAX = 8_192;
