/** How long an update is watched in tests. */
import type { WatchTimes } from '../../../agent/updater/watch.ts';
import { scaled } from '../busy.ts';

/** In ms, instead of minutes. The deadline is for a machine that does other things too. */
export const TIMES: WatchTimes = {
  wellMs: 300,
  deadlineMs: scaled(20_000),
  limitMs: scaled(40_000),
  crashWindowMs: 30_000,
  staleMs: 3_000,
};

/** The same where a version is not to be well: soon after it started. */
export const SHORT_TIMES: WatchTimes = { ...TIMES, deadlineMs: scaled(5_000) };
