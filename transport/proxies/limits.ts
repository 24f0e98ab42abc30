/** What a proxy server's clients may cost, with units. Source: docs/promises.md, L1 and L2. */

/** Time from a connection to a whole request, credentials included, in ms. */
export const HANDSHAKE_MS_MAX = 10_000;

/** Time for opening the stream to a target, in ms. */
export const CONNECT_MS_MAX = 15_000;

/**
 * Connections of one server at a time. Beyond them, whoever holds the most makes room for whoever holds less: see
 * shares.ts.
 */
export const CONNECTIONS_MAX = 4_096;

/**
 * On a full server, a connection without a byte for this long makes room for others of its own address, in ms. The one
 * that was idle for longest goes, so a terminal that somebody uses hardly ever does.
 */
export const IDLE_GIVES_WAY_MS = 10_000;

/** How often it is looked which connections moved bytes, in ms. 4,096 of them take less than a millisecond. */
export const SHARES_LOOK_MS = 2_500;

/**
 * The shortest time between two such looks, in ms, however many come to a full server: a hundredth of a core at most.
 * A connection whose first byte for long came within it may still count as idle.
 */
export const SHARES_LOOK_MS_MIN = 100;

/** How long open tunnels may go on after a server stopped taking new ones, in ms. */
export const DRAIN_MS_MAX = 5_000;

/** A kept HTTP connection without a request is closed after this, in ms. */
export const KEEP_ALIVE_MS_MAX = 60_000;

/** Headers of one HTTP request or of a target's answer, in bytes: Node's own default. */
export const HEADER_BYTES_MAX = 16_384;

/** Header lines of one HTTP request. */
export const HEADER_LINES_MAX = 100;

/** What a client may send before its tunnel is open, in bytes; its socket is not read beyond. */
export const EARLY_BYTES_MAX = 65_536;

/** How long a refused client has to read why before its connection is reset, in ms. */
export const FAREWELL_MS_MAX = 2_000;

/** A host name, in bytes. Source: RFC 1928, 5: one byte for the length. */
export const HOST_BYTES_MAX = 255;

/** Interim answers (1xx) of a target to one request; 100, 102 and 103 come once each in practice. */
export const INTERIMS_MAX = 16;

/** What clients that showed too many wrong credentials are told to wait, in s. Failures are counted by the minute. */
export const THROTTLED_SECONDS = 60;

/**
 * What clients are told to wait when a node is offline or a limit is reached, in s: agents are back within a few
 * seconds.
 */
export const UNAVAILABLE_SECONDS = 5;

/**
 * All limits that a server of proxies can be given; each stands above. Idle and life are of
 * transport/net/streams/join.ts.
 */
export interface ProxyLimits {
  readonly handshakeMsMax: number;
  readonly connectMsMax: number;
  readonly idleMsMax: number;
  readonly lifeMsMax: number;
  readonly connectionsMax: number;
  readonly idleGivesWayMs: number;
  readonly keepAliveMsMax: number;
}
