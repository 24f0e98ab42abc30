/** The start lock in an exec shim's directory: whoever makes it decides whether the exec shim ever starts something. */
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import { SHIM_FILES, UNSTARTED_SIGNAL } from './exec-shim-script.ts';
import { isOutOfFiles } from '../../problem.ts';
import { plainSize, readPlainSurely } from './plain-file.ts';

/** Longest start lock, in bytes: two numbers' worth beside an id. */
const LOCK_BYTES_MAX = 128;

/** What an exec shim writes into its start lock before it starts the script. */
export interface StartLock {
  /** Its process id, which is also that of its session and group. */
  readonly pid: number;
  readonly execution: ExecutionId;
}

/**
 * Makes the start lock in the exec shim's place. True: that exec shim never started anything, and never will. Throws
 * while no file can be opened.
 */
export function takeStartLock(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, SHIM_FILES.startLock), 'wx', 0o600));
    return true;
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
    // A directory that is gone cannot hold a running exec shim's start lock either.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * The exec shim's start lock; null when there is none, or it is just being written. Throws while no file can be opened.
 */
export function readStartLock(directory: string): StartLock | null {
  const text = readPlainSurely(join(directory, SHIM_FILES.startLock), 0, LOCK_BYTES_MAX)?.toString() ?? '';
  const [, pid, execution] = /^(\d+) (\S+)\n$/.exec(text) ?? [];
  const { data: named } = ExecutionId.safeParse(execution); // the script may have written anything else
  return named === undefined ? null : { pid: Number(pid), execution: named };
}

/** Whether the exec shim has made its start lock, as far as can be seen now. */
export function isStartLockMade(directory: string): boolean {
  return plainSize(join(directory, SHIM_FILES.startLock)) > 0;
}

/**
 * Whether an exec shim that `signal` ended, by its number, said with that that it has no start lock, and none is there:
 * it started nothing, and never will.
 */
export function saysUnstarted(directory: string, signal: number | null): boolean {
  return signal === constants.signals[UNSTARTED_SIGNAL] && !isStartLockMade(directory);
}
