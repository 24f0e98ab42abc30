/**
 * Agents stand still in every way, once, and no longer than it takes to tell. `npm run chaos` freezes them beyond the
 * silence of their sessions.
 *
 * Promises: C8.
 */
import test from 'ava';
import { FREEZE_ENV, freezes, STALL_MS_MIN } from './freezes.ts';
import { playRound, wholeStory } from './round.ts';
import { openFixture, type Fixture } from './fixture.ts';
import { createScope } from '../support/scope.ts';
import { hangAfter } from '../support/busy.ts';

/** Time for one round, in ms. */
const ROUND_MS_MAX = 120_000;

const scope = createScope();
let fixture: Fixture;

test.before('the fixture opens', async () => {
  fixture = await openFixture(scope, { agents: 2, agentEnv: FREEZE_ENV });
});
test.after.always('it closes', () => scope.end());

for (const point of freezes(STALL_MS_MIN)) {
  test.serial(point.name, async (t) => {
    t.timeout(hangAfter(ROUND_MS_MAX));
    const { breaches, states } = await playRound(fixture, point);

    t.deepEqual(breaches, []);
    t.true((states['expired'] ?? 0) >= 1 && (states['cancelled'] ?? 0) >= 1, JSON.stringify(states));
  });
}

test.serial('after all of it nothing started after its end', async (t) => {
  t.deepEqual(await wholeStory(fixture), []);
});
