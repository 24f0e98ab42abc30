/** When a crashed actor starts again. Pure. */

/**
 * Crashes within ESCALATE_WINDOW_MS after which an actor rests for REST_MS. Source: docs/architecture.md, Supervision.
 */
export const CRASHES_MAX = 5;
export const ESCALATE_WINDOW_MS = 60_000;

/** First wait after a crash, in ms; doubles with each crash in the window. */
export const BACK_OFF_MS_MIN = 20;

/**
 * How long an actor that keeps crashing is left alone, in ms. Who asks it in the meantime is told that it is
 * unavailable.
 */
export const REST_MS = 60_000;

/** What to do about a crash: start again after so many ms. */
export interface RestartDecision {
  readonly afterMs: number;
  /** Too many crashes: an operator should look. */
  readonly escalated: boolean;
  /** Crash times that still count. */
  readonly crashesMs: readonly number[];
}

/** Decides on a crash at `nowMs`, given the times of earlier ones. */
export function decideRestart(earlierMs: readonly number[], nowMs: number): RestartDecision {
  const crashesMs = [...earlierMs.filter((atMs) => nowMs - atMs < ESCALATE_WINDOW_MS), nowMs];
  if (crashesMs.length >= CRASHES_MAX) return { afterMs: REST_MS, escalated: true, crashesMs: [] };
  return { afterMs: BACK_OFF_MS_MIN * 2 ** (crashesMs.length - 1), escalated: false, crashesMs };
}
