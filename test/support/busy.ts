/**
 * What a machine that is busy with other things may be late by. A promise of time is tested with this granted to it, so
 * that only a fault breaks it.
 */
import { availableParallelism, loadavg } from 'node:os';

/** In ms. Seen: a flood was cut after 2.1 s, on two cores with a load of 17. */
export const BUSY_MS = 5_000;

/** From so many programs for each processor on. */
const CROWDED_FROM = 2.5;

/** A promise of time is stretched by no more than this. */
const STRETCH_MAX = 5;

/**
 * A time in ms, as long as this machine takes for it now: where so many programs want a processor that each gets a
 * third of one, three times as long. A whole number, as timeouts must be.
 */
export function scaled(ms: number): number {
  return Math.round(ms * Math.min(STRETCH_MAX, Math.max(1, programsEach())));
}

/**
 * Whether so many programs want a processor that a deadline of the product itself may pass, which is not
 * scaled.
 */
export function isCrowded(): boolean {
  return programsEach() > CROWDED_FROM;
}

/** Programs that wanted a processor in the last minute, for each processor. */
function programsEach(): number {
  const [lastMinute = 0] = loadavg();
  return lastMinute / availableParallelism();
}

/** A test that has not ended counts as hung after so many times what it takes on a machine that does nothing else. */
const HANG_FACTOR = 4;

/** The time for `t.timeout` of a test that takes less than this, in ms, on a machine that does nothing else. */
export function hangAfter(ms: number): number {
  return ms * HANG_FACTOR;
}
