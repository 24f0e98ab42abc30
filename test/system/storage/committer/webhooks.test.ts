/**
 * Webhooks and tries as the committer stores them: each try once, by its number, and nothing of a webhook that is gone.
 */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import { ANSWER_BYTES_MAX, type Attempt } from '../../../../actors/webhook/delivery.ts';
import type { Write } from '../../../../actors/writes.ts';
import { WEBHOOKS_MAX } from '../../../../persistence/committer/webhook-rows.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { answered, FAILED } from '../../../support/webhooks/webhook-actor.ts';
import { openFixture } from '../../../support/database/committer-fixture.ts';
import { column } from '../../../support/database/columns.ts';

type Attempted = Extract<Write, { kind: 'delivery-attempted' }>;
type Made = Extract<Write, { kind: 'delivery-made' }>;

const create = (id: string = v7()): Write => ({
  kind: 'webhook-created',
  id,
  url: 'https://receiver.test/',
  subscribedEvents: ['edge.core.test', 'edge.node.registered'],
  sealedSecret: 'sealed secret',
  sealedHeaders: 'sealed headers',
  atMs: NOW_MS,
});

function attempted(
  delivery: string,
  number: number,
  attempt: Attempt = FAILED,
  more: Partial<Attempted> = {},
): Attempted {
  return {
    kind: 'delivery-attempted',
    delivery,
    number,
    attempt,
    status: 'pending',
    nextAttemptAtMs: NOW_MS + 500,
    atMs: NOW_MS,
    ...more,
  };
}

/** The first try of an event that has no row. */
function made(webhook: string, attempt: Attempt, more: Partial<Made> = {}): Made {
  return {
    kind: 'delivery-made',
    delivery: v7(),
    webhook,
    cursor: '17-4',
    eventId: v7(),
    eventType: 'edge.core.test',
    subject: v7(),
    attemptsMax: 3,
    storedAtMs: NOW_MS - 100,
    attempt,
    status: 'pending',
    nextAttemptAtMs: NOW_MS + 500,
    atMs: NOW_MS,
    ...more,
  };
}

/** A webhook, what is stored of it, and what it came to. */
async function openWebhook(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const webhook = v7();
  await fixture.store(null, create(webhook));
  return {
    fixture,
    webhook,
    commit: (...writes: readonly Write[]) => fixture.commit(null, writes),
    rows: (text: string, values?: unknown[]) => fixture.rows(text, values),
    /** Stores a delivery of the webhook, or of another one. */
    deliver: async ({ to = webhook, status = 'pending', attempts = 0 } = {}): Promise<string> => {
      const [row] = await fixture.rows<{ id: string }>(
        `insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
        values ($1, '1', (select count(*) from webhook_delivery), gen_random_uuid(), 'edge.core.test', gen_random_uuid(), $2, $3, 3, now(), now()) returning id`,
        [to, status, attempts],
      );
      return row!.id;
    },
    delivery: async (id: string) => {
      const [row] = await fixture.rows(
        'select status, attempt_count, attempts_max, next_attempt_at, last_status_code, last_error, last_duration_ms, last_attempted_at, updated_at from webhook_delivery where id = $1',
        [id],
      );
      return row;
    },
    attempts: (id: string) =>
      fixture.rows<{ number: number; response_body: string | null }>(
        'select number, attempted_at, duration_ms, status_code, error, response_body from webhook_attempt where delivery_id = $1 order by number',
        [id],
      ),
  };
}

const DELIVERED = { status: 'delivered', nextAttemptAtMs: null } as const;

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
  await commit(create(other));
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

  const outcomes = await Promise.all(Array.from({ length: 8 }, () => commit(create())));

  t.deepEqual(outcomes.flat().toSorted(), [...Array<string>(5).fill('conflict'), ...Array<string>(3).fill('ok')]);
  t.deepEqual(await rows('select count(*)::int as count from webhook'), [{ count: WEBHOOKS_MAX }]);
});
