/** Bounds of scrapes, with units. */

/** Largest exposition that is taken from a node, in bytes: some 40,000 samples. */
export const EXPOSITION_BYTES_MAX = 4_194_304;

/** Queues, and reasons of blocked connections, of one record: an honest agent has a few. */
export const RECORD_ENTRIES_MAX = 64;

/** Names of them, in characters. */
export const RECORD_NAME_CHARACTERS_MAX = 64;
