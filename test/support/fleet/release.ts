/** Programs of an earlier release, out of the history of this repository. */
import { execFileSync, spawnSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test, { type ExecutionContext, type Implementation } from 'ava';
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

/** The commit before the one that is tested, with which the one that is tested runs while admins are upgraded. */
export const COMMIT_BEFORE = 'HEAD~1';

/** How a test of an earlier release is declared. */
type Declare = (title: string, implementation: Implementation<[]>) => void;

/**
 * Ava's `test.serial` for a test of the release that this commit stands for: skipped, and its line says why, in a clone
 * without a history. Where there is one, and in CI, it fails if that has no such commit.
 */
export function releaseTest(commit: string): Declare {
  const reason = process.env['CI'] ? null : whyLeftOut(ROOT, commit);
  if (reason === null) return test.serial;
  return (title, implementation) => {
    test.serial.skip(`${title} (skipped: ${reason})`, implementation);
  };
}

/** Why tests of this commit cannot be run in this directory, and need not be; null: they are run. */
export function whyLeftOut(directory: string, commit: string): string | null {
  if (hasCommit(directory, commit)) return null;
  const isWhole =
    hasCommit(directory, COMMIT_BEFORE) && git(directory, 'rev-parse', '--is-shallow-repository') !== 'true';
  return isWhole ? null : `this clone has no history with ${commit} (git fetch --unshallow)`;
}

/** The release that this commit stands for. Rejects where the history has no such commit. */
export async function releaseAt(t: ExecutionContext, commit: string): Promise<Release> {
  if (!hasCommit(ROOT, commit)) throw new Error(`the history of this clone has no commit ${commit}`);
  const directory = temporaryDirectory(t);
  execFileSync('/bin/sh', ['-c', `git -C "$1" archive "$2" | tar -x -C "$3"`, 'sh', ROOT, commit, directory]);
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  return { directory, program: (file) => pathToFileURL(join(directory, 'cli', file)) };
}

function hasCommit(directory: string, commit: string): boolean {
  return git(directory, 'cat-file', '-e', `${commit}^{commit}`) !== null;
}

/** What git says of a directory. Null: it refuses, as in a shallow clone or an unpacked archive. */
function git(directory: string, ...words: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', ['-C', directory, ...words], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
