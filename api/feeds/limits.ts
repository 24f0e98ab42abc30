/** Every bound of the live feeds, with its unit. */

/**
 * Least time between two messages to one subscriber, in ms; the first change after a quiet time goes out at once.
 * Source: notes of the benchmark B8c.
 */
export const FEED_INTERVAL_MS = 50;

/**
 * Changes told in one message. 5,000 patches of about 110 bytes stay near half a MiB, and a storm over 10,000 nodes is
 * two messages.
 */
export const CHANGES_PER_MESSAGE_MAX = 5_000;

/** Resources in one page of a snapshot: about 450 KiB of nodes. */
export const SNAPSHOT_PAGE_ROWS = 500;

/**
 * Changes that a feed remembers for those who were away, about 130 bytes each. Older positions get a fresh snapshot. It
 * is twice what one feed may follow: all of them change at once, and whoever is slow still gets changes, an eighth of
 * a snapshot.
 */
export const REMEMBERED_CHANGES_MAX = 200_000;

/** Nodes that one `nodes.watch` may match when it begins; above it the watcher is asked for a narrower filter. */
export const WATCHED_NODES_MAX = 100_000;

/**
 * Nodes of all live filters together. A node takes at most 1.2 KiB once, and about 40 bytes for each further filter
 * that has it. Source: test/unit/api/feeds/held-nodes.test.ts, measured.
 */
export const WATCHED_NODES_TOTAL_MAX = 400_000;

/**
 * Nodes that a feed reads with one statement, which takes some 20 ms: what is watched is read page by page, so that
 * nothing else waits for it.
 */
export const READ_PAGE_ROWS = 1_000;

/** Different filters and commands watched at a time. */
export const CHANNELS_MAX = 512;

/** Executions of one command that can be watched. */
export const WATCHED_EXECUTIONS_MAX = 50_000;

/** Executions held for all watched commands together, about 300 bytes each. */
export const WATCHED_EXECUTIONS_TOTAL_MAX = 250_000;

/** How long a feed without subscribers stays, in ms, so that one who reconnects goes on where he was. */
export const CHANNEL_LINGER_MS = 30_000;

/** Wait before a feed reads again after the database failed, in ms. */
export const FEED_RETRY_MS = 1_000;

/** Where news was left out, a feed reads all that it shows at most this often, in ms, whatever happened meanwhile. */
export const RESYNC_EVERY_MS = 5_000;

/** Events read at a time, and told in one message, as long as they come to less than EVENTS_READ_BYTES_MAX. */
export const EVENTS_PER_READ = 500;

/** Events of before with which a subscriber of `events.watch` may ask to begin. */
export const LATEST_EVENTS_MAX = 1_000;

/**
 * Events kept for all subscribers of `events.watch`, and bytes of their data; one that is further behind reads from the
 * database at its own pace.
 */
export const REMEMBERED_EVENTS_MAX = 5_000;
export const REMEMBERED_EVENTS_BYTES_MAX = 16_777_216;

/**
 * The table is looked at this often even when nothing was said of new events, in ms: while an admin is alone, and while
 * it hears what all admins store.
 */
export const EVENTS_POLL_MS = 2_000;
export const EVENTS_NET_MS = 30_000;

/** Output told in one message of a tail, in bytes of UTF-8. */
export const TAIL_PIECE_BYTES = 65_536;

/**
 * Live output that waits for one slow reader, in bytes of UTF-8; beyond it is dropped here and asked of the agent again
 * when he has read.
 */
export const TAIL_WAITING_BYTES_MAX = 1_048_576;

/**
 * Live output that waits for all slow readers together, in bytes of UTF-8. Above it each keeps one piece of
 * TAIL_PIECE_BYTES at most, and is handled as one that has TAIL_WAITING_BYTES_MAX.
 */
export const TAIL_WAITING_TOTAL_BYTES_MAX = 67_108_864;

/**
 * Times in a row that an agent answers with a later place than it was asked for, after which what lies between is taken
 * to be lost: the first time it may be a piece of what was asked for before.
 */
export const TAIL_GAPS_MAX = 2;

/**
 * A tail whose node is away, or streams as much as it may, asks again this often, in ms, besides at news of the node.
 */
export const TAIL_RETRY_MS = 1_000;

/**
 * How long the live rest of an output may take once the execution is known to be over, in ms; then the stored output is
 * told.
 */
export const TAIL_REST_MS_MAX = 2_000;

/** Executions tailed at a time. */
export const TAILS_MAX = 1_000;
