/** What joined streams may take, with units. Source: docs/promises.md, L2. */

/**
 * A tunnel without a byte either way for this long is cut, in ms: longer than the two-minute keep-alives of SSH,
 * database clients and browsers.
 */
export const IDLE_MS_MAX = 600_000;

/** A tunnel is cut when it is this old, in ms: one day. */
export const LIFE_MS_MAX = 86_400_000;

/** How often open tunnels are looked over, in ms. All by one timer: 4,096 of them take about 2 ms. */
export const SWEEP_MS = 1_000;
