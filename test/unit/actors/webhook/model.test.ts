/** Any interleaving of what can happen to a webhook keeps V2, and nothing is forgotten. */
import * as fc from 'fast-check';
import test from 'ava';
import { WINDOW_DELIVERIES_MAX } from '../../../../actors/webhook/state.ts';
import { WebhookFixture, type Answer, type Fate } from './model.ts';
import { column } from '../../../support/database/columns.ts';

type Happening = (fixture: WebhookFixture) => void;

const answers = fc.constantFrom<Answer>('delivered', 'delivered', 'later', 'no answer', 'refused');
const subjects = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 });

/** Everyday life: no crash, no doubt. */
const everyday: readonly fc.Arbitrary<Happening>[] = [
  fc.tuple(subjects, fc.boolean()).map(
    ([of, isTold]) =>
      (fixture) =>
        fixture.store(of, isTold),
  ),
  fc.nat(3).map((pick) => (fixture) => fixture.answerLoad(pick)),
  fc.tuple(fc.nat(9), answers, fc.constantFrom(0, 0.5, 1)).map(
    ([pick, answer, random]) =>
      (fixture) =>
        fixture.answerRequest(pick, answer, random),
  ),
  fc.tuple(fc.nat(9), answers, fc.constantFrom(0, 0.5, 1)).map(
    ([pick, answer, random]) =>
      (fixture) =>
        fixture.answerRequest(pick, answer, random),
  ),
  fc.integer({ min: 1, max: 5_000 }).map((ms) => (fixture) => fixture.pass(ms)),
  fc.nat(40).map((pick) => (fixture) => fixture.redeliver(pick)),
];

const troubled = (fates: readonly Fate[]): fc.Arbitrary<Happening>[] => [
  fc.constant((fixture: WebhookFixture) => fixture.restart()),
  fc.tuple(fc.nat(9), answers, fc.constantFrom(...fates)).map(
    ([pick, answer, fate]) =>
      (fixture) =>
        fixture.answerRequest(pick, answer, 0, fate),
  ),
  fc.tuple(fc.nat(40), fc.constantFrom(...fates)).map(
    ([pick, fate]) =>
      (fixture) =>
        fixture.redeliver(pick, fate),
  ),
];

function lived(happenings: readonly Happening[]): WebhookFixture {
  const fixture = new WebhookFixture();
  for (const happen of happenings) happen(fixture);
  fixture.settle();
  return fixture;
}

const open = ({ rows }: WebhookFixture) =>
  rows.filter(({ status }) => status === 'pending').map(({ number }) => number);

test('any life without trouble: order, bounds, and each delivery ends with as many requests as tries are counted', (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...everyday), { maxLength: 120 }), (happenings) => {
      const fixture = lived(happenings);

      t.deepEqual(fixture.problems, []);
      t.deepEqual(open(fixture), []);
      t.deepEqual(
        column(fixture.rows, 'requests'),
        fixture.rows.map(({ attempts }) => attempts),
      );
    }),
    { numRuns: 400 },
  );
});

test('crashes, takeovers and commits in doubt forget nothing, keep the order, and count no try twice', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(...everyday, ...troubled(['in doubt, stored', 'in doubt, not stored'])), { maxLength: 120 }),
      (happenings) => {
        const fixture = lived(happenings);

        t.deepEqual(fixture.problems, []);
        t.deepEqual(open(fixture), []);
      },
    ),
    { numRuns: 600 },
  );
});

test('an admin that another one overtakes forgets nothing, and comes to the same end', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(...everyday, ...troubled(['overtaken', 'in doubt, stored'])), { maxLength: 120 }),
      (happenings) => {
        const fixture = lived(happenings);

        t.deepEqual(open(fixture), []);
        t.deepEqual(
          fixture.problems.filter((problem) => !/is sent/u.test(problem)),
          [],
        ); // until it is told that it was overtaken, it sends what is over
      },
    ),
    { numRuns: 400 },
  );
});

test('far more deliveries than a window holds are all delivered, in order', (t) => {
  const fixture = new WebhookFixture();
  for (let round = 0; round < 5; round += 1)
    fixture.store(
      Array.from({ length: WINDOW_DELIVERIES_MAX }, (_, index) => 1 + ((index * 7 + round) % 11)),
      round % 2 === 0,
    );

  fixture.settle();

  t.deepEqual(fixture.problems, []);
  t.deepEqual(open(fixture), []);
});
