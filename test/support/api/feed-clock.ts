/** The time of feeds: their timers are due when a test moves it. */
import type { Clock } from '../../../actors/ports.ts';

/** A clock that stands still until it is moved. */
export interface FeedClock extends Clock {
  advance(ms: number): void;
  /** What it says goes back; what waits does so no longer than before. */
  setBack(ms: number): void;
}

/** It begins at an arbitrary time. */
export function createFeedClock(): FeedClock {
  let nowMs = 1_000_000;
  let timers: { readonly atMs: number; readonly run: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    after(ms, run) {
      const timer = { atMs: nowMs + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    setBack(ms) {
      nowMs -= ms;
      timers = timers.map((timer) => ({ ...timer, atMs: timer.atMs - ms }));
    },
    advance(ms) {
      nowMs += ms;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { run } of due) run();
    },
  };
}
