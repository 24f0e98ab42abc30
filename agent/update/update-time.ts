/** Whether this machine is being updated now: what a SIGTERM of the agent means. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { isAnnounced } from './announced.ts';
import type { UpdateRecord } from './update-records.ts';

/**
 * An update that was accepted, and of which nothing was heard since, counts as under way for so long, in ms: Watchtower
 * writes no file, and gives an update 10 minutes.
 */
export const OWN_UPDATE_MS_MAX = 600_000;

/** What it is judged by. */
export interface UpdateTimeSources {
  /** Where the updater's file is. */
  readonly updating: string;
  readonly records: readonly UpdateRecord[];
  /** Of this agent: one that came back with another one was updated. */
  readonly version: string;
  /** Unix time, in ms. */
  readonly nowMs: number;
}

/** True from the time at which an update may end this agent until it has, or cannot be meant any more. Never throws. */
export function isUpdateTime({ updating, records, version, nowMs }: UpdateTimeSources): boolean {
  return (
    isAnnounced(updating, nowMs) ||
    records.some(
      ({ state, outcome, from, at_ms: atMs }) =>
        state !== 'refused' &&
        outcome === null &&
        from === version &&
        nowMs >= atMs &&
        nowMs < atMs + OWN_UPDATE_MS_MAX,
    )
  );
}

/** A file of more bytes says no reason. */
const FILE_BYTES_MAX = 4_096;

/** Of a pin that says why, so many characters are told. */
const PIN_CHARS_MAX = 200;

/**
 * What an operator wrote into the file that keeps this machine at its version: its first line, which may be empty.
 * Null: there is none.
 */
export function pinOf(path: string): string | null {
  try {
    if (!existsSync(path)) return null;
    const { size } = statSync(path);
    return size > FILE_BYTES_MAX
      ? ''
      : (readFileSync(path, 'utf8').split('\n')[0] ?? '').trim().slice(0, PIN_CHARS_MAX);
  } catch {
    return ''; // it is there, and that is enough
  }
}
