/** Bounds of a member, with units. Those named as measured: docs/decisions/vpn-paths.md. */
import type { BucketLimits } from '../../net/token-bucket.ts';

/**
 * How often the interface is read, in ms: while something is tried or doubted, while packets go directly, and
 * otherwise.
 */
export const READ_EAGER_MS = 1_000;
export const READ_BUSY_MS = 1_000;
export const READ_IDLE_MS = 5_000;

/**
 * What was read so long ago, in ms, is read again before a handshake begins. Not each time: a gateway begins one with
 * thousands.
 */
export const READ_HANDSHAKE_MS = 250;

/** How often what is compared with what should be, without an input, in ms. */
export const REPAIR_MS = 30_000;

/**
 * Seconds between packets that keep NATs open: below the 30 s after which some forget. Source: wg(8),
 * PersistentKeepalive.
 */
export const KEEPALIVE_SECONDS = 25;

/**
 * A keepalive on the wire, in bytes: what is sent beyond it has to be answered. Source: WireGuard, 5.4.6, an empty
 * transport packet.
 */
export const KEEPALIVE_BYTES = 32;

/**
 * When both sides probe each other's endpoints, in ms after the agreed start, and how long each listens after it. At
 * first both probe at the same time, so that neither NAT sees the other's packet before its own. Later one waits
 * until it has listened: on a LAN the packets of both arrive before either listens (measured). The last ones are for
 * slow ways.
 */
export const PROBES = [
  { atMs: 0, listenMs: 60, waitMs: 0 },
  { atMs: 200, listenMs: 80, waitMs: 30 },
  { atMs: 500, listenMs: 120, waitMs: 50 },
  { atMs: 1_000, listenMs: 150, waitMs: 70 },
  { atMs: 2_000, listenMs: 150, waitMs: 70 },
] as const;

/**
 * A try that led nowhere after this, in ms, is given up: a direct path comes up within 5 s, or packets are relayed
 * (docs/vpn.md).
 */
export const TRY_MS_MAX = 5_000;

/**
 * Waits before the next try, in ms, after the first, second, … that led nowhere. Judgement; two are short, since a busy
 * machine may miss the moment of a try.
 */
export const TRY_AGAIN_MS = [10_000, 10_000, 60_000, 300_000, 900_000, 3_600_000] as const;

/** How soon a path that was lost is tried again, in ms, and how soon one whose ends moved. */
export const TRY_LOST_MS = 5_000;
export const TRY_MOVED_MS = 500;

/** The side with the larger key leaves the first message to the other for so long, in ms. */
export const SECOND_MESSAGE_MS = 2_000;

/** Wait for a peer that was asked over the relay for a try, in ms, before the admin is asked. */
export const ANSWER_MS_MAX = 3_000;

/** How soon both begin after they agreed over the relay, in ms. */
export const AGREED_IN_MS = 200;

/** Tries that others ask for: at most one in so many ms. It bounds how often a path can change at a peer's will. */
export const TRY_MS_MIN = 10_000;

/**
 * How long one way to a peer that does not answer is used before the next one, in ms: an answer comes over the slowest
 * ways within a second.
 */
export const ATTEMPT_MS = 2_500;

/** The same at most, in ms, for a peer without a relay that was in vain looked for everywhere. */
export const ATTEMPT_MS_MAX = 60_000;

/**
 * The side with the larger key speaks first only after this, in ms: two handshakes that cross lead nowhere for 5 s
 * (measured).
 */
export const SECOND_HANDSHAKE_MS = 1_000;

/**
 * A peer of which nothing is heard for so long, in ms, is removed from the interface and added anew. WireGuard refuses
 * handshakes that are dated before the last one it took: where clocks of both ends were set back, neither would hear
 * the other for as long as they were set back.
 */
export const UNHEARD_MS_MAX = 45_000;

/**
 * A machine that changed its key speaks first, after this, in ms: by then the others have the new one. They wait for it
 * so long, since two handshakes that cross lead nowhere for 5 s.
 */
export const ROTATED_MS = 300;
export const REPLACED_MS = 2_000;

/**
 * Silence of a direct path on what has to be answered, in ms, after which it is dead. WireGuard answers within 10 s.
 * Source: WireGuard, 6.1, KEEPALIVE_TIMEOUT.
 */
export const SILENCE_MS_MAX = 12_000;

/**
 * The same, in ms, where the peer sent data until then. A wrong guess costs nothing but a while on the relay; TCP tries
 * again after 6 and after 13 s. Source: RFC 6298.
 */
export const SILENCE_TALKING_MS_MAX = 5_000;

/**
 * A peer that sent data so long before it fell silent, in ms, was talking. An idle path is read so seldom that its talk
 * may be seen only up to 5 s after it was cut; by then TCP waits up to 3.2 s before it sends again, and a reading may
 * come 1 s after that. Source: RFC 6298, with 0.2 s at first as in Linux.
 */
export const TALKED_MS_MAX = 5_000;

/**
 * Age of a handshake at which a session is over, in ms. Source: WireGuard, 6.1, REJECT_AFTER_TIME 180 s; and a
 * handshake that is repeated.
 */
export const SESSION_MS_MAX = 200_000;

/** How long packets that still come by the relay are taken for stragglers after the path became direct, in ms. */
export const SETTLE_MS = 2_000;

/**
 * Stragglers are handed over together in this rhythm, in ms, since each makes WireGuard answer over the relay until it
 * is told otherwise.
 */
export const SETTLE_BATCH_MS = 20;

/** A direct path that held so long, in ms, is a good one: when it is lost, waits begin anew. */
export const STEADY_MS = 60_000;

/** A step of the clock between two looks that is longer than this, in ms, was sleep or a stop. */
export const SLEEP_MS_MIN = 10_000;

/** Kernel buffers of a relay socket, in bytes, each way. Source: notes of measurements, no loss at 400 Mbit/s. */
export const RELAY_SOCKET_BUFFER_BYTES = 4_194_304;

/** Packets that one relay socket holds back at most while it listens; what is beyond goes on at once. */
export const HELD_PACKETS_MAX = 2_048;

/** A relay socket that its peer no longer needs is closed after this, in ms. */
export const RELAY_SOCKET_IDLE_MS = 30_000;

/** A connection to a relay where nobody of ours is spoken to any more is closed after this, in ms. */
export const RELAY_IDLE_MS = 60_000;

/** Wait for an own relay that is lost, in ms, before the next best one is taken: a restart of it takes less. */
export const HOME_MS_MAX = 3_000;

/** Connections to relays at once, beside the own one. */
export const RELAYS_MAX = 64;

/** How often the addresses of this machine are looked at, in ms. */
export const ADDRESSES_MS = 5_000;

/** Least and most wait before an interface that was lost is opened again, in ms. */
export const REOPEN_MS_MIN = 1_000;
export const REOPEN_MS_MAX = 60_000;

/** Packets that wait for the first connection to a relay. */
export const RELAY_WAITING_MAX = 64;

/** Wait for the own relay at the start, in ms, before peers are looked for without one. */
export const RELAY_START_MS_MAX = 2_000;

/** Packets that wait in a relay socket until it has its port, and messages that wait to be handled. */
export const INBOX_MAX = 4_096;

/**
 * Messages of one peer that are heard; the others are left out. A try, of which one begins in 10 s at most
 * (TRY_MS_MIN), takes up to 20: the questions and answers, and a word after each reading in which something came.
 */
export const PEER_MESSAGES: BucketLimits = { tokensMax: 64, tokensPerSecond: 4 };

/**
 * Between the end of a turn and the next one that messages of peers alone are the reason for, in ms: all that come
 * meanwhile are handled together. Of the 200 ms after which both sides begin what they agree upon (AGREED_IN_MS).
 */
export const MESSAGES_MS = 20;

/** Wait for the regions of a map that are asked how far they are, in ms, and how often they are asked, in ms. */
export const MEASURE_MS_MAX = 1_500;
export const MEASURE_AGAIN_MS = 600_000;

/**
 * A relay that was to be the own one and was not reached is left out of that choice for so long, in ms, at first and at
 * most: until the regions are asked again, and then longer each time.
 */
export const AVOID_MS_MIN = MEASURE_AGAIN_MS;
export const AVOID_MS_MAX = 3_600_000;
