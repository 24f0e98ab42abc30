/**
 * Twenty kills and more of real programs, one aimed at every moment that matters. `npm run chaos` goes on for hundreds.
 *
 * Promises: C1, C3, C5, C6, C7, C9, C10, V1.
 */
import test from 'ava';
import { KILL_POINTS } from './kill-points.ts';
import { frozenPostgres } from './pauses.ts';
import { playRound, wholeStory } from './round.ts';
import { openFixture, type Fixture } from './fixture.ts';
import { createScope } from '../support/scope.ts';
import { hangAfter } from '../support/busy.ts';

/**
 * The database stands still for this long, in ms: longer than a lease and than any call may take. The minute of the
 * full proof is in `npm run chaos`.
 */
const FREEZE_MS = 7_000;

/** Time for one round, in ms. */
const ROUND_MS_MAX = 90_000;

const scope = createScope();
let fixture: Fixture;

test.before('the fixture opens', async () => {
  fixture = await openFixture(scope);
});
test.after.always('it closes', () => scope.end());

const points = [
  ...KILL_POINTS,
  { name: 'PostgreSQL is frozen for a while', strike: (whole: Fixture) => frozenPostgres(whole, FREEZE_MS) },
];
for (const point of points) {
  test.serial(`no promise breaks by kill -9: ${point.name}`, async (t) => {
    t.timeout(hangAfter(ROUND_MS_MAX));

    t.deepEqual((await playRound(fixture, point)).breaches, []);
  });
}

test.serial('after all of it everything that was ever acknowledged is there, once', async (t) => {
  t.true(fixture.kills >= 20, `${fixture.kills} kills`);
  t.true(fixture.books.confirmed.size >= 50, `${fixture.books.confirmed.size} confirmed results`);
  t.deepEqual(await wholeStory(fixture), []);
});
