/** Bounds of the actor runtime, with their units. */

/**
 * Messages waiting at one actor. Above it the sender is refused: whoever waits gets `service_unavailable`, sessions are
 * cut.
 * Source: docs/decisions/actors-on-nact.md: nact's own mailbox has no bound.
 */
export const MAILBOX_MESSAGES_MAX = 1_024;

/** Messages decided in one batch, before one commit. Keeps a busy actor from starving the others. */
export const BATCH_MESSAGES_MAX = 256;

/** How long `ask` waits, in ms. Source: docs/promises.md, L3, no call hangs over 5 s. */
export const ASK_MS_MAX = 4_500;

/** How often those who wait for an answer are looked over for their deadline, in ms. */
export const ASK_SWEEP_MS = 250;

/**
 * Children of one parent. nact copies a parent's child map on every message it handles. Source:
 * docs/decisions/actors-on-nact.md.
 */
export const CHILDREN_PER_SHARD_MAX = 128;
