/** A webhook and its unfinished deliveries from rows. */
import type { Pool } from 'pg';
import type { EventType } from '../../actors/events.ts';
import type { DeliveryStatus } from '../../actors/resources/webhook.ts';
import type { DeliveryRef } from '../../actors/webhook/delivery.ts';
import { unloaded, type WebhookState } from '../../actors/webhook/state.ts';
import { cursorPlace, eventCursor } from '../reads/events.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly subscribed_events: readonly EventType[];
  readonly sealed_secret: string;
  readonly sealed_headers: string;
  readonly inserted_at: Date;
}

/** A webhook with an empty window; null when there is none. */
export async function webhookState(pool: Pool, id: string): Promise<WebhookState | null> {
  const [row] = await rowsOf<WebhookRow>(
    pool,
    'loading a webhook',
    sql`select id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at from webhook where id = ${id}::uuid`,
  );
  if (row === undefined) return null;
  const record = {
    id: row.id,
    url: row.url,
    subscribedEvents: row.subscribed_events,
    sealedSecret: row.sealed_secret,
    sealedHeaders: row.sealed_headers,
    insertedAtMs: ms(row.inserted_at),
  };
  return unloaded(record);
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** A delivery's row, as far as its actor needs it. */
export interface DeliveryRow {
  readonly id: string;
  readonly txid: string;
  readonly seq: string;
  readonly event_id: string;
  readonly subject: string;
  readonly attempt_count: number;
  readonly attempts_max: number;
  readonly next_attempt_at: Date | null;
}

/** Deliveries of a webhook that have rows. */
export interface UnfinishedDeliveries {
  readonly deliveries: readonly DeliveryRef[];
  /** There are others. */
  readonly more: boolean;
  /** The transaction of the webhook; null: there is no such webhook. */
  readonly since: string | null;
}

/** Unfinished deliveries behind a cursor in the order of their events. */
export async function unfinishedDeliveries(
  pool: Pool,
  webhook: string,
  after: string | null,
  limit: number,
): Promise<UnfinishedDeliveries> {
  const { txid, seq } = cursorPlace(after) ?? { txid: '0', seq: '0' };
  const rows = await rowsOf<{ since: string } & Nullable<DeliveryRow>>(
    pool,
    'loading deliveries',
    sql`
    select w.txid::text as since, d.* from webhook w left join lateral (
      select id, event_txid::text as txid, event_seq::text as seq, event_id, subject, attempt_count, attempts_max, next_attempt_at from webhook_delivery
      where webhook_id = w.id and status = 'pending' and (event_txid, event_seq) > (${txid}::xid8, ${seq}::bigint)
      order by event_txid, event_seq limit ${limit + 1}::int) d on true
    where w.id = ${webhook}::uuid order by d.txid::xid8, d.seq::bigint`,
  );
  const found = rows.filter((row): row is typeof row & DeliveryRow => row.id !== null); // one alone says that there are none
  return {
    deliveries: found.slice(0, limit).map(deliveryRef),
    more: found.length > limit,
    since: rows[0]?.since ?? null,
  };
}

/** A row as its actor holds it. */
export function deliveryRef(row: DeliveryRow): DeliveryRef {
  return {
    id: row.id,
    cursor: eventCursor(row.txid, row.seq),
    eventId: row.event_id,
    subject: row.subject,
    attempts: row.attempt_count,
    attemptsMax: row.attempts_max,
    dueAtMs: row.next_attempt_at === null ? null : ms(row.next_attempt_at),
    unstored: null,
  };
}

/** Those of these ids that there are, with what is to be sent; null: nothing, it is finished. */
export async function storedDeliveries(
  pool: Pool,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DeliveryRef | null>> {
  const rows = await rowsOf<DeliveryRow & { readonly status: DeliveryStatus }>(
    pool,
    'looking for deliveries',
    sql`
    select id, event_txid::text as txid, event_seq::text as seq, event_id, subject, attempt_count, attempts_max, next_attempt_at, status
    from webhook_delivery where id = any(${ids}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.id, row.status === 'pending' ? deliveryRef(row) : null]));
}
