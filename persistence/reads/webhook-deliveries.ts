/** The list of deliveries, and their tries. */
import type { Pool } from 'pg';
import { LISTS } from '../../actors/filters.ts';
import type { Reads } from '../../api/ports.ts';
import type { WebhookAttempt, WebhookDeliveryResource } from '../../actors/resources/webhook.ts';
import { deliveryRef, type DeliveryRow } from '../loader/webhooks.ts';
import { storedEvent, type EventRow } from './events.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

/** The list of deliveries. Long, so its rows are counted. */
export const WEBHOOK_DELIVERIES: Source<WebhookDeliveryResource> = {
  spec: LISTS.webhook_deliveries,
  counted: 'webhook_delivery',
  table: sql`webhook_delivery d`,
  id: sql`d.id`,
  joinCluster: sql``,
  fields: {
    webhook_id: { column: sql`d.webhook_id` },
    event_id: { column: sql`d.event_id` },
    event_type: { column: sql`d.event_type` },
    status: { column: sql`d.status` },
    attempt_count: { column: sql`d.attempt_count` },
    last_status_code: { column: sql`d.last_status_code` },
    inserted_at: { column: sql`d.inserted_at`, creation: true },
    updated_at: { column: sql`d.updated_at` },
  },
  narrow: { does: ({ field }) => field === 'webhook_id', words: 'webhook_id' },
  creation: [sql`d.id`], // UUID v7: the primary key is in order of creation
  resources,
};

/** Deliveries of a deleted webhook may be there until they are swept: they are not shown. */
async function resources(
  { pool }: Reading,
  ids: readonly string[],
  single: boolean,
): Promise<WebhookDeliveryResource[]> {
  const rows = await rowsOf<RowOf<typeof WebhookDeliveryResource, 'attempts' | 'event'>>(
    pool,
    'reading deliveries',
    sql`
    select d.id, d.webhook_id, d.event_id, d.event_type, d.status, d.attempt_count, d.last_status_code, d.last_error, d.last_duration_ms, d.last_attempted_at, d.next_attempt_at, d.inserted_at, d.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join webhook_delivery d on d.id = page.id join webhook w on w.id = d.webhook_id order by page.place`,
  );
  const attempts = single ? await attemptsOf(pool, ids[0] ?? '') : undefined;
  return rows.map((row) => ({ ...withIsoTimes(row), ...(attempts && { attempts }) }));
}

/** One that succeeded at its first try has what came of that in its own row. */
async function attemptsOf(pool: Pool, delivery: string): Promise<readonly WebhookAttempt[]> {
  const rows = await rowsOf<RowOf<typeof WebhookAttempt>>(
    pool,
    'reading the tries of a delivery',
    sql`
    select number, attempted_at, duration_ms, status_code, error, response_body from webhook_attempt where delivery_id = ${delivery}::uuid
    union all select 1, last_attempted_at, last_duration_ms, last_status_code, last_error, last_response_body from webhook_delivery d
      where id = ${delivery}::uuid and attempt_count = 1 and not exists (select from webhook_attempt a where a.delivery_id = d.id)
    order by number`,
  );
  return rows.map(withIsoTimes);
}

/** What a delivery sends; null when it or its event is gone. */
export async function deliveredEvent(pool: Pool, id: string): ReturnType<Reads['deliveredEvent']> {
  const [row] = await rowsOf<EventRow>(
    pool,
    'reading what was delivered',
    sql`
    select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.subject, e.time, e.data
    from webhook_delivery d join event e on e.txid = d.event_txid and e.seq = d.event_seq where d.id = ${id}::uuid`,
  );
  return row === undefined ? null : storedEvent(row);
}

/** A delivery as its actor would hold it; null when it or its webhook is gone. */
export async function deliveryOf(pool: Pool, id: string): ReturnType<Reads['delivery']> {
  const [row] = await rowsOf<DeliveryRow & { webhook_id: string; has_event: boolean }>(
    pool,
    'finding a delivery',
    sql`
    select d.id, d.webhook_id, d.event_txid::text as txid, d.event_seq::text as seq, d.event_id, d.subject, d.attempt_count, d.attempts_max, d.next_attempt_at,
      exists (select from event e where e.txid = d.event_txid and e.seq = d.event_seq) as has_event
    from webhook_delivery d join webhook w on w.id = d.webhook_id where d.id = ${id}::uuid`,
  );
  return row === undefined ? null : { webhook: row.webhook_id, ref: deliveryRef(row), hasEvent: row.has_event };
}
