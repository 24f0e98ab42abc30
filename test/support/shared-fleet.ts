/** One fleet for all tests of a file: starting one takes seconds. */
import type { TestFn } from 'ava';
import { startFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { createScope } from './scope.ts';

/** Starts a fleet before the tests of this file and ends it after them. The returned function gives it. */
export function sharedFleet(test: TestFn, options: FleetOptions): () => Fleet {
  const scope = createScope();
  let fleet: Fleet | undefined;
  test.serial.before('the fleet starts', async () => {
    fleet = await startFleet(scope, options);
  });
  test.after.always('the fleet ends', () => scope.end());
  return () => {
    if (fleet === undefined) throw new Error('the fleet did not start');
    return fleet;
  };
}
