/** Envelopes of stored events as text: read once for all webhooks that are sent one, and kept while they are fresh. */
import type { Pool } from 'pg';
import { envelopeText, type EventType } from '../../actors/events.ts';
import { batched } from '../reads/batch.ts';
import { cursorPlace, eventCursor } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Text that is kept for others who send the same event, in UTF-16 units: some 16 MiB. */
export const KEPT_UNITS_MAX = 8_388_608;

/** The envelope of the event at a cursor; null when it is no longer stored. */
export type EventBodies = (cursor: string) => Promise<string | null>;

interface Row {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly time: Date;
  readonly data: string;
}

/** Bodies on this pool. Those asked for together are read together. */
export function createEventBodies(pool: Pool, coreName: string): EventBodies {
  const kept = new Map<string, string>();
  const asked = new Map<string, Promise<string | null>>();
  let units = 0;

  const read = batched(async (cursors: readonly string[]) => {
    const places = cursors.map((cursor) => cursorPlace(cursor) ?? { txid: '0', seq: '0' });
    const rows = await rowsOf<Row>(pool, 'reading bodies of events', sql`
      select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.time, e.data::text as data
      from unnest(${places.map(({ txid }) => txid)}::xid8[], ${places.map(({ seq }) => seq)}::bigint[]) as p(txid, seq) join event e on e.txid = p.txid and e.seq = p.seq`);
    const found = new Map(rows.map((row) => [eventCursor(row.txid, row.seq), envelopeText({ id: row.id, type: row.type, time: row.time.toISOString() }, row.data, coreName)]));
    return cursors.map((cursor) => found.get(cursor) ?? null);
  });

  function keep(cursor: string, text: string): void {
    kept.set(cursor, text);
    units += text.length;
    for (const [oldest, { length }] of kept) {
      if (units <= KEPT_UNITS_MAX) return;
      kept.delete(oldest);
      units -= length;
    }
  }

  return (cursor) => {
    const text = kept.get(cursor);
    if (text !== undefined) return Promise.resolve(text);
    const known = asked.get(cursor);
    if (known !== undefined) return known;
    const reading = read(cursor).then((body) => {
      if (body !== null) keep(cursor, body);
      return body;
    }).finally(() => asked.delete(cursor));
    asked.set(cursor, reading);
    return reading;
  };
}
