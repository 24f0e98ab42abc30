/** What a relay and one of its clients may cost, with units. Source: docs/promises.md, L1 and L2. */

/** Connections at once, those of clients and those that are not any yet. */
export const CONNECTIONS_MAX = 10_000;

/**
 * Connections at once that did not prove their key yet, in all and from one address, or one /64 of IPv6. Many members
 * may stand behind one.
 */
export const UNAUTHENTICATED_MAX = 1_024;
export const UNAUTHENTICATED_OF_ADDRESS_MAX = 256;

/** Connections of one key at once; the oldest goes. A client that reconnects leaves one behind that nobody ended. */
export const CONNECTIONS_OF_KEY_MAX = 3;

/** From the TCP connection to the admitted client, in ms. Source: the protocol. */
export const HANDSHAKE_MS_MAX = 10_000;

/** Largest first frame of a client, in bytes: a key and a small JSON in a box. derper takes 256 KiB. */
export const CLIENT_INFO_BYTES_MAX = 8_192;

/**
 * What waits for a client that reads slowly, beyond which the oldest packets are dropped. derper has 32 packets, each
 * of which leaves alone; here those of a turn leave together, and 32 would be gone in one. Judgement: 20 ms at 200
 * Mbit/s.
 */
export const WAITING_PACKETS_MAX = 1_024;
export const WAITING_BYTES_MAX = 524_288;

/** Bytes in one write to a client. */
export const WRITE_BYTES_MAX = 131_072;

/** A client that takes nothing of a write for so long is gone, in ms. */
export const WRITE_MS_MAX = 10_000;

/**
 * Bytes a second that a key may send for long, by all of its connections, and in one go; above it they are read no
 * faster. More than WireGuard in user space makes (measured: 50 MB/s).
 */
export const BYTES_PER_SECOND_MAX = 67_108_864;
export const BYTES_BURST_MAX = 16_777_216;

/**
 * What each frame costs of that beyond its bytes, and what it costs at least: a flood of small ones is no cheaper to
 * serve (measured: 300,000 a second of one key made the API of the same admin 100 times slower).
 */
export const FRAME_COST_BYTES = 256;
export const FRAME_COST_BYTES_MIN = 1_024;

/** A sign of life to each client, in ms, and up to how much later. Source: the protocol. */
export const KEEP_ALIVE_MS = 60_000;
export const KEEP_ALIVE_JITTER_MS = 5_000;

/** A client that answers pings and was not heard for so long is gone, in ms: two of them. */
export const SILENCE_MS_MAX = 150_000;

/** How often all clients are looked over, in ms. */
export const SWEEP_MS = 1_000;

/** How often it is asked whether a client is still admitted, in ms; and how many are asked for in one sweep. */
export const RECHECK_MS = 30_000;
export const RECHECKS_MAX = 200;

/** Within which clients come back to a relay that restarts, in ms, spread out. */
export const COME_BACK_MS_MAX = 2_000;

/** For how long clients try that. */
export const TRY_FOR_MS = 10_000;

/**
 * For so long changes of clusters gather before their members are asked for again, in ms. Below the second within which
 * a deleted node is out (E5).
 */
export const CHANGED_MS = 200;
