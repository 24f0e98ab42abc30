/** Channels of events in the database: which admin serves one, by the database's clock, and how far it has come. */
import type { Pool, PoolClient } from 'pg';
import { settledBefore } from '../reads/events.ts';
import { hasName, type TaskTaker } from '../ownership/task-leases.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * How long a channel is held without renewal, in ms, as long as other tasks and clusters: events of a killed admin go
 * on after this.
 */
export const CHANNEL_LEASE_MS = 3_000;

/** A place in the order of events. */
export interface Place {
  readonly txid: string;
  readonly seq: string;
}

/** Who serves channels. Every call rejects with DatabaseUnavailable when the database is away. */
export interface ChannelLeases {
  /**
   * Takes a channel that is free, ran out, or was this admin's own before a restart. The epoch under which it is held,
   * or null: another admin has it, or another process the name of this one. A channel that is new begins at the end of
   * the events.
   */
  claim(channel: string): Promise<number | null>;
  /** False: it was taken by another. */
  renew(channel: string, epoch: number): Promise<boolean>;
  release(channel: string, epoch: number): Promise<void>;
}

/** The leases of this admin. */
export function channelLeases(pool: Pool, { adminId, instanceId = null }: TaskTaker): ChannelLeases {
  const until = sql`clock_timestamp() + ${CHANNEL_LEASE_MS}::int * interval '1 ms'`;
  return {
    async claim(channel) {
      const [taken] = await rowsOf(
        pool,
        'looking for the lease of a channel',
        sql`select 1 from event_channel where name = ${channel} and admin_id <> ${adminId}::uuid and lease_until >= clock_timestamp()`,
      );
      if (taken !== undefined) return null; // asked each second: who waits writes nothing and locks nothing
      const settled = await settledBefore(pool);
      const [row] = await rowsOf<{ epoch: string }>(
        pool,
        'claiming a channel of events',
        sql`
        insert into event_channel as c (name, txid, seq, admin_id, epoch, lease_until)
          select ${channel}, ${settled}::xid8, 0, ${adminId}::uuid, 1, ${until} where ${hasName({ adminId, instanceId })}
        on conflict (name) do update set admin_id = excluded.admin_id, epoch = c.epoch + 1, lease_until = excluded.lease_until
          where c.admin_id is null or c.admin_id = excluded.admin_id or c.lease_until < clock_timestamp()
        returning epoch::text as epoch`,
      );
      return row === undefined ? null : Number(row.epoch);
    },
    async renew(channel, epoch) {
      const rows = await rowsOf(
        pool,
        'renewing a channel of events',
        sql`update event_channel set lease_until = ${until} where name = ${channel} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint returning 1`,
      );
      return rows.length === 1;
    },
    async release(channel, epoch) {
      await rowsOf(
        pool,
        'releasing a channel of events',
        sql`update event_channel set admin_id = null, lease_until = null where name = ${channel} and admin_id = ${adminId}::uuid and epoch = ${epoch}::bigint`,
      );
    },
  };
}

/**
 * Where a channel that is held under this epoch has come to; null when it is not held any more. `lock` keeps others
 * from it until the transaction ends.
 */
export async function placeOf(
  client: Pool | PoolClient,
  channel: string,
  epoch: number,
  lock: boolean,
): Promise<Place | null> {
  const [row] = await rowsOf<Place>(
    client,
    'reading the place of a channel',
    sql`
    select txid::text as txid, seq::text as seq from event_channel where name = ${channel} and epoch = ${epoch}::bigint and lease_until > clock_timestamp() ${lock ? sql`for update` : sql``}`,
  );
  return row ?? null;
}
