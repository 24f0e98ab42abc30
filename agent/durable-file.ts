/** Files that are whole after any crash: the old content or the new, never a piece. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Replaces the file at `path`, readable by its owner only. Durable on return; throws what the file system says, with
 * the old content in place.
 */
export function writeDurably(path: string, content: string): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeFileSync(file, content); // all of it, also where a disk that is almost full takes a piece
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory); // the rename itself
  } finally {
    closeSync(directory);
  }
}

/**
 * The same without waiting for the disk: for what says how things are now, and is made anew after a power cut. Readers
 * see the old content or the new.
 */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}
