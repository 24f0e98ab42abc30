/**
 * Envelopes of stored events as they are sent: read once for all webhooks that are sent one, and kept while they are
 * fresh.
 */
import type { Pool } from 'pg';
import { envelopeText, type EventType } from '../../actors/events.ts';
import { batched } from '../reads/batch.ts';
import { cursorPlace, eventCursor } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { BATCH_BYTES_MAX } from './broker-rows.ts';

/** Bodies that are kept for others who send the same event, in bytes. */
export const KEPT_BYTES_MAX = 16_777_216;

/**
 * Bodies asked for in one statement, at most: it takes the size of each of them, also of those that do not fit into
 * BATCH_BYTES_MAX. Of executions with the longest script that is some 15 MiB.
 */
const BODIES_ASKED_MAX = 100;

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
  /** Null: it did not fit. */
  readonly data: string | null;
}

/** The event is there, and its turn is in a later statement. */
type DidNotFit = 'did-not-fit';

/**
 * Not Buffer.from: it cuts small buffers out of slabs of 8 KiB that others share, and one body kept would keep a slab.
 */
const utf8 = new TextEncoder();

/**
 * Bodies on this pool. Those asked for together are read together, as many as a batch of the broker takes
 * (BATCH_BYTES_MAX): webhooks that begin anew ask for hundreds, each of which may hold a script, and a statement that
 * reads them all is given up, and then all of them ask again.
 */
export function createEventBodies(pool: Pool, coreName: string): EventBodies {
  const kept = new Map<string, Uint8Array>();
  const asked = new Map<string, Promise<Uint8Array | null>>();
  let bytes = 0;

  const read = batched(
    async (cursors: readonly string[]) => {
      const places = cursors.map((cursor) => cursorPlace(cursor) ?? { txid: '0', seq: '0' });
      const rows = await rowsOf<Row>(
        pool,
        'reading bodies of events',
        sql`
      select txid::text as txid, seq::text as seq, id, type, time, case when bytes <= ${BATCH_BYTES_MAX}::int or place = 1 then data::text end as data
      from (
        select e.*, sum(octet_length(e.data::text)) over in_order as bytes, row_number() over in_order as place
        from unnest(${places.map(({ txid }) => txid)}::xid8[], ${places.map(({ seq }) => seq)}::bigint[]) with ordinality as p(txid, seq, asked) join event e on e.txid = p.txid and e.seq = p.seq
        window in_order as (order by p.asked rows unbounded preceding)) sized`,
      );
      const found = new Map(rows.map((row) => [eventCursor(row.txid, row.seq), bodyOf(row, coreName)]));
      return cursors.map((cursor) => found.get(cursor) ?? null);
    },
    { keysMax: BODIES_ASKED_MAX },
  );

  async function readInTurn(cursor: string): Promise<Uint8Array | null> {
    for (;;) {
      const body = await read(cursor);
      if (body !== 'did-not-fit') return body;
    }
  }

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
    const reading = readInTurn(cursor)
      .then((body) => {
        if (body !== null) keep(cursor, body);
        return body;
      })
      .finally(() => asked.delete(cursor));
    asked.set(cursor, reading);
    return reading;
  };
}

function bodyOf({ id, type, time, data }: Row, coreName: string): Uint8Array | DidNotFit {
  if (data === null) return 'did-not-fit';
  return utf8.encode(envelopeText({ id, type, time: time.toISOString() }, data, coreName));
}
