/** Writes of webhooks and their deliveries, with what a test does not speak of filled in. */
import type { ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import type { Attempt } from '../../../../actors/webhook/delivery.ts';
import type { Write } from '../../../../actors/writes.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { FAILED } from '../../../support/webhooks/webhook-actor.ts';
import { openFixture } from '../../../support/database/committer-fixture.ts';

type Attempted = Extract<Write, { kind: 'delivery-attempted' }>;
type Made = Extract<Write, { kind: 'delivery-made' }>;

/** A webhook is made. */
export const webhookCreated = (id: string = v7()): Write => ({
  kind: 'webhook-created',
  id,
  url: 'https://receiver.test/',
  subscribedEvents: ['edge.core.test', 'edge.node.registered'],
  sealedSecret: 'sealed secret',
  sealedHeaders: 'sealed headers',
  atMs: NOW_MS,
});

/** Try `number` of a delivery that has a row: nobody answered, and it is tried again. */
export function attempted(
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
export function made(webhook: string, attempt: Attempt, more: Partial<Made> = {}): Made {
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
export async function openWebhook(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const webhook = v7();
  await fixture.store(null, webhookCreated(webhook));
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

/** What becomes of a delivery that was taken. */
export const DELIVERED = { status: 'delivered', nextAttemptAtMs: null } as const;
