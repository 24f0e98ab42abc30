/** Bounds of one connection to a relay. */

/**
 * Largest frame that a client reads, in bytes: a relay may send it things that are no packets. Source:
 * derp/derp_client.go, `1 << 20`.
 */
export const FRAME_BYTES_MAX = 1_048_576;

/**
 * Bytes that wait to be sent, above which packets are dropped: WireGuard sends again what matters, and a queue would
 * only make all late. Judgement: 5 ms at 400 Mbit/s.
 */
export const WAITING_BYTES_MAX = 262_144;

/** Longest wait for one address to take a TCP connection, in ms, before the next address is tried. */
export const CONNECT_MS_MAX = 5_000;

/**
 * Longest wait for TLS, the upgrade and the relay's first words, each, in ms. Source: the protocol, its deadline of a
 * handshake.
 */
export const HANDSHAKE_MS_MAX = 10_000;

/** Addresses of one relay that are tried. */
export const ADDRESSES_MAX = 4;

/** How often the relay is asked for a sign of life, in ms: below the 30 s after which some NATs forget a connection. */
export const PING_MS = 20_000;

/** Silence after which a connection is dead, in ms: two pings without an answer, and half of one for the way. */
export const SILENCE_MS_MAX = 50_000;

/** Least and most wait before the next attempt to connect, in ms; uniform between the least and a bound that grows. */
export const RECONNECT_MS_MIN = 250;
export const RECONNECT_MS_MAX = 15_000;

/** Destinations whose keys a connection remembers in binary form. */
export const KEYS_MAX = 4_096;
