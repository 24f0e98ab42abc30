/** What is read of the files by which a machine finds names: others own them, and may have made anything of them. */
import { closeSync, openSync, readSync } from 'node:fs';
import { RESOLUTION_BYTES_MAX } from '../limits.ts';

/** A file, or as much of it as is read, as latin1; `isWhole`: there is no more. Throws as the system does. */
export function beginningOf(path: string): { readonly text: string; readonly isWhole: boolean } {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(RESOLUTION_BYTES_MAX + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    return {
      text: bytes.toString('latin1', 0, Math.min(length, RESOLUTION_BYTES_MAX)),
      isWhole: length <= RESOLUTION_BYTES_MAX,
    };
  } finally {
    closeSync(file);
  }
}
