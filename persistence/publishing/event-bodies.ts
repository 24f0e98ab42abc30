/**
 * Envelopes of stored events as they are sent: read once for all webhooks that are sent one, and kept while they are
 * fresh.
 */
import type { Pool } from 'pg';
import { envelopeText, type EventType } from '../../actors/events.ts';
import { batched } from '../reads/batch.ts';
import { cursorPlace, eventCursor } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Bodies that are kept for others who send the same event, in bytes. */
export const KEPT_BYTES_MAX = 16_777_216;

/**
 * The envelope of the event at a cursor in UTF-8; null when it is no longer stored. All who are sent one hold the same
 * bytes, which nobody may change: a thousand webhooks may have dozens of requests in line each, and with bytes of their
 * own these would be gigabytes (V3).
 */
export type EventBodies = (cursor: string) => Promise<Uint8Array | null>;

interface Row {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly time: Date;
  readonly data: string;
}

/**
 * Not Buffer.from: it cuts small buffers out of slabs of 8 KiB that others share, and one body kept would keep a slab.
 */
const utf8 = new TextEncoder();

/** Bodies on this pool. Those asked for together are read together. */
export function createEventBodies(pool: Pool, coreName: string): EventBodies {
  const kept = new Map<string, Uint8Array>();
  const asked = new Map<string, Promise<Uint8Array | null>>();
  let bytes = 0;

  const read = batched(async (cursors: readonly string[]) => {
    const places = cursors.map((cursor) => cursorPlace(cursor) ?? { txid: '0', seq: '0' });
    const rows = await rowsOf<Row>(
      pool,
      'reading bodies of events',
      sql`
      select e.txid::text as txid, e.seq::text as seq, e.id, e.type, e.time, e.data::text as data
      from unnest(${places.map(({ txid }) => txid)}::xid8[], ${places.map(({ seq }) => seq)}::bigint[]) as p(txid, seq) join event e on e.txid = p.txid and e.seq = p.seq`,
    );
    const found = new Map(
      rows.map((row) => [
        eventCursor(row.txid, row.seq),
        utf8.encode(envelopeText({ id: row.id, type: row.type, time: row.time.toISOString() }, row.data, coreName)),
      ]),
    );
    return cursors.map((cursor) => found.get(cursor) ?? null);
  });

  function keep(cursor: string, body: Uint8Array): void {
    kept.set(cursor, body);
    bytes += body.byteLength;
    for (const [oldest, { byteLength }] of kept) {
      if (bytes <= KEPT_BYTES_MAX) return;
      kept.delete(oldest);
      bytes -= byteLength;
    }
  }

  return (cursor) => {
    const ready = kept.get(cursor);
    if (ready !== undefined) return Promise.resolve(ready);
    const known = asked.get(cursor);
    if (known !== undefined) return known;
    const reading = read(cursor)
      .then((body) => {
        if (body !== null) keep(cursor, body);
        return body;
      })
      .finally(() => asked.delete(cursor));
    asked.set(cursor, reading);
    return reading;
  };
}
