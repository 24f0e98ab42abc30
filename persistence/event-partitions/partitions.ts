/**
 * Partitions of the events, each for the transactions from one to before another. The default one, `event_ahead`, takes
 * what no other is for, so that no write ever fails for want of one.
 */
import type { Client, Pool, PoolClient } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';

/** One that has bounds. `from` is null in the first one, which begins with whatever there is. */
export interface EventPartition {
  readonly name: string;
  readonly from: bigint | null;
  readonly to: bigint;
}

/** All that have bounds, oldest first, and the transaction that comes next in the order of events. */
export interface EventPartitions {
  readonly all: readonly EventPartition[];
  readonly next: bigint;
}

/** Waiting for the table of events, in ms: whoever writes waits behind it for as long, and it is tried again later. */
export const PARTITION_LOCK_MS_MAX = 200;

/** The transaction that comes next, as the order of events has it. Null until this server has an incarnation. */
export const NEXT_TRANSACTION: Sql = sql`((select xid_base from database_incarnation where server = database_server()) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`;

/** Null where events lie in one table still. */
export async function readPartitions(client: Pool | PoolClient): Promise<EventPartitions | null> {
  const rows = await rowsOf<{ next: string | null; name: string | null; bounds: string | null }>(
    client,
    'looking at the partitions of events',
    sql`
    select ${NEXT_TRANSACTION}::text as next, c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_partitioned_table p left join pg_inherits i on i.inhparent = p.partrelid left join pg_class c on c.oid = i.inhrelid
    where p.partrelid = 'event'::regclass`,
  );
  const next = rows[0]?.next ?? null;
  if (next === null) return null;
  const all = rows.flatMap(({ name, bounds }) => bounded(name, bounds) ?? []);
  return { all: all.toSorted((a, b) => (a.to < b.to ? -1 : 1)), next: BigInt(next) };
}

/**
 * Of an empty database into which a backup comes: the first partition is for all that the backup can hold, which lies
 * below what an incarnation that begins now is given. Source: the migration of incarnations.
 */
export async function makeRoomForBackup(client: Client): Promise<void> {
  if (
    (await client.query(`select from pg_class where oid = to_regclass('event_before') and relispartition`)).rowCount ===
    0
  )
    return;
  await client.query(`do $$ begin
    drop table event_before;
    execute format('create table event_before partition of event for values from (minvalue) to (%L)',
      (((extract(epoch from clock_timestamp()) * 1000)::bigint - 1577836800000) << 22)::text);
  end $$`);
}

/** As PostgreSQL words them: `FOR VALUES FROM ('5') TO ('9')`, with `MINVALUE` for none. The default one has none. */
function bounded(name: string | null, bounds: string | null): EventPartition | null {
  const { from, to } =
    /^FOR VALUES FROM \((?:MINVALUE|'(?<from>\d+)')\) TO \('(?<to>\d+)'\)$/u.exec(bounds ?? '')?.groups ?? {};
  return name === null || to === undefined
    ? null
    : { name, from: from === undefined ? null : BigInt(from), to: BigInt(to) };
}
