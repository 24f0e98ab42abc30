/** Changes of the disk that are whole after any crash: the old or the new, never a piece. */
import { closeSync, fsyncSync, openSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Makes what was renamed, made or removed in a directory last. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Writes a file of a version, readable by everybody: the agent may be another user. Durable once its directory is. */
export function writeSynced(path: string, content: string, mode = 0o644): void {
  const file = openSync(path, 'w', mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a symbolic link by one rename. Durable on return. */
export function replaceLink(path: string, target: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true }); // of a process that was killed
  symlinkSync(target, temporary);
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** The last part of where a link leads; null where there is none. */
export function linkedName(path: string): string | null {
  try {
    return basename(readlinkSync(path));
  } catch {
    return null;
  }
}
