/** Whether a new version is good: judged from what was seen since its start, as a pure function. */
import type { Health } from './health.ts';

/** It has to be well for so long without a break, in ms. */
export const WELL_MS = 60_000;

/** It has to be so within this, in ms: time in which nobody here reaches an admin does not count. */
export const DEADLINE_MS = 300_000;

/** After this it is taken back whoever is to blame, in ms. */
export const LIMIT_MS = 1_800_000;

/** So many starts within so long are a crash loop, in ms. */
export const CRASH_STARTS = 3;
export const CRASH_WINDOW_MS = 30_000;

/** health.json that was not written for so long is of an agent that hangs or is gone, in ms: it is written each 5 s. */
export const STALE_MS = 20_000;

/**
 * Of the time between two looks no more than this counts, in ms: it looks once a second, so that whoever looks later
 * stood still, as its container or its machine did, and saw nothing of the agent meanwhile. One that is always late
 * comes to a verdict all the same.
 */
export const LOOKS_APART_MS_MAX = 10_000;

/** How long each of them takes; tests shorten them. */
export interface WatchTimes {
  readonly wellMs: number;
  readonly deadlineMs: number;
  readonly limitMs: number;
  readonly crashWindowMs: number;
  readonly staleMs: number;
}

/** As machines have them. */
export const WATCH_TIMES: WatchTimes = {
  wellMs: WELL_MS,
  deadlineMs: DEADLINE_MS,
  limitMs: LIMIT_MS,
  crashWindowMs: CRASH_WINDOW_MS,
  staleMs: STALE_MS,
};

/** What is watched for. */
export interface Watched {
  /** The version that should run now. */
  readonly version: string;
  /** What was wrong with the agent's services before: not the new version's fault. */
  readonly problems: readonly string[];
}

/** One look. Times are of a monotonic clock, in ms. */
export interface Look {
  readonly nowMs: number;
  /** What health.json says; null: nothing that can be read. */
  readonly health: Health | null;
  /** When it was written last, as far as was seen; null: not since the watch began. */
  readonly writtenMs: number | null;
  /** Starts of the agent that the launcher noted within the crash window. */
  readonly starts: number;
  /** Whether this machine reaches an admin or a mirror; null: not asked yet. */
  readonly isReachable: boolean | null;
}

/** What was seen so far. */
export interface Watching {
  /** Moved on by the time in which nobody looked, as is `wellSinceMs`. */
  readonly beganMs: number;
  readonly lookedMs: number;
  /** Time that counts towards the deadline, in ms. */
  readonly countedMs: number;
  /** Since when it is well; null: it is not. */
  readonly wellSinceMs: number | null;
  /** The connection that it is well by: another one begins anew. */
  readonly connectedSince: number | null;
  /** When each start was seen that health.json told of. */
  readonly startsMs: readonly number[];
  readonly start: string | null;
}

/** Go on watching, commit, or go back and why. */
export type Verdict =
  | { readonly verdict: 'wait' }
  | { readonly verdict: 'good' }
  | { readonly verdict: 'bad'; readonly reason: string };

/** At the restart of the agent. */
export function beginWatching(nowMs: number): Watching {
  return {
    beganMs: nowMs,
    lookedMs: nowMs,
    countedMs: 0,
    wellSinceMs: null,
    connectedSince: null,
    startsMs: [],
    start: null,
  };
}

/** What one look adds, and what follows from all. */
export function judge(
  before: Watching,
  look: Look,
  watched: Watched,
  times: WatchTimes = WATCH_TIMES,
): { readonly watching: Watching; readonly verdict: Verdict } {
  const watching = seen(before, look, watched, times);
  return { watching, verdict: verdictOf(watching, look, watched, times) };
}

function seen(before: Watching, look: Look, watched: Watched, times: WatchTimes): Watching {
  const { nowMs, health } = look;
  const isWell = isFresh(look, times) && health !== null && ailment(health, watched) === null;
  const isSameConnection = before.connectedSince === health?.connected_since;
  const start = health === null || look.writtenMs === null ? before.start : `${health.pid} ${health.started_at}`;
  const startsMs = start === before.start ? before.startsMs : [...before.startsMs, nowMs];
  const passedMs = Math.min(nowMs - before.lookedMs, LOOKS_APART_MS_MAX);
  const stoodMs = nowMs - before.lookedMs - passedMs;
  const wellSinceMs = before.wellSinceMs === null ? nowMs : before.wellSinceMs + stoodMs;
  return {
    ...before,
    beganMs: before.beganMs + stoodMs,
    lookedMs: nowMs,
    countedMs: before.countedMs + (stands(look, watched, times) ? 0 : passedMs),
    wellSinceMs: isWell ? (isSameConnection ? wellSinceMs : nowMs) : null,
    connectedSince: isWell ? health.connected_since : null,
    start,
    startsMs: startsMs.filter((atMs) => nowMs - atMs <= times.crashWindowMs),
  };
}

/** Whether nothing can be held against the version now: it lives, and nobody on this machine reaches anybody. */
function stands(look: Look, watched: Watched, times: WatchTimes): boolean {
  const isAlive = isFresh(look, times) && look.health?.version === watched.version;
  return isAlive && look.health?.connected_since === null && look.isReachable === false;
}

function verdictOf(watching: Watching, look: Look, watched: Watched, times: WatchTimes): Verdict {
  const starts = Math.max(look.starts, watching.startsMs.length);
  if (starts >= CRASH_STARTS)
    return bad(`it started ${starts} times within ${times.crashWindowMs / 1_000} s, so it crashes`);
  if (watching.wellSinceMs !== null && look.nowMs - watching.wellSinceMs >= times.wellMs) return { verdict: 'good' };
  const why = complaint(look, watched, times);
  if (watching.countedMs >= times.deadlineMs)
    return bad(`it was not well within ${times.deadlineMs / 1_000} s: ${why}`);
  if (look.nowMs - watching.beganMs >= times.limitMs)
    return bad(
      `it was not well within ${times.limitMs / 1_000} s, in which this machine reached no admin either: ${why}`,
    );
  return { verdict: 'wait' };
}

function complaint(look: Look, watched: Watched, times: WatchTimes): string {
  if (look.health === null || look.writtenMs === null) return 'the agent did not say how it is (health.json)';
  if (!isFresh(look, times))
    return `the agent stopped saying how it is (health.json), for ${times.staleMs / 1_000} s and more`;
  return ailment(look.health, watched) ?? 'it was well for too short a time';
}

/** What is wrong with an agent that says how it is; null: nothing that was not wrong before. */
function ailment(health: Health, { version, problems }: Watched): string | null {
  if (health.version !== version) return `the agent that runs is ${health.version}`;
  if (health.connected_since === null) return 'the agent is not connected to an admin';
  if (health.last_answer_at === null) return 'no admin answered the agent';
  const known = new Set(problems.map(withoutFigures));
  const news = health.problems.filter((problem) => !known.has(withoutFigures(problem)));
  if (!health.services_ok && news.length > 0)
    return `a service of the agent has a problem: ${news.join('; ').slice(0, 1_024)}`;
  return null;
}

/** What is wrong, without what changes by itself: how many MiB are free, a port, a time. Cut as it is kept. */
function withoutFigures(problem: string): string {
  return problem.slice(0, 512).replaceAll(/\d+/gu, '0');
}

function isFresh({ writtenMs, nowMs }: Look, { staleMs }: WatchTimes): boolean {
  return writtenMs !== null && nowMs - writtenMs <= staleMs;
}

function bad(reason: string): Verdict {
  return { verdict: 'bad', reason };
}
