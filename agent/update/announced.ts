/** Whether an updater says that it ends this agent now. Apart from the rest, as every agent asks it when it stops. */
import { readFileSync, statSync } from 'node:fs';

/**
 * An `until` that is further away than this, in ms, is no time of this machine's clock, or of no updater of ours:
 * theirs is over after 30 minutes at most.
 */
const UPDATING_MS_MAX = 3_600_000;

/** A file larger than this is none of the updater, in bytes. */
const FILE_BYTES_MAX = 4_096;

/**
 * What the updater writes before it restarts the agent. `until` is Unix time in ms. Of anybody until it was looked at.
 */
interface Updating {
  readonly from: unknown;
  readonly to: unknown;
  readonly until: unknown;
}

/** Reads the updater's file at `path`. One that is missing, damaged or out of date announces nothing. Never throws. */
export function isAnnounced(path: string, nowMs: number): boolean {
  try {
    if (statSync(path).size > FILE_BYTES_MAX) return false;
    const { from, to, until: untilMs } = JSON.parse(readFileSync(path, 'utf8')) as Updating;
    if (typeof from !== 'string' || typeof to !== 'string' || typeof untilMs !== 'number') return false;
    return nowMs < untilMs && untilMs <= nowMs + UPDATING_MS_MAX;
  } catch {
    return false; // none, or none that says anything
  }
}
