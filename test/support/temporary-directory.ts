/** A directory of a test's own. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './scope.ts';

/** Makes one that goes with the scope; by default only this user gets into it. */
export function temporaryDirectory(scope: Scope, mode?: number): string {
  const directory = mkdtempSync(join(tmpdir(), 'edge-test-'));
  if (mode !== undefined) chmodSync(directory, mode);
  scope.teardown(() => {
    chmodSync(directory, 0o700);
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  return directory;
}
