/** Events in commit order (V1). */
import type { Pool, PoolClient } from 'pg';
import type { EventsRead, EventType, StoredEvent } from '../../actors/events.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/**
 * `<txid>-<seq>`: the transaction that wrote an event (by `event_transaction()`, which goes on where a restored
 * database has other transaction ids), and its place there.
 */
const CURSOR = /^(\d{1,19})-(\d{1,18})$/u;

/**
 * Text of the events in one read, in bytes; an event that is larger is one by itself. It is a message to whoever
 * watches, so that it stays far below what may wait in a socket (UNREAD_BYTES_MAX).
 */
export const EVENTS_READ_BYTES_MAX = 1_048_576;

/** Events among which the latest of some types are looked for. */
export const LATEST_LOOKED_AT_MAX = 10_000;

/** An event as it is read. */
export interface EventRow {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly time: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Of events `e` and a channel `c`: it has not taken them. The first condition chooses partitions, the second rows. */
export const BEHIND_CHANNEL = sql`e.txid >= c.txid and (e.txid, e.seq) > (c.txid, c.seq)`;

/** Events after this place, as above. */
export function beyond({ txid, seq }: { readonly txid: string; readonly seq: string }): Sql {
  return sql`txid >= ${txid}::xid8 and (txid, seq) > (${txid}::xid8, ${seq}::bigint)`;
}

/**
 * Events after a cursor, oldest first, and the cursor to go on from. Only transactions older than every one still
 * running here are read, so one that commits late is not skipped: it comes later, and nothing newer before it. Null, or
 * what is no cursor, starts at the end, and so does one that lies ahead: it was given before the database was set back.
 */
export async function eventsAfter(pool: Pool, cursor: string | null, limit: number): Promise<EventsRead> {
  const place = cursorPlace(cursor);
  const settled = await settledBefore(pool);
  if (cursor === null || place === null || BigInt(place.txid) > BigInt(settled))
    return { events: [], cursor: eventCursor(settled, '0'), bytes: 0, more: false };
  // What is stored is compressed: what is beyond the bound by that is not unpacked to be measured.
  const rows = await rowsOf<EventRow & { readonly found: number; readonly bytes: number }>(
    pool,
    'reading events',
    sql`
    select found::int as found, bytes::int as bytes, txid::text as txid, seq::text as seq, id, type, subject, time, data from (
      select *, sum(octet_length(data::text)) over in_order as bytes, row_number() over in_order as place from (
        select *, count(*) over () as found, sum(pg_column_size(data)) over in_order as stored_bytes, row_number() over in_order as stored_place
        from (select * from event where ${beyond(place)} and txid < ${settled}::xid8 order by event.txid, event.seq limit ${limit}::int) chosen
        window in_order as (order by txid, seq rows unbounded preceding)) stored
      where stored_bytes <= ${EVENTS_READ_BYTES_MAX}::int or stored_place = 1
      window in_order as (order by txid, seq rows unbounded preceding)) sized
    where bytes <= ${EVENTS_READ_BYTES_MAX}::int or place = 1 order by sized.txid, sized.seq`,
  );
  const events = rows.map(storedEvent);
  const found = rows[0]?.found ?? 0;
  return {
    events,
    cursor: events.at(-1)?.cursor ?? cursor,
    bytes: rows.at(-1)?.bytes ?? 0,
    more: found === limit || rows.length < found,
  };
}

/**
 * The cursor before the latest `count` events of these types (of all where `types` is empty), or as many of them as are
 * among the last LATEST_LOOKED_AT_MAX: no index finds events by type. Where there are none, that of the end.
 */
export async function beforeLatest(pool: Pool, types: readonly EventType[], count: number): Promise<string> {
  const settled = await settledBefore(pool);
  const isWanted = types.length === 0 ? sql`true` : sql`type = any(${types}::text[])`;
  const latestFirst = sql`order by txid desc, seq desc`;
  const [first] = await rowsOf<Pick<EventRow, 'txid' | 'seq'>>(
    pool,
    'reading events',
    sql`
    select txid::text as txid, (seq - 1)::text as seq from (
      select txid, seq from (
        select txid, seq, type from event where txid < ${settled}::xid8 ${latestFirst} limit ${LATEST_LOOKED_AT_MAX}::int) looked_at
      where ${isWanted} ${latestFirst} limit ${count}::int) latest
    order by latest.txid, latest.seq limit 1`,
  );
  return eventCursor(first?.txid ?? settled, first?.seq ?? '0');
}

/** An event from its row. */
export function storedEvent(row: EventRow): StoredEvent {
  return {
    cursor: eventCursor(row.txid, row.seq),
    id: row.id,
    type: row.type,
    subject: row.subject,
    time: row.time.toISOString(),
    data: row.data,
  };
}

/**
 * All transactions below this id have ended, as far as they are of this database: pg_snapshot_xmin alone would let a
 * long transaction in another database of the same server hold up the feed. Of those in the snapshot, the ones that
 * have ended by the time the activity is looked at are seen by the next statement, whose snapshot is newer.
 */
export async function settledBefore(pool: Pool | PoolClient): Promise<string> {
  const [row] = await rowsOf<{ id: string }>(
    pool,
    'reading events',
    sql`
    with now as materialized (select pg_current_snapshot() as snapshot)
    select ((select xid_base from database_incarnation) + coalesce(
      (select running from now, pg_snapshot_xip(snapshot) as running where exists (select from pg_stat_activity a where a.datname = current_database() and a.backend_xid = running::xid) order by running limit 1),
      (select pg_snapshot_xmax(snapshot) from now))::text::bigint)::text as id`,
  );
  if (row === undefined) throw new Error('A statement without a condition gave no row.');
  return row.id;
}

/** The place that a cursor names; null when it is none. */
export function cursorPlace(cursor: string | null): { readonly txid: string; readonly seq: string } | null {
  const [, txid, seq] = CURSOR.exec(cursor ?? '') ?? [];
  return txid === undefined || seq === undefined ? null : { txid, seq };
}

/** The cursor of an event. */
export function eventCursor(txid: string, seq: string): string {
  return `${txid}-${seq}`;
}
