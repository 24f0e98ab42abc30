/** Events in commit order (V1). */
import type { Pool, PoolClient } from 'pg';
import type { EventType, StoredEvent } from '../../actors/events.ts';
import { rowsOf, sql } from './sql.ts';

/**
 * `<txid>-<seq>`: the transaction that wrote an event (by `event_transaction()`, which goes on where a restored
 * database has other transaction ids), and its place there.
 */
const CURSOR = /^(\d{1,19})-(\d{1,18})$/u;

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

/**
 * Events after a cursor, oldest first, and the cursor to go on from. Only transactions older than every one still
 * running here are read, so one that commits late is not skipped: it comes later, and nothing newer before it. Null, or
 * what is no cursor, starts at the end, and so does one that lies ahead: it was given before the database was set back.
 */
export async function eventsAfter(
  pool: Pool,
  cursor: string | null,
  limit: number,
): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: string }> {
  const place = cursorPlace(cursor);
  const settled = await settledBefore(pool);
  if (cursor === null || place === null || BigInt(place.txid) > BigInt(settled))
    return { events: [], cursor: eventCursor(settled, '0') };
  const rows = await rowsOf<EventRow>(
    pool,
    'reading events',
    sql`
    select txid::text as txid, seq::text as seq, id, type, subject, time, data from event
    where (txid, seq) > (${place.txid}::xid8, ${place.seq}::bigint) and txid < ${settled}::xid8 order by event.txid, event.seq limit ${limit}::int`,
  );
  const events = rows.map(storedEvent);
  return { events, cursor: events.at(-1)?.cursor ?? cursor };
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
