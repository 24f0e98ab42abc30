/**
 * What requests to webhooks may cost, with units. Of an answer's body ANSWER_BYTES_MAX is kept; see
 * actors/webhook/delivery.ts.
 */

/** Header lines of one answer, in bytes: what Node, nginx and Apache take at most in the other direction. */
export const ANSWER_HEADER_BYTES_MAX = 16_384;

/**
 * Time for the body after a status and headers, in ms: they decide, the body only goes to the log. Never beyond the
 * time limit of the try.
 */
export const ANSWER_BODY_MS_MAX = 1_000;

/** Bodies up to so many bytes are read to their end, to keep the connection; beyond it a new connection is cheaper. */
export const DRAINED_BYTES_MAX = 65_536;

/**
 * How long an idle connection is kept, in ms, when its server does not say. Below Node's and Apache's 5 s, so that we
 * close first.
 */
export const KEEP_ALIVE_MS = 4_000;

/** The same when its server wishes longer, in ms. */
export const KEEP_ALIVE_MS_MAX = 60_000;

/** How long before a server closes an idle connection, by its own word, we do, in ms. */
export const KEEP_ALIVE_MARGIN_MS = 1_000;

/**
 * A kept connection that ends without a byte this soon after a request, in ms, was being closed while the request was
 * on its way: one round trip.
 * Later, the receiver had the request.
 */
export const STALE_MS_MAX = 250;

/** Webhooks of which connections, opened secrets and headers are kept. Those with a request under way come on top. */
export const ENDPOINTS_MAX = 1_000;

/** Without a request for this long a webhook's connections, secret and headers are forgotten, in ms. */
export const ENDPOINT_IDLE_MS_MAX = 300_000;

/** How often that is looked for, in ms. */
export const ENDPOINT_SWEEP_MS = 60_000;

/** Wait before an event is read again when the database did not answer, in ms, at most; at least half of it. */
export const BODY_RETRY_MS = 1_000;
