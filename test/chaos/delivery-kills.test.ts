/**
 * The admin is killed at every step of a delivery, and the database too; the receiver's own log says whether V2 held.
 * `npm run chaos` goes on for hundreds.
 */
import test from 'ava';
import { openDeliveries, DELIVERY_ENV, type Deliveries } from './deliveries.ts';
import { DELIVERY_KILL_NAMES, deliveryPoints } from './delivery-points.ts';
import { playRound } from './round.ts';
import { openFixture } from './fixture.ts';
import { createScope } from '../support/scope.ts';
import { hangAfter } from '../support/busy.ts';

/** Time for one round, in ms. */
const ROUND_MS_MAX = 90_000;

const scope = createScope();
let deliveries: Deliveries;

test.before('the fixture opens, with receivers', async () => {
  deliveries = await openDeliveries(scope, await openFixture(scope, { agents: 1, env: DELIVERY_ENV }));
});
test.after.always('it closes', () => scope.end());

for (const name of DELIVERY_KILL_NAMES) {
  test.serial(`no promise breaks by kill -9: ${name}`, async (t) => {
    t.timeout(hangAfter(ROUND_MS_MAX));
    const point = deliveryPoints(deliveries).find((one) => one.name === name);
    if (point === undefined) throw new Error('there is no such point');

    t.deepEqual((await playRound(deliveries.fixture, point, () => deliveries.breaches())).breaches, []);
  });
}

test.serial('after all of it most was delivered, and some was dropped with all of its tries', async (t) => {
  const { delivered, dropped, arrivals } = await deliveries.counts();

  t.true(delivered >= 200 && dropped >= 1 && arrivals >= delivered, JSON.stringify({ delivered, dropped, arrivals }));
});
