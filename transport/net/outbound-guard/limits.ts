/** Bounds of the guard. */

/** Longest URL that is taken, in characters as written. Source: docs/limits.md. */
export const URL_CHARS_MAX = 2_048;

/** Longest wait for all the addresses of a name, in ms: what a resolver takes for two servers and one retry. */
export const RESOLVE_MS_MAX = 5_000;

/** Longest wait for one DNS server's answer before it is asked again, in ms: two tries fit RESOLVE_MS_MAX. */
export const DNS_ANSWER_MS_MAX = 2_000;

/** How often a DNS server is asked. */
export const DNS_TRIES = 2;

/**
 * Most addresses of one name, far above what real names have. More is refused: all are checked, and each may be
 * dialled.
 */
export const ANSWERS_MAX = 64;

/**
 * Longest wait for an open connection, look-up and TLS handshake included, in ms. Below the 10 s that a delivery has.
 */
export const CONNECT_MS_MAX = 8_000;

/**
 * Longest wait for one of several addresses before the next is tried, in ms. Node gives an address up for good then,
 * where
 * RFC 8305 only starts the next one beside it after its 250 ms: so it is four times as long, enough for any healthy
 * path.
 */
export const CONNECT_ATTEMPT_MS_MAX = 1_000;
