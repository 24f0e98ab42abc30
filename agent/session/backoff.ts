/** How long to wait before the next attempt to reach an admin. */
import { RECONNECT_MS_MAX, RECONNECT_MS_MIN } from '../../transport/protocol/limits.ts';

/**
 * Growth of the upper bound with each round. 1.3 rather than 2: of a fleet whose admin is away for 2.5 s, as after a
 * kill, the last agent dials less than 2 s later (with 1.5 it is 4 s), and all still spread out.
 */
const GROWTH = 1.3;

/**
 * Wait in ms before round `round` (from 0): uniform between the minimum and a bound that grows to the maximum, so that
 * a fleet which lost its admin at one instant does not come back at one instant. `random` is in [0, 1).
 */
export function reconnectDelayMs(round: number, random: number): number {
  const bound = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * GROWTH ** (Math.min(round, 32) + 1));
  return Math.round(RECONNECT_MS_MIN + random * (bound - RECONNECT_MS_MIN));
}
