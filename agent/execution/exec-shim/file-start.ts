/** The beginning of a small file in an exec shim's directory. */
import { closeSync, openSync, readSync } from 'node:fs';

/** What such a file says is shorter, in bytes. */
const START_BYTES = 16;

/** Null where there is no file: also where the script put something else there. */
export function readStart(path: string): string | null {
  let handle: number | null = null;
  try {
    handle = openSync(path, 'r');
    const buffer = Buffer.alloc(START_BYTES);
    return buffer.toString('latin1', 0, readSync(handle, buffer));
  } catch {
    return null;
  } finally {
    if (handle !== null) closeSync(handle);
  }
}
