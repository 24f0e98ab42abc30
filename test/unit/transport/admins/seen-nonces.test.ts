/** Proofs that were used. */
import test from 'ava';
import { SeenNonces } from '../../../../transport/admins/seen-nonces.ts';

const AGE_MS = 15_000;
const NOW_MS = 1_000_000;

test('a proof is taken once, of each process apart', (t) => {
  const seen = new SeenNonces(AGE_MS, 10);

  t.deepEqual(
    [
      seen.take('a', 'one', NOW_MS, NOW_MS),
      seen.take('a', 'one', NOW_MS, NOW_MS),
      seen.take('a', 'two', NOW_MS, NOW_MS),
      seen.take('b', 'one', NOW_MS, NOW_MS),
    ],
    ['fresh', 'seen', 'fresh', 'fresh'],
  );
});

test('it is remembered until its age would refuse it, also one from ahead of this clock', (t) => {
  const seen = new SeenNonces(AGE_MS, 10);
  seen.take('a', 'ahead', NOW_MS + AGE_MS, NOW_MS);

  const verdicts = [0, AGE_MS, 2 * AGE_MS].map((laterMs) => seen.take('a', 'ahead', NOW_MS + AGE_MS, NOW_MS + laterMs));
  seen.sweep(NOW_MS + 2 * AGE_MS);
  const kept = seen.size();
  seen.sweep(NOW_MS + 2 * AGE_MS + 1);

  t.deepEqual(verdicts, ['seen', 'seen', 'seen']);
  t.deepEqual([kept, seen.size()], [1, 0]);
});

test('when so many are remembered, no other is taken until one is too old; none is forgotten early', (t) => {
  const seen = new SeenNonces(AGE_MS, 2);
  seen.take('a', 'one', NOW_MS, NOW_MS);
  seen.take('a', 'two', NOW_MS + 1, NOW_MS + 1);

  t.deepEqual(
    [
      seen.take('a', 'three', NOW_MS + 2, NOW_MS + 2),
      seen.take('a', 'one', NOW_MS, NOW_MS + 2),
      seen.take('b', 'three', NOW_MS + 2, NOW_MS + 2),
      seen.take('a', 'three', NOW_MS + AGE_MS + 1, NOW_MS + AGE_MS + 1),
    ],
    ['full', 'seen', 'fresh', 'fresh'],
  );
});

test('a clock that is set back lets none in that was forgotten', (t) => {
  const seen = new SeenNonces(AGE_MS, 10);
  seen.take('a', 'one', NOW_MS, NOW_MS);
  seen.sweep(NOW_MS + AGE_MS + 1);

  t.deepEqual(
    [seen.take('a', 'one', NOW_MS, NOW_MS + 10), seen.take('a', 'new', NOW_MS + 10, NOW_MS + 10)],
    ['seen', 'fresh'],
  );
});
