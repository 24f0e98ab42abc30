/** Files of keys in DATA_DIR, for an admin that was given none: made once, replaced as a whole. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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
    writeFileSync(file, content);
    fsyncSync(file);
    linkSync(unfinished, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error; // else another start was faster, and its key counts
  } finally {
    closeSync(file);
    rmSync(unfinished, { force: true });
  }
  syncDirectory(path);
}

/**
 * Puts this content in the place of what the file at `path` holds, or makes it: for the owner of `like` alone. After a
 * crash it is the one or the other, and synced. Throws what the file system says.
 */
export function replaceKeyFile(path: string, content: string, like: string): void {
  const unfinished = `${path}.new-${randomBytes(6).toString('hex')}`;
  const { uid, gid } = statSync(like);
  const file = openSync(unfinished, 'wx', 0o600);
  try {
    if (process.getuid?.() === 0) fchownSync(file, uid, gid); // run by root, for the account of the admin
    writeFileSync(file, content);
    fsyncSync(file);
    renameSync(unfinished, path);
  } finally {
    closeSync(file);
    rmSync(unfinished, { force: true });
  }
  syncDirectory(path);
}

/** The name itself. */
function syncDirectory(path: string): void {
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Whether the file system says this. */
export function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
