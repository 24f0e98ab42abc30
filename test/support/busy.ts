/**
 * What a machine that is busy with other things may be late by. A promise of time is tested with this added to it, so
 * that only a fault breaks it.
 */

/** In ms. Seen: a flood was cut after 2.1 s, on two cores with a load of 17. */
export const BUSY_MS = 5_000;
