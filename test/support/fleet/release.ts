/** Programs of an earlier release, out of the history of this repository. */
import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ExecutionContext } from 'ava';
import { temporaryDirectory } from '../temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * The commit that stands for the release before this one, until there is one: the last one that knows neither waves of
 * self-updates nor problems of other admins in the rows. It speaks the protocols of now, and its admins hand clusters
 * over to each other.
 */
export const RELEASE_BEFORE = '734d5bca2722bcd9db1192c33e7c4b0227a367be';

/** The sources of a release, in a directory of their own. */
export interface Release {
  readonly directory: string;
  /** A program of `cli/`. */
  readonly program: (file: string) => URL;
}

/** The release that this commit stands for. Null, and a failure in CI, where the history has no such commit. */
export async function releaseAt(t: ExecutionContext, commit: string): Promise<Release | null> {
  if (!hasCommit(commit)) {
    const reason = `Left out: this clone has no history with ${commit} (git fetch --unshallow).`;
    t.log(reason);
    t.falsy(process.env['CI'], reason);
    return null;
  }
  const directory = temporaryDirectory(t);
  execFileSync('/bin/sh', ['-c', `git -C "$1" archive "$2" | tar -x -C "$3"`, 'sh', ROOT, commit, directory]);
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  return { directory, program: (file) => pathToFileURL(join(directory, 'cli', file)) };
}

function hasCommit(commit: string): boolean {
  try {
    execFileSync('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // a shallow clone, or an unpacked archive
  }
}
