/** What a release is: the signed description that a channel names, and how versions compare. */
import { hash } from 'node:crypto';
import type { z } from 'zod';
import {
  ARCHITECTURES,
  ReleaseDescription,
  RELEASE_FILES,
  type Architecture,
  type ReleaseFile,
  type ReleaseFileName,
} from '../../transport/protocol/releases.ts';
import { UpdateProblem } from './problem.ts';

/** Programs that every release has. */
export const AGENT_FILE = 'edge-agent.cjs';
export const UPDATER_FILE = 'edge-updater.cjs';

/** A release that can be installed: it has all of its files. */
export type Release = ReleaseDescription;

/** Reads a description. Throws an UpdateProblem; `name` is how it is called there. */
export function parseRelease(text: string, name: string): Release {
  const parsed = ReleaseDescription.safeParse(parsedJson(text));
  if (!parsed.success) throw new UpdateProblem(`${name} is no release that this updater knows: ${firstIssue(parsed)}`);
  const names = new Set(parsed.data.files.map((file) => file.name));
  const missing = RELEASE_FILES.find((file) => !names.has(file));
  if (missing !== undefined) throw new UpdateProblem(`${name} has no ${missing}`);
  return parsed.data;
}

/** A file of a release. */
export function fileOf(release: Release, name: ReleaseFileName): ReleaseFile {
  const found = release.files.find((file) => file.name === name);
  if (found === undefined) throw new UpdateProblem(`the release ${release.version} has no ${name}`);
  return found;
}

/** The name of its directory: what has the same version and the same files has the same one. */
export function versionName(release: Release): string {
  const files = release.files.map((file) => `${file.name} ${file.sha256}`).toSorted();
  return `${release.version}-${hash('sha256', [release.version, release.arch, ...files].join('\n')).slice(0, 8)}`;
}

/** Below zero: `a` is older. As semver orders them. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parts(a), parts(b)];
  for (const index of [0, 1, 2]) {
    const difference = (left.numbers[index] ?? 0) - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return comparePrereleases(left.prerelease, right.prerelease);
}

/** What releases for this machine are called. Throws an UpdateProblem where there are none. */
export function machineArch(): Architecture {
  const own = `${process.platform}-${process.arch}`;
  const known = ARCHITECTURES.find((arch) => arch === own);
  if (known === undefined)
    throw new UpdateProblem(`there are no releases for ${own}: only for ${ARCHITECTURES.join(', ')}`);
  return known;
}

function parts(version: string): { readonly numbers: readonly number[]; readonly prerelease: readonly string[] } {
  const [numbers = '', ...rest] = version.split('-');
  const prerelease = rest.join('-');
  return {
    numbers: numbers.split('.').map(Number),
    prerelease: prerelease === '' ? [] : prerelease.split('.'),
  };
}

/** Source: semver 2.0.0, 11.3 and 11.4. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const [left, right] = [a[index], b[index]];
    if (left === undefined || right === undefined) return a.length - b.length;
    if (left === right) continue;
    const [isLeft, isRight] = [left, right].map((word) => /^\d+$/u.test(word));
    if (isLeft && isRight) return Number(left) - Number(right);
    if (isLeft !== isRight) return isLeft ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
}

function firstIssue({ error }: { readonly error: z.ZodError }): string {
  const [issue] = error.issues;
  return issue === undefined ? 'it is damaged' : `${issue.path.join('.') || 'it'}: ${issue.message}`;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
