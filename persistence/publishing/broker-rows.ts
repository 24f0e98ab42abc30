/** Events for the broker, as they are stored, and how far it has them. */
import type { Pool } from 'pg';
import { topicOf } from '../../actors/event-topics.ts';
import { envelopeText, type EventType } from '../../actors/events.ts';
import type { PublishedEvent } from '../../actors/published-event.ts';
import { instant } from '../../actors/resources/instant.ts';
import { BEHIND_CHANNEL, beyond, cursorPlace, eventCursor, settledBefore } from '../reads/events.ts';
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

interface Row {
  /** Events that were there, up to the limit, whether they fit into the batch or not. */
  readonly found: number;
  readonly txid: string;
  readonly seq: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly at: number;
  readonly data: string;
  /** Stored longer ago than it may be published, by the database's clock (O2). */
  readonly too_old: boolean;
}

/**
 * Text of the events in one batch, in bytes; an event that is larger is a batch by itself. Scripts are in the events of
 * their executions, so that by their number alone a batch of a fan-out could take 60 MiB, several times over, and
 * another one is read ahead.
 */
export const BATCH_BYTES_MAX = 8_388_608;

/**
 * The next events behind a batch (null: behind where the channel stands), at most `limit`, without those stored longer
 * than `ageMsMax` ago. Null: the channel is not held under this epoch any more.
 */
export async function nextForBroker(
  pool: Pool,
  epoch: number,
  after: Pick<BrokerBatch, 'to' | 'horizon'> | null,
  limit: number,
  ageMsMax: number,
  coreName: string,
): Promise<BrokerBatch | null> {
  const place = cursorPlace(after?.to ?? null) ?? (await placeOf(pool, BROKER_CHANNEL, epoch, false));
  if (place === null) return null;
  const settled = after?.horizon ?? (await settledBefore(pool));
  const rows = await rowsOf<Row>(
    pool,
    'reading events for the broker',
    sql`
    select found::int as found, txid::text as txid, seq::text as seq, id, type, subject, (extract(epoch from time) * 1000)::float8 as at, data::text as data, coalesce(stored_at, time) < now() - ${ageMsMax}::float8 * interval '1 ms' as too_old
    from (
      select *, count(*) over () as found, sum(octet_length(data::text)) over in_order as bytes, row_number() over in_order as place
      from (select * from event where ${beyond(place)} and txid < ${settled}::xid8 order by event.txid, event.seq limit ${limit}::int) chosen
      window in_order as (order by txid, seq rows unbounded preceding)) sized
    where bytes <= ${BATCH_BYTES_MAX}::int or place = 1 order by sized.txid, sized.seq`,
  );
  const events = rows
    .filter((row) => !row.too_old)
    .map((row): PublishedEvent => ({
      id: row.id,
      type: row.type,
      subject: row.subject,
      topic: topicOf(row.type),
      coreName,
      text: envelopeText({ id: row.id, type: row.type, time: instant(row.at) }, row.data, coreName),
    }));
  const last = rows.at(-1);
  const found = rows[0]?.found ?? 0;
  const more = found === limit || rows.length < found;
  return {
    events,
    tooOld: rows.length - events.length,
    to: last === undefined ? null : eventCursor(last.txid, last.seq),
    more,
    unsettled: !more && (await areUnsettled(pool, settled)),
    horizon: settled,
  };
}

async function areUnsettled(pool: Pool, settled: string): Promise<boolean> {
  const [row] = await rowsOf<{ there: boolean }>(
    pool,
    'looking for unsettled events',
    sql`select exists (select from event where txid >= ${settled}::xid8) as there`,
  );
  return row?.there ?? false;
}

/**
 * Moves the channel on. False: it is not held under this epoch any more. Its commit does not wait for the disk: a
 * cursor that a crash of the database takes back only repeats what was published, as at-least-once allows.
 */
export async function advanceBroker(pool: Pool, epoch: number, to: string): Promise<boolean> {
  const place = cursorPlace(to);
  if (place === null) throw new Error(`No place in the events: ${to}`);
  const rows = await rowsOf(
    pool,
    'moving the broker on',
    sql`
    with unhurried as materialized (select set_config('synchronous_commit', 'off', true) as is_off)
    update event_channel set txid = ${place.txid}::xid8, seq = ${place.seq}::bigint from unhurried where is_off = 'off' and name = ${BROKER_CHANNEL} and epoch = ${epoch}::bigint and lease_until > clock_timestamp() returning 1`,
  );
  return rows.length === 1;
}

/** Events that a channel has not taken yet, counted up to `limit`. */
export async function backlogOf(pool: Pool, channel: string, limit: number): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    pool,
    'counting the backlog of a channel',
    sql`
    select count(*)::int as count from (select 1 from event_channel c join event e on ${BEHIND_CHANNEL} where c.name = ${channel} limit ${limit}::int) waiting`,
  );
  return row?.count ?? 0;
}
