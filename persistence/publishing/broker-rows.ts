/** Events for the broker, as they are stored, and how far it has them. */
import type { Pool } from 'pg';
import { topicOf } from '../../actors/event-topics.ts';
import { envelopeText, type EventType } from '../../actors/events.ts';
import type { PublishedEvent } from '../../actors/published-event.ts';
import { cursorPlace, eventCursor, settledBefore } from '../reads/events.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { placeOf } from './channels.ts';
import { BROKER_CHANNEL } from './names.ts';

/** What is there to publish. */
export interface BrokerBatch {
  /** In order. Those that were too old are not among them. */
  readonly events: readonly PublishedEvent[];
  /** Events that were too old to be published any more. */
  readonly tooOld: number;
  /** Where the channel stands once all of this is published; null: there was nothing. */
  readonly to: string | null;
  /** There may be more at once. */
  readonly more: boolean;
  /** Events are there behind a transaction that still runs: nobody will tell when it ends. */
  readonly unsettled: boolean;
}

interface Row {
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly time: Date;
  readonly data: string;
}

/** The next events behind the cursor `after` (null: where the channel stands), at most `limit`. Null: the channel is not held under this epoch any more. */
export async function nextForBroker(pool: Pool, epoch: number, after: string | null, limit: number, notBeforeMs: number, coreName: string): Promise<BrokerBatch | null> {
  const place = cursorPlace(after) ?? await placeOf(pool, BROKER_CHANNEL, epoch, false);
  if (place === null) return null;
  const settled = await settledBefore(pool);
  const rows = await rowsOf<Row>(pool, 'reading events for the broker', sql`
    select txid::text as txid, seq::text as seq, id, type, subject, time, data::text as data from event
    where (txid, seq) > (${place.txid}::xid8, ${place.seq}::bigint) and txid < ${settled}::xid8 order by event.txid, event.seq limit ${limit}::int`);
  const events = rows.filter(({ time }) => time.getTime() >= notBeforeMs).map((row): PublishedEvent => ({
    id: row.id, type: row.type, subject: row.subject, topic: topicOf(row.type), coreName, text: envelopeText({ id: row.id, type: row.type, time: row.time.toISOString() }, row.data, coreName),
  }));
  const last = rows.at(-1);
  const more = rows.length === limit;
  return { events, tooOld: rows.length - events.length, to: last === undefined ? null : eventCursor(last.txid, last.seq), more, unsettled: !more && await areUnsettled(pool, settled) };
}

async function areUnsettled(pool: Pool, settled: string): Promise<boolean> {
  const [row] = await rowsOf<{ there: boolean }>(pool, 'looking for unsettled events', sql`select exists (select from event where txid >= ${settled}::xid8) as there`);
  return row?.there ?? false;
}

/** Moves the channel on. False: it is not held under this epoch any more. */
export async function advanceBroker(pool: Pool, epoch: number, to: string): Promise<boolean> {
  const place = cursorPlace(to);
  if (place === null) throw new Error(`No place in the events: ${to}`);
  const rows = await rowsOf(pool, 'moving the broker on', sql`
    update event_channel set txid = ${place.txid}::xid8, seq = ${place.seq}::bigint where name = ${BROKER_CHANNEL} and epoch = ${epoch}::bigint and lease_until > clock_timestamp() returning 1`);
  return rows.length === 1;
}

/** Events that a channel has not taken yet, counted up to `limit`. */
export async function backlogOf(pool: Pool, channel: string, limit: number): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(pool, 'counting the backlog of a channel', sql`
    select count(*)::int as count from (select 1 from event_channel c join event e on (e.txid, e.seq) > (c.txid, c.seq) where c.name = ${channel} limit ${limit}::int) waiting`);
  return row?.count ?? 0;
}
