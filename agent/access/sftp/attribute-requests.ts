/** Requests that change what a file is: SETSTAT, FSETSTAT and lsetstat@openssh.com. */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  openSync,
  utimesSync,
} from 'node:fs';
import { readAttributes, type WantedAttributes } from './attributes.ts';
import { STATUS } from './codes.ts';
import { MODE_BITS } from './file-requests.ts';
import { readPath, type Request } from './request.ts';
import { RequestProblem } from './status.ts';

/**
 * Opens a file only to name it: no permission on it is needed, and a symbolic link is not followed with O_NOFOLLOW.
 * Source: Linux, asm-generic/fcntl.h.
 */
const O_PATH = 0o10_000_000;

/** How each attribute is set. */
interface Setters {
  size(bytes: number): void;
  owner(uid: number, gid: number): void;
  permissions(mode: number): void;
  times(accessed: number, modified: number): void;
}

/** SETSTAT: of what a symbolic link leads to. */
export function setAttributes({ fields }: Request): void {
  const path = readPath(fields);
  apply(readAttributes(fields), {
    size: (bytes) => truncate(path, bytes),
    owner: (uid, gid) => chownSync(path, uid, gid),
    permissions: (mode) => chmodSync(path, mode),
    times: (accessed, modified) => utimesSync(path, accessed, modified),
  });
}

/** FSETSTAT. */
export function setHandleAttributes({ fields, handles }: Request): void {
  const descriptor = handles.descriptor(fields.bytes());
  apply(readAttributes(fields), {
    size: (bytes) => ftruncateSync(descriptor, bytes),
    owner: (uid, gid) => fchownSync(descriptor, uid, gid),
    permissions: (mode) => fchmodSync(descriptor, mode),
    times: (accessed, modified) => futimesSync(descriptor, accessed, modified),
  });
}

/** lsetstat@openssh.com: of a symbolic link itself. */
export function setLinkAttributes({ fields }: Request): void {
  const path = readPath(fields);
  apply(readAttributes(fields), {
    size: () => {
      throw new RequestProblem(STATUS.failure, 'a symbolic link has no size that could be set');
    },
    owner: (uid, gid) => lchownSync(path, uid, gid),
    permissions: (mode) => changeLinkMode(path, mode),
    times: (accessed, modified) => lutimesSync(path, accessed, modified),
  });
}

/**
 * Sets what is wanted, and all of it that can be set: the first problem is thrown at the end, as clients that may not
 * set an owner still want times. The owner comes before the mode, since a change of owner clears bits of it, and times
 * come last.
 */
function apply(wanted: WantedAttributes, setters: Setters): void {
  const problems: unknown[] = [];
  const attempt = (change: () => void) => {
    try {
      change();
    } catch (error) {
      problems.push(error);
    }
  };
  const { size, owner, permissions, times } = wanted;
  if (size !== undefined) attempt(() => setters.size(checkedSize(size)));
  if (owner !== undefined) attempt(() => setters.owner(owner.uid, owner.gid));
  if (permissions !== undefined) attempt(() => setters.permissions(permissions & MODE_BITS));
  if (times !== undefined) attempt(() => setters.times(times.accessed, times.modified));
  if (problems.length > 0) throw problems[0];
}

function checkedSize(size: number): number {
  if (!Number.isSafeInteger(size)) throw new RequestProblem(STATUS.failure, 'no file can be that long');
  return size;
}

/** Like truncate(2), but it does not wait for the other end of a pipe. */
function truncate(path: Buffer, bytes: number): void {
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    ftruncateSync(descriptor, bytes);
  } finally {
    closeSync(descriptor);
  }
}

/** Linux has no mode of symbolic links, and no call for the mode of what is surely none but this way round. */
function changeLinkMode(path: Buffer, mode: number): void {
  if (lstatSync(path).isSymbolicLink())
    throw new RequestProblem(STATUS.unsupported, 'symbolic links have no mode on this system');
  const descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    chmodSync(`/proc/self/fd/${descriptor}`, mode);
  } finally {
    closeSync(descriptor);
  }
}
