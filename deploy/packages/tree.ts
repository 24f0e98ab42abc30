/** Writes the files of a package below a directory, the same bytes, rights and times each time. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { PackedFile } from './contents.ts';

/** Writes them. `timeMs` is what they are said to be changed at. */
export function writeTree(
  root: string,
  files: readonly PackedFile[],
  directories: readonly string[],
  timeMs: number,
): void {
  for (const directory of directories) makeDirectory(join(root, directory));
  for (const { path, content, mode = 0o644 } of files) {
    const place = join(root, path);
    makeDirectory(dirname(place));
    if ('link' in content) {
      symlinkSync(content.link, place);
      continue;
    }
    if ('file' in content) copyFileSync(content.file, place);
    else writeFileSync(place, 'text' in content ? content.text : content.bytes);
    chmodSync(place, mode);
  }
  setTimes(root, timeMs);
}

/** The files of a directory as files of a package, below another path. Links stay links. */
export function filesBelow(directory: string, path: string): readonly PackedFile[] {
  // not recursive by itself: that follows links to directories
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry): readonly PackedFile[] => {
      const [place, target] = [join(directory, entry.name), join(path, entry.name)];
      if (entry.isDirectory()) return filesBelow(place, target);
      if (entry.isSymbolicLink()) return [{ path: target, content: { link: readlinkSync(place) } }];
      return [{ path: target, content: { file: place }, mode: isExecutable(place) ? 0o755 : 0o644 }];
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** SHA-256 or MD5 of a file, in hexadecimal digits. */
export function hashOf(file: string, algorithm: 'sha256' | 'md5' = 'sha256'): string {
  return createHash(algorithm).update(readFileSync(file)).digest('hex');
}

/** Sizes of all files below a directory, in bytes. */
export function bytesBelow(directory: string): number {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function isExecutable(file: string): boolean {
  return (statSync(file).mode & 0o100) !== 0;
}

/** All that are missing on the way, with the rights that directories of a system have, whatever umask is. */
function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  for (let directory = path; directory.startsWith(first); directory = dirname(directory)) chmodSync(directory, 0o755);
}

/** Deepest first: writing into a directory changes its time. */
function setTimes(root: string, timeMs: number): void {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted((a, b) => b.length - a.length);
  for (const path of [...paths.map((path) => join(root, path)), root])
    lutimesSync(path, timeMs / 1_000, timeMs / 1_000);
}
