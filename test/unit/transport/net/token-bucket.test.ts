/** The one token bucket. */
import test from 'ava';
import { debtMs, fullBucket, isFull, refund, spend, take } from '../../../../transport/net/token-bucket.ts';

const LIMITS = { tokensMax: 10, tokensPerSecond: 4 };
const START_MS = 1_000_000;

test('a full bucket gives all it holds in one go, and nothing more until time has passed', (t) => {
  const all = take(fullBucket(LIMITS), LIMITS, 10, START_MS);
  const more = take(all.bucket, LIMITS, 1, START_MS);

  t.deepEqual(all, { isTaken: true, bucket: { tokens: 0, atMs: START_MS } });
  t.deepEqual(more, { isTaken: false, bucket: { tokens: 0, atMs: START_MS } });
});

test('what was taken comes back at its rate, in fractions too, and never beyond the limit', (t) => {
  const empty = { tokens: 0, atMs: START_MS };

  t.deepEqual(
    [0, 125, 249, 250, 1_000, 2_500, 60_000].map((ms) => take(empty, LIMITS, 1, START_MS + ms)),
    [
      { isTaken: false, bucket: { tokens: 0, atMs: START_MS } },
      { isTaken: false, bucket: { tokens: 0.5, atMs: START_MS + 125 } },
      { isTaken: false, bucket: { tokens: 0.996, atMs: START_MS + 249 } },
      { isTaken: true, bucket: { tokens: 0, atMs: START_MS + 250 } },
      { isTaken: true, bucket: { tokens: 3, atMs: START_MS + 1_000 } },
      { isTaken: true, bucket: { tokens: 9, atMs: START_MS + 2_500 } },
      { isTaken: true, bucket: { tokens: 9, atMs: START_MS + 60_000 } },
    ],
  );
});

test('whoever asks again and again before the time gets as much as whoever waits', (t) => {
  let bucket = fullBucket(LIMITS);
  let taken = 0;
  for (let atMs = START_MS; atMs < START_MS + 10_000; atMs += 50) {
    const answer = take(bucket, LIMITS, 1, atMs);
    bucket = answer.bucket;
    if (answer.isTaken) taken += 1;
  }

  t.is(taken, LIMITS.tokensMax + 10 * LIMITS.tokensPerSecond - 1);
});

test('what does not fit is not taken in part', (t) => {
  const { bucket } = take(fullBucket(LIMITS), LIMITS, 6, START_MS);

  t.deepEqual(take(bucket, LIMITS, 5, START_MS), { isTaken: false, bucket: { tokens: 4, atMs: START_MS } });
  t.true(take(bucket, LIMITS, 4, START_MS).isTaken);
});

test('spending beyond what there is makes a debt, which is over when it says', (t) => {
  const owing = spend(fullBucket(LIMITS), LIMITS, 15, START_MS);
  const waitMs = debtMs(owing, LIMITS);

  t.deepEqual([owing.tokens, waitMs, debtMs(fullBucket(LIMITS), LIMITS)], [-5, 1_250, 0]);
  t.is(spend(owing, LIMITS, 0, START_MS + waitMs).tokens, 0);
  t.false(take(owing, LIMITS, 1, START_MS + waitMs).isTaken);
  t.is(debtMs({ tokens: -0.001, atMs: START_MS }, LIMITS), 1);
});

test('a clock that is set back gives nothing, and takes nothing from what comes after', (t) => {
  const empty = { tokens: 0, atMs: START_MS };
  const earlierMs = START_MS - 3_600_000;
  const refused = take(empty, LIMITS, 1, earlierMs);

  t.deepEqual(refused, { isTaken: false, bucket: { tokens: 0, atMs: earlierMs } });
  t.true(take(refused.bucket, LIMITS, 1, earlierMs + 250).isTaken);
});

test('what is put back does not overflow', (t) => {
  t.deepEqual(refund({ tokens: 3, atMs: START_MS }, LIMITS, 2), { tokens: 5, atMs: START_MS });
  t.deepEqual(refund({ tokens: 9, atMs: START_MS }, LIMITS, 2), { tokens: 10, atMs: START_MS });
});

test('a bucket is full again once all came back', (t) => {
  const bucket = spend(fullBucket(LIMITS), LIMITS, 12, START_MS);

  t.deepEqual(
    [0, 2_999, 3_000].map((ms) => isFull(bucket, LIMITS, START_MS + ms)),
    [false, false, true],
  );
});
