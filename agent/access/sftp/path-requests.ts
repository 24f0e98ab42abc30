/** Requests about names: STAT, LSTAT, REMOVE, RENAME, LINK, SYMLINK, READLINK, REALPATH. */
import { linkSync, lstatSync, readlinkSync, renameSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { STATUS } from './codes.ts';
import { realPath } from './real-path.ts';
import { readPath, type Request } from './request.ts';
import { RequestProblem } from './status.ts';

/** STAT: of what a symbolic link leads to. */
export function stat({ fields, answers, number }: Request): void {
  answers.attributes(number, statSync(readPath(fields)));
}

/** LSTAT: of a symbolic link itself. */
export function statLink({ fields, answers, number }: Request): void {
  answers.attributes(number, lstatSync(readPath(fields)));
}

/** REMOVE: of anything but a directory. */
export function remove({ fields }: Request): void {
  unlinkSync(readPath(fields));
}

/** RENAME: refuses a new name that exists. */
export function rename({ fields }: Request): void {
  const [from, to] = [readPath(fields), readPath(fields)];
  if (lstatSync(from).isFile() && isMovedByLink(from, to)) return;
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined)
    throw new RequestProblem(STATUS.failure, 'the new name exists already');
  renameSync(from, to);
}

/** posix-rename@openssh.com: what has the new name is replaced, at once. */
export function renameOver({ fields }: Request): void {
  const [from, to] = [readPath(fields), readPath(fields)];
  renameSync(from, to);
}

/** hardlink@openssh.com. */
export function link({ fields }: Request): void {
  const [from, to] = [readPath(fields), readPath(fields)];
  linkSync(from, to);
}

/**
 * SYMLINK. The draft has the link first and what it says second; OpenSSH sends them the other way round, and so does
 * everybody since.
 */
export function makeLink({ fields }: Request): void {
  const [target, path] = [readPath(fields), readPath(fields)];
  symlinkSync(target, path);
}

/** READLINK: answers with what the link says. */
export function readLink({ fields, answers, number }: Request): void {
  answers.name(number, readlinkSync(readPath(fields), 'buffer'));
}

/** REALPATH: answers with the absolute path without symbolic links. */
export function resolvePath({ fields, answers, number }: Request): void {
  answers.name(number, realPath(readPath(fields)));
}

/**
 * Renames a file without a moment in which somebody else's file of the new name could be lost: rename(2) alone would
 * replace it.
 * Returns whether it did; where links are not possible (some file systems, files of others) only the way with that
 * moment is left.
 */
function isMovedByLink(from: Buffer, to: Buffer): boolean {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new RequestProblem(STATUS.failure, 'the new name exists already');
    if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS' || code === 'EMLINK')
      return false;
    throw error;
  }
  try {
    unlinkSync(from);
  } catch (error) {
    unlinkSync(to); // both names or one, but never two by accident
    throw error;
  }
  return true;
}
