/**
 * What several test files need and what takes long to make: made once a run, by the file that needs it first. A file
 * that is run by itself makes its own.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';

/** Variable with the directory in which a run has them. */
export const SHARED_VARIABLE = 'EDGE_TEST_SHARED';

/** Somebody else makes it, on a busy machine. In ms. */
const MADE_MS_MAX = 240_000;

/** The directory that `make` filled, for this name. Nobody may change what is in it. */
export async function onceARun(
  scope: Scope,
  name: string,
  make: (directory: string) => Promise<unknown>,
): Promise<string> {
  const shared = process.env[SHARED_VARIABLE];
  if (shared === undefined) {
    const directory = temporaryDirectory(scope, 0o755);
    await make(directory);
    return directory;
  }
  const directory = join(shared, name);
  const made = `${directory}.made`;
  for (;;) {
    if (isFirst(directory)) {
      try {
        await make(directory);
      } catch (error) {
        rmSync(directory, { recursive: true }); // whoever waits for it tries it too
        throw error;
      }
      writeFileSync(made, '');
    }
    await until(`${name}, which another file makes`, () => existsSync(made) || !existsSync(directory), MADE_MS_MAX);
    if (existsSync(made)) return directory;
  }
}

function isFirst(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: 0o755 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
