/** A disk that can be full, for tests. */
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, openSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * A file system of `kib` KiB, and of `files` files and directories where that is given, or null where this user may not
 * mount one; by default it is its own alone.
 */
export function smallDisk(t: ExecutionContext, kib: number, mode = 0o700, files?: number): string | null {
  const directory = temporaryDirectory(t);
  try {
    execFileSync(
      'mount',
      ['-t', 'tmpfs', '-o', `size=${kib}k${files === undefined ? '' : `,nr_inodes=${files}`}`, 'tmpfs', directory],
      { stdio: 'ignore' },
    );
  } catch {
    return null;
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', directory]);
  });
  chmodSync(directory, mode);
  return directory;
}

/** Fills the disk to the last byte, after `bytesFree` were kept free; the answer frees it again. */
export function fill(disk: string, bytesFree = 0): () => void {
  const [filler, reserve] = [join(disk, 'filler'), join(disk, 'reserve')];
  write(reserve, bytesFree);
  write(filler, Number.POSITIVE_INFINITY);
  rmSync(reserve);
  return () => rmSync(filler);
}

/** Makes files until the disk takes no further one, however much room it has; the answer removes them. */
export function fillWithFiles(disk: string): () => void {
  const made: string[] = [];
  try {
    for (;;) {
      const path = join(disk, `filler-${made.length}`);
      closeSync(openSync(path, 'wx'));
      made.push(path);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  return () => {
    for (const path of made) rmSync(path);
  };
}

/**
 * As on a full disk, without one: whatever is written to this path is refused for want of room, until the answer is
 * called.
 */
export function fillAt(path: string): () => void {
  symlinkSync('/dev/full', path);
  return () => rmSync(path);
}

function write(path: string, bytes: number): void {
  const file = openSync(path, 'w');
  const piece = Buffer.alloc(4_096);
  try {
    for (let written = 0; written < bytes;) written += writeSync(file, piece);
  } catch {
    // full: as wanted
  } finally {
    closeSync(file);
  }
}
