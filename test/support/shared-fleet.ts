/** One fleet for all tests of a file: starting one takes seconds. */
import type { ExecutionContext, TestFn } from 'ava';
import { startFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { createScope } from './scope.ts';

/** What must hold of a fleet when all tests of the file are over, whatever became of them. */
export interface FinalCheck {
  readonly title: string;
  check(t: ExecutionContext): void | Promise<void>;
}

/**
 * Starts a fleet before the tests of this file and ends it after them. The returned function gives it. What is checked
 * at the end is given here and not in a hook of the file: ava runs hooks beside each other, and the fleet would end
 * beneath the check.
 */
export function sharedFleet(test: TestFn, options: FleetOptions, last?: FinalCheck): () => Fleet {
  const scope = createScope();
  let fleet: Fleet | undefined;
  test.serial.before('the fleet starts', async () => {
    fleet = await startFleet(scope, options);
  });
  if (last !== undefined) test.serial.after.always(last.title, (t) => last.check(t));
  test.serial.after.always('the fleet ends', () => scope.end());
  return () => {
    if (fleet === undefined) throw new Error('the fleet did not start');
    return fleet;
  };
}
