/** Bounds of scrapes, with units. */

/** Largest exposition that is taken from a node, in bytes: some 40,000 samples. */
export const EXPOSITION_BYTES_MAX = 4_194_304;
