/** Removes what the agent keeps, and not what is mounted among it. */
import { lstatSync, readFileSync, readdirSync, realpathSync, rmdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemProblem } from './problem.ts';

/** Tries at a directory that fills while it is removed. */
const TRIES_MAX = 5;

/**
 * Removes what is at `path` with all below it, as far as it can: of what is mounted there nothing, whatever device it is
 * of. Null: nothing is left. Else why something is, such as another user's files, as the end of a sentence. Never throws.
 */
export function removeTree(path: string): string | null {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    return remove(Buffer.from(place).toString('latin1'), mountPoints());
  } catch (error) {
    return isMissing(error) ? null : systemProblem(error);
  }
}

/**
 * Removes the file at `path` as `removeTree` does, and those that are named after it: the logs of a database, one that was
 * not written to its end (`.new`), one that was set aside.
 */
export function removeWithVariants(path: string): string | null {
  const directory = dirname(path);
  const name = basename(path);
  let problem: string | null = null;
  try {
    for (const other of readdirSync(directory))
      if (other === name || other.startsWith(`${name}.`) || other.startsWith(`${name}-`))
        problem = removeTree(join(directory, other)) ?? problem;
    return problem;
  } catch (error) {
    return isMissing(error) ? null : `${directory}: ${systemProblem(error)}`;
  }
}

/** `place` has a byte in each character: names need not be UTF-8. */
function remove(place: string, mounts: ReadonlySet<string>): string | null {
  const path = Buffer.from(place, 'latin1');
  if (mounts.has(place)) return `${path.toString()} is a mount point`;
  try {
    if (lstatSync(path).isDirectory()) return removeDirectory(place, mounts);
    unlinkSync(path);
    return null;
  } catch (error) {
    return isMissing(error) ? null : `${path.toString()}: ${systemProblem(error)}`;
  }
}

function removeDirectory(place: string, mounts: ReadonlySet<string>): string | null {
  const path = Buffer.from(place, 'latin1');
  for (let tries = 1; ; tries += 1) {
    let problem: string | null = null;
    for (const name of readdirSync(path, 'latin1')) problem = remove(`${place}/${name}`, mounts) ?? problem;
    if (problem !== null) return problem;
    try {
      rmdirSync(path);
      return null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || tries === TRIES_MAX) throw error;
    }
  }
}

/** All of this process's file systems. Source: proc_pid_mountinfo(5), field 5; blanks and the like are octal there. */
function mountPoints(): ReadonlySet<string> {
  const lines = readFileSync('/proc/self/mountinfo', 'latin1').split('\n');
  return new Set(
    lines.map((line) =>
      (line.split(' ', 5)[4] ?? '').replaceAll(/\\(\d{3})/gu, (_, octal: string) =>
        String.fromCodePoint(Number.parseInt(octal, 8)),
      ),
    ),
  );
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
