/** Files of this machine that are to go to others. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { EXIT, Problem } from '../problem.ts';
import { localDigest } from './bytes.ts';

/** Bits of a mode that say who may read, write and run it. */
const RIGHTS = 0o777;

/** A file, as it was when it was looked at. */
export interface LocalFile {
  readonly path: string;
  /** The last part of its path. */
  readonly name: string;
  readonly bytes: number;
  readonly mode: number;
  readonly sha256: string;
}

/** Looks at all of them. Rejects with a Problem for what is no file that can be read, and for two of one name. */
export async function localFiles(paths: readonly string[]): Promise<readonly LocalFile[]> {
  const looked = paths.map((path) => ({ path, name: basename(resolve(path)), ...lookAt(path) }));
  const names = new Set<string>();
  for (const { name } of looked) {
    if (names.has(name)) throw new Problem(`two of these files are called ${name}: push them one by one`, EXIT.usage);
    names.add(name);
  }
  return Promise.all(looked.map(async (file) => ({ ...file, sha256: await localDigest(file.path, file.bytes) })));
}

function lookAt(path: string): { readonly bytes: number; readonly mode: number } {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    throw new Problem(problemText(path, (error as NodeJS.ErrnoException).code), EXIT.usage);
  }
  try {
    const stats = fstatSync(descriptor);
    if (stats.isDirectory())
      throw new Problem(
        `${path} is a directory: pack it with tar, or copy it to one machine with edge cp -r`,
        EXIT.usage,
      );
    if (!stats.isFile()) throw new Problem(`${path} is no file that could be copied`, EXIT.usage);
    return { bytes: stats.size, mode: stats.mode & RIGHTS };
  } finally {
    closeSync(descriptor);
  }
}

function problemText(path: string, code: string | undefined): string {
  if (code === 'ENOENT') return `there is no file ${path}`;
  if (code === 'EACCES' || code === 'EPERM') return `no permission to read ${path}`;
  return `${path} cannot be read (${code ?? 'unknown error'})`;
}
