/**
 * Events become deliveries: one row for each webhook that subscribed to the type, in the order of the events, but for
 * webhooks that are sent events at once, and store what came of it.
 */
import type { Pool, PoolClient } from 'pg';
import type { EventType } from '../../actors/events.ts';
import { beyond, eventCursor, settledBefore } from '../reads/events.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';
import { placeOf, type Place } from './channels.ts';
import { WEBHOOKS_CHANNEL } from './names.ts';

/**
 * Events in one transaction, at most, and rows that they may make, so that it stays short however many webhooks there
 * are.
 */
const ROUTED_EVENTS_MAX = 1_000;
const ROUTED_ROWS_MAX = 20_000;

/** The parts of an id as `deliveryId` makes it (actors/webhook/delivery-id.ts): once an event, and once a webhook. */
const LOW_MASK = sql`4611686018427387903::bigint`;
const VARIANT = sql`(-9223372036854775807 - 1)::bigint`;
const TIME_AND_PLACE = sql`lpad(to_hex((extract(epoch from coalesce(stored_at, time)) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(seq & 4095), 3, '0')`;

function lowBits(id: Sql): Sql {
  return sql`('x' || right(encode(uuid_send(${id}), 'hex'), 16))::bit(64)::bigint & ${LOW_MASK}`;
}

/** How far the channel is to be moved, and who needs no rows for that. */
export interface Route {
  readonly from: Place;
  readonly to: Place;
  readonly followers: readonly string[];
}

/** Where it is then, and who has new rows. */
export interface Routed {
  readonly place: Place;
  readonly webhooks: readonly string[];
}

/** An event as it is routed. */
interface RoutableEvent extends Omit<Row, 'stored_at'> {
  readonly cursor: string;
  readonly storedAtMs: number;
}

/** What can be routed now, and to whom. */
export interface Routable {
  readonly events: readonly RoutableEvent[];
  readonly webhooks: readonly string[];
  /** There may be more behind them. */
  readonly more: boolean;
  /** Some are behind a transaction that still runs. */
  readonly unsettled: boolean;
}

const NOTHING_TO_ROUTE: Routable = { events: [], webhooks: [], more: false, unsettled: false };

interface Row {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly stored_at: Date;
}

/**
 * Events behind a place that can be routed, at most `limit`. None where there is no webhook: the first one starts the
 * channel at itself.
 */
export async function eventsToRoute(pool: Pool, after: Place, limit: number): Promise<Routable> {
  // with each commit of a service that has none: the rest is three statements, one over a view of the whole server
  const [known] = await rowsOf<{ there: boolean }>(
    pool,
    'looking for webhooks',
    sql`select exists (select from webhook) as there`,
  );
  if (known?.there !== true) return NOTHING_TO_ROUTE;
  const settled = await settledBefore(pool);
  const most = Math.min(limit, ROUTED_EVENTS_MAX);
  const rows = await rowsOf<Row>(
    pool,
    'reading events for webhooks',
    sql`
    select txid::text as txid, seq::text as seq, id, type, subject, coalesce(stored_at, time) as stored_at
    from event where ${beyond(after)} and txid < ${settled}::xid8 and exists (select from webhook) order by event.txid, event.seq limit ${most}::int`,
  );
  const [rest] = await rowsOf<{ unsettled: boolean; webhooks: readonly string[] | null }>(
    pool,
    'finding webhooks for events',
    sql`
    select exists (select from event where txid >= ${settled}::xid8) and exists (select from webhook) as unsettled,
      (select array_agg(id::text) from webhook where subscribed_events && ${[...new Set(rows.map(({ type }) => type))]}::text[]) as webhooks`,
  );
  return {
    events: rows.map(({ stored_at: storedAt, ...event }) => ({
      ...event,
      cursor: eventCursor(event.txid, event.seq),
      storedAtMs: ms(storedAt),
    })),
    webhooks: rest?.webhooks ?? [],
    more: rows.length === most,
    unsettled: rest?.unsettled ?? false,
  };
}

/**
 * Makes the deliveries of some events, and moves the channel on, in one transaction. Null: the channel is not held
 * under this epoch any more.
 */
export function routeEvents(
  pool: Pool,
  epoch: number,
  { from, to, followers }: Route,
  attemptsMax: number,
): Promise<Routed | null> {
  return inTransaction(pool, 'routing events to webhooks', async (client) => {
    const place = await placeOf(client, WEBHOOKS_CHANNEL, epoch, true);
    if (place === null) return null;
    if (place.txid !== from.txid || place.seq !== from.seq) return { place, webhooks: [] };
    const [row] = await rowsOf<{ webhooks: number }>(
      client,
      'counting webhooks',
      sql`select count(*)::int as webhooks from webhook w where not w.id = any(${followers}::uuid[])`,
    );
    return store(client, { from, to, followers }, { webhooks: row?.webhooks ?? 0, attemptsMax });
  });
}

async function store(
  client: PoolClient,
  { from, to, followers }: Route,
  { webhooks, attemptsMax }: { readonly webhooks: number; readonly attemptsMax: number },
): Promise<Routed> {
  const made = webhooks === 0 ? null : await makeDeliveries(client, { from, to, followers }, webhooks, attemptsMax);
  const place = made?.last ?? to;
  await rowsOf(
    client,
    'moving the channel of webhooks',
    sql`update event_channel set txid = ${place.txid}::xid8, seq = ${place.seq}::bigint where name = ${WEBHOOKS_CHANNEL}`,
  );
  return { place, webhooks: made?.webhooks ?? [] };
}

/** `last`: the last event that was looked at; null: all were. */
async function makeDeliveries(
  client: PoolClient,
  { from, to, followers }: Route,
  webhooks: number,
  attemptsMax: number,
): Promise<{ readonly webhooks: readonly string[]; readonly last: Place | null }> {
  const limit = Math.max(1, Math.min(ROUTED_EVENTS_MAX, Math.floor(ROUTED_ROWS_MAX / webhooks)));
  const [row] = await rowsOf<{ webhooks: string[] | null; events: number; last: Place | null }>(
    client,
    'routing events to webhooks',
    sql`
    with chosen as materialized (
        select txid, seq, id, type, subject, coalesce(stored_at, time) as stored_at, ${TIME_AND_PLACE} as id_head, ${lowBits(sql`id`)} as low from event
        where ${beyond(from)} and txid <= ${to.txid}::xid8 and (txid, seq) <= (${to.txid}::xid8, ${to.seq}::bigint) order by txid, seq limit ${limit}::int),
      receiving as materialized (
        select id, txid, subscribed_events, ${lowBits(sql`id`)} as low from webhook where not id = any(${followers}::uuid[])),
      stored as (
        insert into webhook_delivery (id, webhook_id, event_txid, event_seq, event_id, event_type, subject, attempts_max, inserted_at, updated_at)
        select (e.id_head || to_hex((w.low + e.low) & ${LOW_MASK} | ${VARIANT}))::uuid, w.id, e.txid, e.seq, e.id, e.type, e.subject, ${attemptsMax}::int, e.stored_at, now()
        from chosen e join receiving w on e.type = any(w.subscribed_events) and e.txid > w.txid
        order by e.txid, e.seq, w.id on conflict (id) do nothing returning webhook_id)
    select (select count(*)::int from chosen) as events, (select array_agg(distinct webhook_id::text) from stored) as webhooks,
      (select json_build_object('txid', txid::text, 'seq', seq::text) from chosen order by txid desc, seq desc limit 1) as last`,
  );
  const isCut = row?.events === limit;
  return { webhooks: row?.webhooks ?? [], last: isCut ? row.last : null };
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
