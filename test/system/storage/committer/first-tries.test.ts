/** First tries as the committer stores them: one that succeeds is the row of its delivery. */
import test from 'ava';
import { v7 } from 'uuid';
import { NOW_MS } from '../../../support/actors.ts';
import { column } from '../../../support/database/columns.ts';
import { answered, FAILED } from '../../../support/webhooks/webhook-actor.ts';
import { attempted, DELIVERED, made, openWebhook } from './webhook-writes.ts';

test('a delivery that succeeds at its first try is one row, with its event and what was answered', async (t) => {
  const { webhook, commit, rows, attempts } = await openWebhook(t);
  const write = made(webhook, answered(200), DELIVERED);

  t.deepEqual(await commit(write, made(webhook, FAILED, { delivery: v7(), cursor: '17-5' })), ['ok', 'ok']);

  const [row] = await rows('select * from webhook_delivery where id = $1', [write.delivery]);
  t.deepEqual<unknown, unknown>(row, {
    id: write.delivery,
    webhook_id: webhook,
    event_txid: '17',
    event_seq: '4',
    event_id: write.eventId,
    event_type: 'edge.core.test',
    subject: write.subject,
    status: 'delivered',
    attempt_count: 1,
    attempts_max: 3,
    next_attempt_at: null,
    last_status_code: 200,
    last_error: null,
    last_duration_ms: 5,
    last_attempted_at: new Date(NOW_MS - 5),
    last_response_body: 'thanks',
    inserted_at: new Date(NOW_MS - 100),
    updated_at: new Date(NOW_MS),
  });
  t.deepEqual(await attempts(write.delivery), []);
});

test('one that fails at its first try waits, with its try in a row', async (t) => {
  const { webhook, commit, delivery, attempts } = await openWebhook(t);
  const write = made(webhook, FAILED);

  t.deepEqual(await commit(write), ['ok']);
  t.like(await delivery(write.delivery), {
    status: 'pending',
    attempt_count: 1,
    next_attempt_at: new Date(NOW_MS + 500),
    last_error: 'The connection was refused.',
  });
  t.deepEqual(column(await attempts(write.delivery), 'number'), [1]);
  t.deepEqual(await commit(attempted(write.delivery, 2, answered(204), DELIVERED)), ['ok']);
  t.deepEqual(column(await attempts(write.delivery), 'number'), [1, 2]);
});

test('a first try is counted in the row that its delivery got meanwhile, unless another one was counted there', async (t) => {
  const { webhook, commit, deliver, delivery } = await openWebhook(t);
  const [waiting, tried, done] = [
    await deliver(),
    await deliver({ attempts: 1 }),
    await deliver({ status: 'delivered', attempts: 1 }),
  ];
  const first = (id: string) => made(webhook, answered(204), { delivery: id, ...DELIVERED });

  t.deepEqual(await commit(first(waiting)), ['ok']);
  t.deepEqual([await commit(first(tried)), await commit(first(done))], [['conflict'], ['conflict']]);
  t.deepEqual(await commit(first(waiting)), ['conflict'], 'it was stored before');
  t.like(await delivery(waiting), { status: 'delivered', attempt_count: 1, last_status_code: 204 });
  t.like(await delivery(tried), { status: 'pending', attempt_count: 1, last_status_code: null });
});

test('the only try of a delivery has its row once it is sent again', async (t) => {
  const { webhook, commit, attempts } = await openWebhook(t);
  const write = made(webhook, answered(200), DELIVERED);
  await commit(write);

  t.deepEqual(await commit({ kind: 'delivery-reopened', delivery: write.delivery, attempts: 1, atMs: NOW_MS + 10 }), [
    'ok',
  ]);
  const first = { number: 1, status_code: 200, response_body: 'thanks' };
  t.like((await attempts(write.delivery))[0], first);
  t.deepEqual(await commit(attempted(write.delivery, 2, FAILED, { status: 'dropped', nextAttemptAtMs: null })), ['ok']);

  const stored = await attempts(write.delivery);
  t.like(stored[0], first);
  t.deepEqual(column(stored, 'number'), [1, 2]);
});
