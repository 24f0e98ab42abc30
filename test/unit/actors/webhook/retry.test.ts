import test from 'ava';
import { RETRY_WAIT_MS_MAX, verdictOf } from '../../../../actors/webhook/retry.ts';
import type { Attempt } from '../../../../actors/webhook/delivery.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { answered, delivery, FAILED } from '../../../support/webhooks/webhook-actor.ts';

const verdict = (attempt: Attempt, attempts = 0, random = 0) =>
  verdictOf(delivery(1, { attempts }), attempt, 1_000, random, NOW_MS);

test('2xx is delivered, whatever else it is', (t) => {
  for (const status of [200, 201, 202, 204, 226, 299]) {
    for (const attempts of [0, 1, 2])
      t.deepEqual(
        verdict(answered(status, { retryAfterMs: 9_000 }), attempts),
        { status: 'delivered', nextAttemptAtMs: null },
        String(status),
      );
  }
});

test('410 ends it at once, whatever Retry-After says', (t) => {
  t.deepEqual(verdict(answered(410, { retryAfterMs: 1_000 })), { status: 'dropped', nextAttemptAtMs: null });
});

test('every other answer is tried again, redirects too, which are not followed, and so is no answer', (t) => {
  const statuses = Array.from({ length: 300 }, (_, index) => 300 + index).filter((status) => status !== 410);

  for (const attempt of [...statuses.map((status) => answered(status)), FAILED])
    t.is(verdict(attempt).status, 'pending', JSON.stringify(attempt));
});

test('after exactly so many tries it is dropped (V2)', (t) => {
  t.deepEqual(
    [0, 1, 2].map((attempts) => verdict(answered(503), attempts).status),
    ['pending', 'pending', 'dropped'],
  );
  t.deepEqual(
    [0, 1, 2].map((attempts) => verdict(FAILED, attempts).status),
    ['pending', 'pending', 'dropped'],
  );
  t.is(verdictOf(delivery(1, { attempts: 0, attemptsMax: 1 }), FAILED, 1_000, 0, NOW_MS).status, 'dropped');
});

test('waits grow fourfold from the base, with jitter between a half and the whole, up to the longest', (t) => {
  const waitMs = (attempts: number, random: number) =>
    (verdictOf(delivery(1, { attempts, attemptsMax: 100 }), FAILED, 1_000, random, NOW_MS).nextAttemptAtMs ?? 0) -
    NOW_MS;

  t.deepEqual(
    [0, 1, 2, 3].map((attempts) => waitMs(attempts, 1)),
    [1_000, 4_000, 16_000, 64_000],
  );
  t.deepEqual(
    [0, 0.5, 1].map((random) => waitMs(0, random)),
    [500, 750, 1_000],
  );
  t.deepEqual(
    [5, 50, 98].map((attempts) => waitMs(attempts, 1)),
    [RETRY_WAIT_MS_MAX, RETRY_WAIT_MS_MAX, RETRY_WAIT_MS_MAX],
  );
});

test('the receiver may ask for a longer wait, not for a shorter one', (t) => {
  t.is(verdict(answered(503, { retryAfterMs: 60_000 })).nextAttemptAtMs, NOW_MS + 60_000);
  t.is(verdict(answered(429, { retryAfterMs: 0 })).nextAttemptAtMs, NOW_MS + 500);
  t.is(verdict(answered(429, { retryAfterMs: RETRY_WAIT_MS_MAX + 1 })).nextAttemptAtMs, NOW_MS + RETRY_WAIT_MS_MAX + 1);
});
