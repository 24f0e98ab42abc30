/** Clocks are wrong in every way, once. `npm run chaos` does so again and again (O2, C8). */
import ava from 'ava';
import { CLOCK_JUMPS, wrongMoments } from './clock-jumps.ts';
import { playRound, wholeStory } from './round.ts';
import { openFixture } from './fixture.ts';
import { peerTest } from '../support/run/peer-test.ts';
import { createScope } from '../support/scope.ts';
import { hangAfter } from '../support/busy.ts';

const test = await peerTest('faketime');

/** Time for all rounds, in ms. */
const ROUNDS_MS_MAX = 240_000;

const scope = createScope();
ava.after.always('the fixture closes', () => scope.end());

test('wrong and jumping clocks of admin and agents expire nothing early, start nothing late and are stored nowhere', async (t) => {
  t.timeout(hangAfter(ROUNDS_MS_MAX));
  const fixture = await openFixture(scope, { agents: 2, hasClocks: true });

  for (const point of CLOCK_JUMPS) {
    const { name, ms, states, breaches } = await playRound(fixture, point, () => wrongMoments(fixture));
    t.deepEqual(breaches, [], name);
    t.log(`${name}: ${ms} ms, ${JSON.stringify(states)}`);
  }
  t.deepEqual(await wholeStory(fixture), []);
});
