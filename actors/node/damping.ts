/**
 * What keeps a node that goes up and down from flooding everyone with news. Worse is told at once. Better is told at
 * once too, until the status has changed CALM_CHANGES_MAX times within the window: then once it has lasted, and not
 * while there were CHANGES_MAX changes.
 * Between two changes for the better there are at most two for the worse, so that a window sees no more than
 * CHANGES_TOLD_MAX, and once a node rests its status is told within a window. Pure.
 */

/** The window in which changes are counted, in ms. */
export const DAMPING_WINDOW_MS = 300_000;

/** So many changes within the window are told as they come: an agent that is restarted or updated makes two each. */
export const CALM_CHANGES_MAX = 6;

/** With so many changes within the window nothing better is told. */
export const CHANGES_MAX = 12;

/** Most changes that a window sees. */
export const CHANGES_TOLD_MAX = CHANGES_MAX + 2;

/**
 * When a better status that began at `sinceMs` may be told, in Unix ms. `lastingMs` is how long it must have lasted
 * after many changes; 0: at once, always.
 */
export function betterDueMs(changesMs: readonly number[], sinceMs: number, lastingMs: number, nowMs: number): number {
  const recent = recentOf(changesMs, nowMs);
  if (lastingMs === 0 || recent.length < CALM_CHANGES_MAX) return nowMs;
  const calmMs = leavesMs(recent, CALM_CHANGES_MAX);
  const roomMs = recent.length < CHANGES_MAX ? nowMs : leavesMs(recent, CHANGES_MAX);
  return Math.min(calmMs, Math.max(sinceMs + lastingMs, roomMs));
}

/** The changes to remember, with the one of now. */
export function changesWith(changesMs: readonly number[], nowMs: number): readonly number[] {
  return [...recentOf(changesMs, nowMs), nowMs].slice(-CHANGES_MAX);
}

/** Those within the window. What seems to be yet to come was noted by a clock that was set back since. */
function recentOf(changesMs: readonly number[], nowMs: number): readonly number[] {
  return changesMs.filter((atMs) => atMs > nowMs - DAMPING_WINDOW_MS && atMs <= nowMs);
}

/** When fewer than `count` are within the window. */
function leavesMs(recent: readonly number[], count: number): number {
  return (recent.at(-count) ?? 0) + DAMPING_WINDOW_MS;
}
