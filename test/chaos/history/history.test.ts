/**
 * Clients ask three admins for everything, one of which is killed meanwhile, and nothing that they were told is untrue.
 * `npm run chaos -- --history SECONDS` goes on for longer, with more faults.
 *
 * Promises: C1, C3, C5, C6, C7, E1, E2, E5, O1, O3, V1.
 */
import test from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { createScope } from '../../support/scope.ts';
import { playHistory } from './play.ts';

/** How long clients ask, in seconds: a kill, its takeover and the time after it. */
const SECONDS = 20;

/** Clients at a time: fewer than in a run of its own, since other tests run beside this one. */
const CLIENTS = 4;

/** Longest for all of it, in ms. */
const TEST_MS_MAX = 120_000;

const scope = createScope();

test.after.always('all programs end', () => scope.end());

test('what three admins tell while one of them is killed may all be true', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const options = { seconds: SECONDS, admins: 3, clients: CLIENTS, seed: 14, faults: ['kill'] } as const;
  const { violations, calls, faults } = await playHistory(scope, options);

  t.deepEqual(violations, []);
  t.true((faults.get('kill') ?? 0) >= 1);
  t.true(calls.length >= 200, `${calls.length} calls`);
});
