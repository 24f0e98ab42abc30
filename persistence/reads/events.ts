/** Events in commit order (V1). */
import type { Pool } from 'pg';
import type { EventType, StoredEvent } from '../../actors/events.ts';
import { iso } from './source.ts';
import { rowsOf, sql } from './sql.ts';

/** `<txid>-<seq>`: the transaction that wrote an event, and its place there. */
const CURSOR = /^(\d{1,19})-(\d{1,18})$/u;

interface EventRow {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly time: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Events after a cursor, oldest first, and the cursor to go on from. Only transactions older than every one still running are read,
 * so one that commits late is not skipped: it comes later, and nothing newer before it. Null, or what is no cursor, starts at the end.
 */
export async function eventsAfter(pool: Pool, cursor: string | null, limit: number): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: string }> {
  const [, txid, seq] = CURSOR.exec(cursor ?? '') ?? [];
  if (cursor === null || txid === undefined || seq === undefined) return { events: [], cursor: await end(pool) };
  const rows = await rowsOf<EventRow>(pool, 'reading events', sql`
    select txid::text as txid, seq::text as seq, id, type, subject, time, data from event
    where (txid, seq) > (${txid}::xid8, ${seq}::bigint) and txid < pg_snapshot_xmin(pg_current_snapshot()) order by txid, seq limit ${limit}::int`);
  const events = rows.map((row): StoredEvent => ({ cursor: eventCursor(row.txid, row.seq), id: row.id, type: row.type, subject: row.subject, time: iso(row.time), data: row.data }));
  return { events, cursor: events.at(-1)?.cursor ?? cursor };
}

/** A cursor behind every event that can be read now. */
async function end(pool: Pool): Promise<string> {
  const [row] = await rowsOf<{ xmin: string }>(pool, 'reading events', sql`select pg_snapshot_xmin(pg_current_snapshot())::text as xmin`);
  return eventCursor(row?.xmin ?? '0', '0');
}

/** The cursor of an event. */
export function eventCursor(txid: string, seq: string): string {
  return `${txid}-${seq}`;
}
