/** A process in which no file can be opened. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Scope } from './scope.ts';

/** More than the runner of the tests has open, and few enough to be taken at once. */
const DESCRIPTORS_MAX = 512;

/**
 * Leaves this process so many file descriptors and no more. The answer gives the others back; null: it has no limit
 * that can be set.
 */
export function takeDescriptors(scope: Scope, free: number): { refill(): void; giveBack(): void } | null {
  if (spawnSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${DESCRIPTORS_MAX}:`]).status !== 0) return null;
  const taken: number[] = [];
  const refill = () => {
    try {
      for (;;) taken.push(openSync('/dev/null', 'r'));
    } catch {
      // none is left: as wanted
    }
  };
  const giveBack = () => {
    for (const descriptor of taken.splice(0)) closeSync(descriptor);
  };
  scope.teardown(giveBack);
  refill();
  for (const descriptor of taken.splice(0, free)) closeSync(descriptor);
  return { refill, giveBack };
}
