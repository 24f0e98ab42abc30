/**
 * Files in an exec shim's directory. A script finds that directory, and may put anything in their place: what is no
 * plain file is as none, and nothing waits for whoever is behind it.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, writeSync } from 'node:fs';
import { isOutOfFiles } from '../../problem.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** At most so many bytes of it from `offset` on; null where there is none, or no file can be opened now. */
export function readPlain(path: string, offset: number, bytesMax: number): Buffer | null {
  try {
    return readPlainSurely(path, offset, bytesMax);
  } catch {
    return null;
  }
}

/** The same where it matters that there is none: throws while no file can be opened. */
export function readPlainSurely(path: string, offset: number, bytesMax: number): Buffer | null {
  return onPlain(path, O_RDONLY, (handle) => {
    const buffer = Buffer.allocUnsafe(bytesMax);
    return buffer.subarray(0, readSync(handle, buffer, 0, bytesMax, offset));
  });
}

/** Its length in bytes; 0 where there is none. */
export function plainSize(path: string): number {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() === true ? stat.size : 0;
  } catch {
    return 0;
  }
}

/** Whether it is there, with nothing in it. */
export function isEmptyPlain(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() === true && stat.size === 0;
  } catch {
    return false;
  }
}

/** Replaces what it says. Does nothing where that cannot be. */
export function writePlain(path: string, text: string): void {
  try {
    onPlain(path, O_WRONLY | O_CREAT | O_TRUNC, (handle) => writeSync(handle, text));
  } catch {
    // no file can be opened now
  }
}

function onPlain<T>(path: string, flags: number, work: (handle: number) => T): T | null {
  let handle: number | null = null;
  try {
    handle = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
    return fstatSync(handle).isFile() ? work(handle) : null;
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
    return null;
  } finally {
    if (handle !== null) closeSync(handle);
  }
}
