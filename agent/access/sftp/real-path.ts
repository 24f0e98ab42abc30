/** Absolute paths without symbolic links, as bytes. */
import { readlinkSync, realpathSync } from 'node:fs';

/** Symbolic links that one REALPATH follows by itself. Source: the kernel's own limit (MAXSYMLINKS). */
const LINKS_MAX = 40;

const SLASH_BYTE = 0x2f;
const SLASH = Buffer.from('/');
const HERE = Buffer.from('.');
const UP = Buffer.from('..');

/**
 * The absolute path of what `path` leads to, from the working directory. What does not exist (yet) gets the path that
 * it would have: the part that exists is resolved, the rest is taken by its words. Throws the system's error where a
 * directory may not be searched.
 */
export function realPath(path: Buffer, linksLeft = LINKS_MAX): Buffer {
  try {
    return realpathSync.native(path.length === 0 ? HERE : path, 'buffer');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const { parent, name } = split(path);
    // the working directory itself is gone
    if (name.length === 0 || (parent.equals(HERE) && name.equals(HERE))) throw error;
    const target = linksLeft > 0 ? targetOf(path) : null;
    if (target !== null) return realPath(isAbsolute(target) ? target : join(parent, target), linksLeft - 1);
    const above = realPath(parent, linksLeft);
    if (name.equals(HERE)) return above;
    return name.equals(UP) ? split(above).parent : join(above, name);
  }
}

/** What a link says that leads nowhere, or null of what is none. */
function targetOf(path: Buffer): Buffer | null {
  try {
    return readlinkSync(path, 'buffer');
  } catch {
    return null;
  }
}

/** The last name and what stands before it. Without a slash that is the working directory. */
function split(path: Buffer): { parent: Buffer; name: Buffer } {
  let end = path.length;
  while (end > 0 && path[end - 1] === SLASH_BYTE) end -= 1;
  const slash = path.subarray(0, end).lastIndexOf(SLASH_BYTE);
  const name = path.subarray(slash + 1, end);
  if (slash === -1) return { parent: HERE, name };
  return { parent: slash === 0 ? SLASH : path.subarray(0, slash), name };
}

function isAbsolute(path: Buffer): boolean {
  return path[0] === SLASH_BYTE;
}

function join(parent: Buffer, name: Buffer): Buffer {
  return Buffer.concat(parent.at(-1) === SLASH_BYTE ? [parent, name] : [parent, SLASH, name]);
}
