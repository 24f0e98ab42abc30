/** What sessions may cost, with units. Source: docs/promises.md, L1 and L2. */

/**
 * Frames a second that a node may send for long; 1.75 s' worth may come in one go. Whoever keeps above it is cut within
 * 2 s (transport/net/frame-window.ts). An agent batches: 32 live tails and a long output at once send half of it, and
 * what they wrote while an admin stood still for 3 s fits in one go. Counted before a frame is parsed. Source:
 * docs/promises.md, L1.
 */
export const FRAMES_PER_SECOND_MAX = 1_000;

/**
 * Bytes a second that a node may send for long, and in one go. Above it its socket is read no faster: a long output is
 * no offence.
 */
export const BYTES_PER_SECOND_MAX = 8_388_608;
export const BYTES_BURST_MAX = 33_554_432;

/**
 * Sessions that a node may begin in one go, and how many a second for long. Each is a hello: what the node holds is
 * compared with what is open. An agent waits at least 0.5 s between two tries and longer each time; one that is sent
 * from admin to admin while clusters change hands uses a few. The session beyond is closed with 4008; for as long as it
 * takes until there may be another, its token is refused with 429 and not looked up.
 */
export const SESSIONS_BURST_MAX = 32;
export const SESSIONS_PER_SECOND_MAX = 0.5;

/**
 * How long the quota of a node without news is kept, in ms: after this it is whole again, since SESSIONS_BURST_MAX /
 * SESSIONS_PER_SECOND_MAX is 64 s.
 */
export const QUOTA_KEPT_MS = 70_000;

/**
 * A node that begins too many sessions is told of in the log this often, in ms; sessions that it begins meanwhile are
 * counted.
 */
export const TOO_MANY_TOLD_MS = 10_000;

/** Bytes waiting to be read by an agent, above which its session is cut: 32 scripts of 128 KiB, escaped, fit. */
export const BUFFERED_BYTES_MAX = 8_388_608;

/**
 * Output of all agents that is read and not stored yet, in bytes. Above it, sockets that sent some are paused (C10).
 */
export const UNSTORED_BYTES_MAX = 67_108_864;

/** Frames shorter than this are not counted towards UNSTORED_BYTES_MAX, in bytes. */
export const COUNTED_FRAME_BYTES_MIN = 4_096;

/** How long a peer has to read why it is closed before its socket is destroyed, in ms. */
export const CLOSE_GRACE_MS = 1_000;

/** How often sessions are looked over for silence, in ms. */
export const SWEEP_MS = 1_000;

/** No report for this long on a live session makes a node unhealthy, in ms. Source: docs/health.md. */
export const REPORT_LATE_MS = 30_000;

/** `ws` limits. Its own defaults accept 100 MiB messages and any number of fragments. Source: notes on ws 8.23. */
export const WS_FRAGMENTS_MAX = 64;

/**
 * Between two agents that are told to go to another admin lie at least so many ms, and up to so many more: at most
 * 1,000 are told within 5 s. Source: docs/decisions/placement.md.
 */
export const DEPARTURE_GAP_MS = 5;
export const DEPARTURE_JITTER_MS = 2;
