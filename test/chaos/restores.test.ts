/** The database is set back in every way, once. `npm run chaos` does so again and again (C3, V4). */
import test from 'ava';
import { RESTORE_ENV, RESTORES, watchEvents } from './restores.ts';
import { playRound, wholeStory } from './round.ts';
import { openFixture, type Fixture } from './fixture.ts';
import { createScope } from '../support/scope.ts';
import { hangAfter } from '../support/busy.ts';

/** Time for one round, in ms. */
const ROUND_MS_MAX = 180_000;

const scope = createScope();
let fixture: Fixture;
let eventsMissing: () => Promise<readonly string[]>;

test.before('the fixture opens, with a receiver of its events', async () => {
  fixture = await openFixture(scope, { agents: 2, env: RESTORE_ENV });
  eventsMissing = await watchEvents(scope, fixture);
});
test.after.always('it closes', () => scope.end());

for (const point of RESTORES) {
  test.serial(point.name, async (t) => {
    t.timeout(hangAfter(ROUND_MS_MAX));

    t.deepEqual((await playRound(fixture, point, eventsMissing)).breaches, []);
  });
}

test.serial('after all of it nothing ran twice, and what agents had confirmed they said again', async (t) => {
  t.is(fixture.restores, RESTORES.length);
  t.true(
    fixture.books.takenBack.size >= 2 * RESTORES.length,
    `${fixture.books.takenBack.size} results were taken back`,
  );
  t.deepEqual(await wholeStory(fixture), []);
});
