/**
 * A text file of others, changed in place: a hosts file is often mounted into a container by itself and cannot be
 * replaced by a rename (EBUSY, tried). Only bytes from the first difference on are written.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemProblem } from '../../problem.ts';
import { FILE_BYTES_MAX, FILE_LOCK_MS_MAX } from './limits.ts';

/** How it went: null, or why the file is as it was, as the end of a sentence. */
export type Edited = string | null;

/** Wait before a lock that another one has is tried again, in ms. */
const LOCK_RETRY_MS = 5;

/**
 * Changes the file to what `change` makes of it (latin1). Agents of one machine do so one after another. Never rejects;
 * on a failure the old content stands.
 */
export async function editFile(path: string, change: (text: string) => string): Promise<Edited> {
  try {
    if (changed(path, change) === null) return null; // nothing to do: the usual case, and no lock is taken
    const unlock = await lockOf(path);
    try {
      const difference = changed(path, change);
      if (difference !== null) replace(path, difference);
      return null;
    } finally {
      unlock();
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : systemProblem(error);
  }
}

/** Old and new content. */
interface Difference {
  readonly before: string;
  readonly after: string;
}

function changed(path: string, change: (text: string) => string): Difference | null {
  const before = contentOf(path);
  const after = change(before);
  return before === after ? null : { before, after };
}

function contentOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (size > FILE_BYTES_MAX) throw new Error(`it is larger than ${FILE_BYTES_MAX} bytes`);
    const bytes = Buffer.alloc(size);
    const length = size === 0 ? 0 : readSync(file, bytes, 0, size, 0);
    return bytes.toString('latin1', 0, length);
  } finally {
    closeSync(file);
  }
}

function replace(path: string, { before, after }: Difference): void {
  const file = openSync(path, 'r+');
  try {
    try {
      overwrite(file, before, after);
    } catch (error) {
      overwrite(file, after, before); // a full disk takes back what it had
      throw error;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function overwrite(file: number, before: string, after: string): void {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at += 1;
  const bytes = Buffer.from(after.slice(at), 'latin1');
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, at + done);
  ftruncateSync(file, after.length);
}

/**
 * A file that says that somebody writes. One that is old was left by a crash; where none can be made, or somebody has
 * put another thing there, it goes without.
 */
async function lockOf(path: string): Promise<() => void> {
  const lock = join(tmpdir(), `edge-agent-names-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.lock`);
  const deadlineMs = performance.now() + FILE_LOCK_MS_MAX;
  for (;;) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      return () => {
        removed(lock);
      };
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
      if (!isTaken || performance.now() > deadlineMs || (isOld(lock) && !removed(lock))) return () => {};
      await sleep(LOCK_RETRY_MS);
    }
  }
}

function isOld(lock: string): boolean {
  const made = lstatSync(lock, { throwIfNoEntry: false });
  return made !== undefined && Date.now() - made.mtimeMs > FILE_LOCK_MS_MAX;
}

function removed(lock: string): boolean {
  try {
    rmSync(lock, { force: true });
    return true;
  } catch {
    return false; // a directory, or another user's
  }
}
