/** A key that is made once, into a file of DATA_DIR, for an admin that was given none. */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What the file at `path` holds, trimmed. At the first call that is what `make` makes: it appears whole or not at all,
 * is synced with its directory, and only its owner can read it. Of several that make it at the same moment one counts.
 * Throws what the file system says.
 */
export function keyFileOf(path: string, make: () => string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  create(path, `${make()}\n`);
  return readFileSync(path, 'utf8').trim();
}

function create(path: string, content: string): void {
  const unfinished = `${path}.new-${randomBytes(6).toString('hex')}`;
  const file = openSync(unfinished, 'wx', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
    linkSync(unfinished, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error; // else another start was faster, and its key counts
  } finally {
    closeSync(file);
    rmSync(unfinished, { force: true });
  }
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory); // the name itself
  } finally {
    closeSync(directory);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
