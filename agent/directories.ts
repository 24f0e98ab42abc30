/** Makes directories. A file of its own: the program needs it before it loads anything else. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory, 0700, and those above that are missing; one that is there stays as it is. One after another:
 * Node's recursive mkdir never comes back where what was made is not there afterwards, as below /proc (seen).
 */
export function makeDirectories(path: string): void {
  if (isDirectory(path)) return;
  const above = dirname(path);
  if (above !== path) makeDirectories(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
