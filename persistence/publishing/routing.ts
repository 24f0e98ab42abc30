/** Events become deliveries: one row for each webhook that subscribed to the type, in the order of the events. */
import type { Pool, PoolClient } from 'pg';
import { beyond, settledBefore } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';
import { placeOf } from './channels.ts';
import { WEBHOOKS_CHANNEL } from './names.ts';

/**
 * Events in one transaction, at most, and rows that they may make, so that it stays short however many webhooks there
 * are.
 */
const ROUTED_EVENTS_MAX = 1_000;
const ROUTED_ROWS_MAX = 20_000;

/** What one round of routing came to. */
export interface Routed {
  /** Webhooks that have new deliveries. */
  readonly webhooks: readonly string[];
  /** Events are left that can be routed at once. */
  readonly more: boolean;
  /** Events are there behind a transaction that still runs: nobody will tell when it ends. */
  readonly unsettled: boolean;
}

const NOTHING: Routed = { webhooks: [], more: false, unsettled: false };

/**
 * Routes some events and moves the channel on, in one transaction. Null: the channel is not held under this epoch any
 * more.
 */
export function routeEvents(pool: Pool, epoch: number, attemptsMax: number): Promise<Routed | null> {
  return inTransaction(pool, 'routing events to webhooks', async (client) => {
    const place = await placeOf(client, WEBHOOKS_CHANNEL, epoch, true);
    if (place === null) return null;
    const [row] = await rowsOf<{ webhooks: number }>(
      client,
      'counting webhooks',
      sql`select count(*)::int as webhooks from webhook`,
    );
    const webhooks = row?.webhooks ?? 0;
    if (webhooks === 0) return NOTHING; // the first webhook starts the channel at itself
    return store(
      client,
      place,
      Math.max(1, Math.min(ROUTED_EVENTS_MAX, Math.floor(ROUTED_ROWS_MAX / webhooks))),
      attemptsMax,
    );
  });
}

async function store(
  client: PoolClient,
  place: { readonly txid: string; readonly seq: string },
  limit: number,
  attemptsMax: number,
): Promise<Routed> {
  const settled = await settledBefore(client);
  const [row] = await rowsOf<{ events: number; webhooks: string[] | null; unsettled: boolean }>(
    client,
    'routing events to webhooks',
    sql`
    with chosen as materialized (
        select txid, seq, id, type, subject from event where ${beyond(place)} and txid < ${settled}::xid8 order by txid, seq limit ${limit}::int),
      stored as (
        insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, attempts_max, inserted_at, updated_at)
        select w.id, e.txid, e.seq, e.id, e.type, e.subject, ${attemptsMax}::int, now(), now() from chosen e join webhook w on e.type = any(w.subscribed_events) and e.txid > w.txid
        order by e.txid, e.seq returning webhook_id),
      moved as (
        update event_channel c set txid = l.txid, seq = l.seq from (select txid, seq from chosen order by txid desc, seq desc limit 1) l where c.name = ${WEBHOOKS_CHANNEL})
    select (select count(*)::int from chosen) as events, (select array_agg(distinct webhook_id::text) from stored) as webhooks, exists (select from event where txid >= ${settled}::xid8) as unsettled`,
  );
  return { webhooks: row?.webhooks ?? [], more: row?.events === limit, unsettled: row?.unsettled ?? false };
}

/** Webhooks that have unfinished deliveries: their actors are started when an admin takes the channel. */
export async function webhooksWithDeliveries(pool: Pool): Promise<readonly string[]> {
  const rows = await rowsOf<{ id: string }>(
    pool,
    'finding webhooks with deliveries',
    sql`
    select w.id from webhook w where exists (select from webhook_delivery d where d.webhook_id = w.id and d.status = 'pending')`,
  );
  return rows.map(({ id }) => id);
}
