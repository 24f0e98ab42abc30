/** What the resolver of names may cost, and how fresh names are, with units. Source: docs/promises.md, L1 and L2. */

/**
 * How long an answer may be kept, in s: not at all. The resolver is on the machine that asks, and a moved alias must be
 * seen within 2 s.
 */
export const NAME_TTL_SECONDS = 0;

/** Port of DNS. Source: RFC 1035, 4.2. */
export const DNS_PORT = 53;

/** Largest query that is read, in bytes. Those of clients with every extension stay below 512. */
export const QUERY_BYTES_MAX = 4_096;

/** Largest answer by UDP, in bytes, to those who say that they take more than 512. Source: DNS flag day 2020. */
export const UDP_ANSWER_BYTES_MAX = 1_232;

/** Largest answer by UDP to those who say nothing, in bytes. Source: RFC 1035, 4.2.1. */
export const PLAIN_ANSWER_BYTES_MAX = 512;

/** Queries of one address in a second; those beyond are dropped. */
export const QUERIES_PER_SECOND_MAX = 2_000;

/**
 * Queries of all addresses in a second. One takes some 0.1 ms (measured), so that this is half a core for a second at
 * most.
 */
export const ALL_QUERIES_PER_SECOND_MAX = 5_000;

/** TCP connections of one listener; beyond, new ones are closed. */
export const CONNECTIONS_MAX = 64;

/** A TCP connection that is silent for so long is closed, in ms. */
export const CONNECTION_IDLE_MS_MAX = 5_000;

/** A TCP connection is closed after this in any case, in ms. */
export const CONNECTION_LIFE_MS_MAX = 30_000;

/** Answers that a TCP client has not read, in bytes; beyond, it is cut. */
export const UNREAD_BYTES_MAX = 65_536;

/** Wait before listening is tried again, in ms: at first, as interfaces come up within moments, and at most. */
export const LISTEN_RETRY_MS_MIN = 100;
export const LISTEN_RETRY_MS_MAX = 5_000;

/**
 * How often it is looked whether what leads to the names is still there, in ms: other programs write the same files.
 */
export const CHECK_MS = 5_000;

/** How often systemd-resolved is asked the same, in ms: it takes a process each time. */
export const RESOLVED_CHECK_MS = 30_000;

/** One run of resolvectl, in ms. */
export const COMMAND_MS_MAX = 5_000;

/** A hosts file or resolv.conf that is larger is left alone, in bytes. */
export const FILE_BYTES_MAX = 16_777_216;

/**
 * What is read of resolv.conf and nsswitch.conf to see who answers programs, in bytes. Usual ones have some hundred; a
 * larger resolv.conf is left alone.
 */
export const RESOLUTION_BYTES_MAX = 65_536;

/**
 * How long another program of ours is waited for that writes the same file, in ms. It takes some milliseconds; whoever
 * takes longer is dead.
 */
export const FILE_LOCK_MS_MAX = 2_000;

/**
 * How long an interface may take to come up before its absence is a problem, in ms: names are told in the moment in
 * which it is set up.
 */
export const INTERFACE_MS_MAX = 5_000;
