/** Bounds of self-update requests, with their units. */

/** Requests that are not completed, at most, in the whole service: each is counted once a second. */
export const OPEN_SELF_UPDATES_MAX = 100;

/** Nodes that are moved by one transaction of a request, at most: some 20 ms. */
export const SELF_UPDATE_STEP_NODES_MAX = 1_000;

/** Least time between two counts of one request that nothing but news asks for, in ms. */
export const COUNT_EVERY_MS_MIN = 100;

/** A count that failed is tried again after so long, in ms. */
export const COUNT_AGAIN_MS = 1_000;

/** How long a node has to answer from its turn on, in ms. Source: docs/updates.md. */
export const ANSWER_MS_MAX = 60_000;

/** A node whose turn came so long ago and that said nothing is told again, in ms. */
export const TOLD_AGAIN_AFTER_MS = 2_000;

/**
 * By default a node must be healthy again so long after it was triggered, in s; and the longest time that may be given.
 */
export const HEALTH_TIMEOUT_S = 300;
export const HEALTH_TIMEOUT_S_MAX = 86_400;
