/** The size of a page of memory, which the kernel counts in here and there. */
import type { HostFiles } from './files.ts';

/** The entry of the auxiliary vector that holds it. Source: getauxval(3), AT_PAGESZ. */
const AT_PAGESZ = 6n;

/** In bytes; null where this process may not see its own auxiliary vector. */
export function pageBytesOf(host: HostFiles): number | null {
  const vector = Buffer.from(host.proc('self/auxv', 'latin1'), 'latin1');
  for (let at = 0; at + 16 <= vector.length; at += 16)
    if (vector.readBigUInt64LE(at) === AT_PAGESZ) return Number(vector.readBigUInt64LE(at + 8));
  return null;
}
