/**
 * Webhooks and tries as the committer stores them: each try once, by its number, and nothing of a webhook that is gone.
 */
import test from 'ava';
import { v7 } from 'uuid';
import { ANSWER_BYTES_MAX } from '../../../../actors/webhook/delivery.ts';
import type { Write } from '../../../../actors/writes.ts';
import { WEBHOOKS_MAX } from '../../../../persistence/committer/webhook-rows.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { answered } from '../../../support/webhooks/webhook-actor.ts';
import { column } from '../../../support/database/columns.ts';
import { attempted, DELIVERED, openWebhook, webhookCreated } from './webhook-writes.ts';

test('a try is stored with its answer, and its delivery tells of the latest', async (t) => {
  const { commit, deliver, delivery, attempts } = await openWebhook(t);
  const id = await deliver();

  t.deepEqual(await commit(attempted(id, 1)), ['ok']);
  const first = {
    status: 'pending',
    attempt_count: 1,
    attempts_max: 3,
    next_attempt_at: new Date(NOW_MS + 500),
    last_status_code: null,
    last_error: 'The connection was refused.',
    last_duration_ms: 5,
    last_attempted_at: new Date(NOW_MS - 5),
    updated_at: new Date(NOW_MS),
  };
  t.deepEqual(await delivery(id), first);
  t.deepEqual(await commit(attempted(id, 2, answered(204), { ...DELIVERED, atMs: NOW_MS + 900 })), ['ok']);

  t.deepEqual(await delivery(id), {
    ...first,
    status: 'delivered',
    attempt_count: 2,
    next_attempt_at: null,
    last_status_code: 204,
    last_error: null,
    updated_at: new Date(NOW_MS + 900),
  });
  const shared = { attempted_at: new Date(NOW_MS - 5), duration_ms: 5 };
  t.deepEqual<readonly object[], readonly object[]>(await attempts(id), [
    { number: 1, ...shared, status_code: null, error: 'The connection was refused.', response_body: null },
    { number: 2, ...shared, status_code: 204, error: null, response_body: 'thanks' },
  ]);
});

test('a try is counted once: the same number again, or one that was skipped, is refused and changes nothing (V2)', async (t) => {
  const { commit, deliver, delivery, attempts } = await openWebhook(t);
  const id = await deliver();
  await commit(attempted(id, 1));
  const before = [await delivery(id), await attempts(id)];

  t.deepEqual(await commit(attempted(id, 1, answered(200), DELIVERED)), ['conflict']);
  t.deepEqual(await commit(attempted(id, 3)), ['conflict']);

  t.deepEqual([await delivery(id), await attempts(id)], before);
});

test('a finished delivery takes no further try', async (t) => {
  const { commit, deliver, delivery, attempts } = await openWebhook(t);
  for (const status of ['delivered', 'dropped']) {
    const id = await deliver({ status, attempts: 1 });
    const before = await delivery(id);

    t.deepEqual(await commit(attempted(id, 2)), ['conflict']);

    t.deepEqual([await delivery(id), await attempts(id)], [before, []]);
  }
  t.deepEqual(await commit(attempted(v7(), 1)), ['conflict']);
});

test('tries of many deliveries go in one transaction, and each stands for itself', async (t) => {
  const {
    commit,
    fixture: { committer },
    deliver,
    delivery,
    attempts,
  } = await openWebhook(t);
  const [good, over, other] = [await deliver(), await deliver({ status: 'dropped' }), await deliver()] as const;
  const before = committer.counters.batches;

  const outcomes = await Promise.all([
    commit(attempted(good, 1)),
    commit(attempted(over, 1)),
    commit(attempted(other, 1, answered(200), DELIVERED)),
  ]);

  t.deepEqual(outcomes, [['ok'], ['conflict'], ['ok']]);
  t.is(committer.counters.batches - before, 1);
  t.like(await delivery(other), { status: 'delivered' });
  t.deepEqual(column(await Promise.all([good, over, other].map((id) => attempts(id))), 'length'), [1, 0, 0]);
});

test('what the receiver wrote is stored whatever it is, and cannot spoil the batch', async (t) => {
  const { commit, deliver, attempts } = await openWebhook(t);
  const texts = [
    'a\0b',
    'ünïcode 😀',
    '\\x00',
    '{"a":"b"}',
    '{1,2}',
    'NULL',
    '',
    'x'.repeat(ANSWER_BYTES_MAX),
    "'; drop table webhook; --",
  ];
  for (const text of texts) {
    const id = await deliver();

    t.deepEqual(await commit(attempted(id, 1, answered(500, { answer: text, durationMs: 0.4 }))), ['ok']);

    t.deepEqual(
      (await attempts(id)).map(({ response_body: body }) => body),
      [text.replaceAll('\0', '\uFFFD')],
    );
  }
});

test('a finished delivery is opened for one more try, only as it was seen', async (t) => {
  const { commit, deliver, delivery } = await openWebhook(t);
  const id = await deliver({ status: 'dropped', attempts: 3 });
  const reopen = (attempts: number): Write => ({ kind: 'delivery-reopened', delivery: id, attempts, atMs: NOW_MS });

  t.deepEqual(await commit(reopen(2)), ['conflict']); // another try was counted meanwhile
  t.deepEqual(await commit(reopen(3)), ['ok']);
  t.like(await delivery(id), { status: 'pending', attempt_count: 3, attempts_max: 4, next_attempt_at: null });
  t.deepEqual(await commit(reopen(3)), ['conflict']); // it is open
  t.deepEqual(await commit(attempted(id, 4, answered(500), { status: 'dropped', nextAttemptAtMs: null })), ['ok']);

  t.like(await delivery(id), { status: 'dropped', attempt_count: 4 });
});

test('no more tries than are allowed can be counted, whoever asks (V2)', async (t) => {
  const { commit, deliver, delivery } = await openWebhook(t);
  const id = await deliver({ attempts: 3 });

  await t.throwsAsync(commit(attempted(id, 4)), { message: /attempts_max|check/u });

  t.like(await delivery(id), { attempt_count: 3 });
});

test('deleting a webhook takes its deliveries and tries with it, and a late try is refused', async (t) => {
  const { commit, deliver, attempts, webhook, rows } = await openWebhook(t);
  const other = v7();
  await commit(webhookCreated(other));
  const [id, kept] = [await deliver(), await deliver({ to: other })];
  await commit(attempted(id, 1), attempted(kept, 1));

  t.deepEqual(await commit({ kind: 'webhook-deleted', id: webhook }), ['ok']);

  t.deepEqual(await commit(attempted(id, 2)), ['conflict']);
  t.deepEqual([await attempts(id), (await attempts(kept)).length], [[], 1]);
  t.deepEqual(await rows('select id from webhook_delivery'), [{ id: kept }]);
  t.deepEqual(await commit({ kind: 'webhook-deleted', id: webhook }), ['not_found']);
});

test('there is a limit to webhooks, also for those created at once', async (t) => {
  const { commit, rows } = await openWebhook(t);
  await rows(
    `insert into webhook (id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at, updated_at) select gen_random_uuid(), 'u', '{}', 's', 'h', now(), now() from generate_series(1, $1::int)`,
    [WEBHOOKS_MAX - 4],
  );

  const outcomes = await Promise.all(Array.from({ length: 8 }, () => commit(webhookCreated())));

  t.deepEqual(outcomes.flat().toSorted(), [...Array<string>(5).fill('conflict'), ...Array<string>(3).fill('ok')]);
  t.deepEqual(await rows('select count(*)::int as count from webhook'), [{ count: WEBHOOKS_MAX }]);
});
