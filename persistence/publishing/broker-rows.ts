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
  /** All transactions below this id have ended: behind a batch that had more to follow it still holds. */
  readonly horizon: string;
}

/** All rows of a batch as one text: `pg` made two thirds of the cost of an event out of rows and columns (profile of `bench brokers nats`). */
interface Row {
  /** Events that were there, up to the limit. */
  readonly found: number;
  /** Those of them that fit into the batch. */
  readonly count: number;
  readonly txid: string | null;
  readonly seq: string | null;
  readonly events: string | null;
}

/**
 * Text of the events in one batch, in bytes; an event that is larger is a batch by itself. Scripts are in the events of their executions, so
 * that by their number alone a batch of a fan-out could take 60 MiB, several times over, and another one is read ahead.
 */
export const BATCH_BYTES_MAX = 8_388_608;

/** What separates events, and the parts of one: JSON escapes control characters, and nothing else in an event has any. */
const BETWEEN_EVENTS = '\u001E';
const BETWEEN_PARTS = '\u001F';

/** The next events behind a batch (null: behind where the channel stands), at most `limit`. Null: the channel is not held under this epoch any more. */
export async function nextForBroker(pool: Pool, epoch: number, after: Pick<BrokerBatch, 'to' | 'horizon'> | null, limit: number, notBeforeMs: number, coreName: string): Promise<BrokerBatch | null> {
  const place = cursorPlace(after?.to ?? null) ?? await placeOf(pool, BROKER_CHANNEL, epoch, false);
  if (place === null) return null;
  const settled = after?.horizon ?? await settledBefore(pool);
  const [row] = await rowsOf<Row>(pool, 'reading events for the broker', sql`
    select count(*)::int as found, count(*) filter (where fits)::int as count,
      (array_agg(txid::text) filter (where fits))[count(*) filter (where fits)] as txid, (array_agg(seq::text) filter (where fits))[count(*) filter (where fits)] as seq,
      string_agg(text, ${BETWEEN_EVENTS}) filter (where fits and is_fresh) as events
    from (
      select *, sum(octet_length(text)) over (order by txid, seq rows unbounded preceding) <= greatest(${BATCH_BYTES_MAX}::int, first_value(octet_length(text)) over (order by txid, seq rows unbounded preceding)) as fits
      from (
        select txid, seq, time >= ${new Date(notBeforeMs)}::timestamptz as is_fresh, concat_ws(${BETWEEN_PARTS}, id, type, subject, to_char(time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), data) as text
        from event where (txid, seq) > (${place.txid}::xid8, ${place.seq}::bigint) and txid < ${settled}::xid8 order by txid, seq limit ${limit}::int) in_order) sized`);
  const { found = 0, count = 0 } = row ?? {};
  const events = (row?.events ?? '').split(BETWEEN_EVENTS).filter((text) => text !== '').map((text) => publishedEvent(text, coreName));
  const more = found === limit || count < found;
  return {
    events, tooOld: count - events.length, to: row?.txid === null || row?.txid === undefined ? null : eventCursor(row.txid, row.seq ?? ''), more, unsettled: !more && await areUnsettled(pool, settled), horizon: settled,
  };
}

function publishedEvent(text: string, coreName: string): PublishedEvent {
  const [id = '', type = '', subject = '', time = '', data = ''] = text.split(BETWEEN_PARTS);
  const event = { id, type: type as EventType, time };
  return { id, type: event.type, subject, topic: topicOf(event.type), coreName, text: envelopeText(event, data, coreName) };
}

async function areUnsettled(pool: Pool, settled: string): Promise<boolean> {
  const [row] = await rowsOf<{ there: boolean }>(pool, 'looking for unsettled events', sql`select exists (select from event where txid >= ${settled}::xid8) as there`);
  return row?.there ?? false;
}

/**
 * Moves the channel on. False: it is not held under this epoch any more. Its commit does not wait for the disk: a cursor that a crash of the
 * database takes back only repeats what was published, as at-least-once allows.
 */
export async function advanceBroker(pool: Pool, epoch: number, to: string): Promise<boolean> {
  const place = cursorPlace(to);
  if (place === null) throw new Error(`No place in the events: ${to}`);
  const rows = await rowsOf(pool, 'moving the broker on', sql`
    with unhurried as materialized (select set_config('synchronous_commit', 'off', true) as is_off)
    update event_channel set txid = ${place.txid}::xid8, seq = ${place.seq}::bigint from unhurried where is_off = 'off' and name = ${BROKER_CHANNEL} and epoch = ${epoch}::bigint and lease_until > clock_timestamp() returning 1`);
  return rows.length === 1;
}

/** Events that a channel has not taken yet, counted up to `limit`. */
export async function backlogOf(pool: Pool, channel: string, limit: number): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(pool, 'counting the backlog of a channel', sql`
    select count(*)::int as count from (select 1 from event_channel c join event e on (e.txid, e.seq) > (c.txid, c.seq) where c.name = ${channel} limit ${limit}::int) waiting`);
  return row?.count ?? 0;
}
