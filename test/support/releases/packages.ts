/** Packages as `npm run package` makes them, quickly compressed. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onceARun } from '../run/once-a-run.ts';
import type { Scope } from '../scope.ts';
import { ROOT } from '../source/source-text.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/** What stands in `dist/` after a build; nobody may change it. */
export async function buildDistribution(scope: Scope): Promise<string> {
  return onceARun(scope, 'dist', (dist) => run(process.execPath, ['deploy/build.ts', dist], { cwd: ROOT }));
}

/** Makes packages of what was built, and answers the directory in which they are. `words`: further arguments. */
export async function makePackages(scope: Scope, dist: string, ...words: readonly string[]): Promise<string> {
  const out = temporaryDirectory(scope, 0o755);
  await run(process.execPath, ['deploy/packages/run.ts', '--quick', '--dist', dist, '--out', out, ...words], {
    cwd: ROOT,
  });
  return out;
}

/** The one file in a directory that fits. */
export function fileIn(directory: string, pattern: string): string {
  const [found, ...others] = globSync(pattern, { cwd: directory });
  if (found === undefined || others.length > 0) throw new Error(`${directory} has not one ${pattern}`);
  return join(directory, found);
}
