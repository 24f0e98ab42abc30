/** Removes what the agent keeps, and not what is mounted among it. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getSystemErrorMessage } from 'node:util';
import { systemProblem } from './problem.ts';

/** Tries at a directory that fills while it is removed. */
const TRIES_MAX = 5;

/** Levels of a tree that are open at once. What lies deeper is moved up, and goes with the next try. */
const LEVELS_MAX = 200;

/** Characters of a path that are told: no system call gets to more at once. Source: PATH_MAX of limits.h. */
const TOLD_CHARACTERS_MAX = 4_096;

/**
 * Opens a place, and not what is there: a file system that hangs is not asked. Source: open(2); its value in fcntl.h,
 * which Node does not name, is the same wherever Node runs on Linux.
 */
const O_PATH = 0o10000000;

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * An open directory, by which all in it is named: a link that somebody puts into its place meanwhile leads nowhere, and
 * its path may be longer than a system call takes.
 */
interface Directory {
  readonly fd: number;
  /** Its path, for messages. A byte in each character, as names need not be UTF-8. */
  readonly place: string;
  /** Of the file system that is mounted here. */
  readonly mount: string;
  /** Levels below the directory that the tree is in. */
  readonly level: number;
  /** The tree's own directory. */
  readonly top: Directory | null;
}

/**
 * Removes what is at `path` with all below it, as far as it can: of what is mounted there nothing, whatever device it
 * is of. Links are followed up to the directory of `path`, and none below. Null: nothing is left. Else why something
 * is, such as another user's files, as the end of a sentence. Never throws.
 */
export function removeTree(path: string): string | null {
  const place = Buffer.from(dirname(path)).toString('latin1');
  try {
    return within(openSync(dirname(path), O_PATH | O_DIRECTORY), (fd) =>
      remove({ fd, place, mount: mountOf(fd), level: 0, top: null }, Buffer.from(basename(path)).toString('latin1')),
    );
  } catch (error) {
    return isMissing(error) ? null : told(place, error);
  }
}

/**
 * What an agent adds to the name of a file: not written to its end, the logs of a database, set aside with them. All
 * else that is named after the file is somebody's own.
 */
const VARIANT = /^(?:\.new|(?:\.damaged-.+?)?(?:-wal|-shm)?)$/u;

/** Removes the file at `path` as `removeTree` does, and its variants. */
export function removeFile(path: string): string | null {
  const directory = dirname(path);
  const name = basename(path);
  let problem: string | null = null;
  try {
    for (const other of readdirSync(directory))
      if (other.startsWith(name) && VARIANT.test(other.slice(name.length)))
        problem = removeTree(join(directory, other)) ?? problem;
    return problem;
  } catch (error) {
    return isMissing(error) ? null : `${directory}: ${systemProblem(error)}`;
  }
}

function remove(parent: Directory, name: string): string | null {
  const path = entry(parent, name);
  try {
    unlinkSync(path); // before anybody asks what it is: most are files
    return null;
  } catch (notUnlinked) {
    if (isMissing(notUnlinked)) return null;
    try {
      const directory = openDirectory(path);
      if (directory !== null) return within(directory, (fd) => removeDirectory(fd, parent, name));
      throw notUnlinked;
    } catch (error) {
      return isMissing(error) ? null : told(`${parent.place}/${name}`, error);
    }
  }
}

function removeDirectory(fd: number, parent: Directory, name: string): string | null {
  const place = `${parent.place}/${name}`;
  const mount = mountOf(fd);
  if (mount !== parent.mount) return mounted(place);
  const { level, top } = parent;
  if (level === LEVELS_MAX && top !== null) {
    renameSync(entry(parent, name), entry(top, randomBytes(12).toString('hex')));
    return null;
  }
  const directory = { fd, place, mount, level: level + 1 };
  return empty({ ...directory, top: top ?? { ...directory, top } }, () => rmdirSync(entry(parent, name)));
}

function empty(directory: Directory, removeEmpty: () => void): string | null {
  for (let tries = 1; ; tries += 1) {
    let problem: string | null = null;
    for (const name of readdirSync(`/proc/self/fd/${directory.fd}`, 'latin1'))
      problem = remove(directory, name) ?? problem;
    if (problem !== null) return problem;
    try {
      removeEmpty();
      return null;
    } catch (error) {
      if (codeOf(error) !== 'ENOTEMPTY' || tries === TRIES_MAX) throw error;
    }
  }
}

/** What `use` makes of a descriptor, which is closed then. */
function within<T>(fd: number, use: (fd: number) => T): T {
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/** Null where something else is, such as a link. */
function openDirectory(path: Buffer): number | null {
  try {
    return openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return null;
    throw error;
  }
}

function entry({ fd }: Directory, name: string): Buffer {
  return Buffer.from(`/proc/self/fd/${fd}/${name}`, 'latin1');
}

/** A directory that is bound elsewhere has its device, but no mount in common. Source: proc_pid_fdinfo(5). */
function mountOf(fd: number): string {
  const mount = /^mnt_id:\s*(\d+)$/mu.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
  if (mount === undefined) throw new Error('the system does not say what is mounted');
  return mount;
}

/** A file that is mounted is told by the system. */
function told(place: string, error: unknown): string {
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code === 'EBUSY') return mounted(place);
  // Node's own message names the descriptor
  const reason = errno === undefined ? error : { code, message: getSystemErrorMessage(errno) };
  return `${readable(place)}: ${systemProblem(reason)}`;
}

function mounted(place: string): string {
  return `${readable(place)} is a mount point`;
}

function readable(place: string): string {
  const path = Buffer.from(place, 'latin1').toString();
  return path.length > TOLD_CHARACTERS_MAX ? `${path.slice(0, TOLD_CHARACTERS_MAX)}…` : path;
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
