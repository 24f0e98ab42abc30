/**
 * Incarnations of a database: one begins when it was restored into another server, set back or promoted, and the order
 * of its events goes on above all ids of before (V4).
 */
import type { Pool, PoolClient } from 'pg';
import { rowsOf, sql } from './reads/sql.ts';
import { inTransaction } from './transaction.ts';

/** What tells an incarnation from others: its number, and when it began. */
export interface Incarnation {
  readonly number: number;
  readonly beganAtMs: number;
}

/** How long a start waits for writers of another admin before it gives up comparing, in ms. */
const LOCK_MS_MAX = 10_000;

/**
 * Sees at the start that what comes next lies above all that is stored: begins an incarnation when the server is
 * another one than before, or when stored ids lie above its own although it says that it is the same (files of it were
 * set back, then a later dump was loaded).
 */
export async function settledIncarnation(pool: Pool): Promise<Incarnation> {
  await inTransaction(pool, 'comparing the order of events with the server', async (client) => {
    if ((await aheadBy(client)) > 0) {
      await client.query(`set local lock_timeout = ${LOCK_MS_MAX}; set local statement_timeout = ${LOCK_MS_MAX}`);
      // whoever wrote by the former base has committed
      await client.query('lock table event in share row exclusive mode');
      if ((await aheadBy(client)) > 0) await client.query(`update database_incarnation set server = 'another'`);
    }
    await client.query('select event_transaction()');
  });
  return incarnationOf(pool);
}

/** The present one. Rejects with DatabaseUnavailable when the database is away. */
export async function incarnationOf(pool: Pool): Promise<Incarnation> {
  const [row] = await rowsOf<{ number: number; at: number }>(
    pool,
    'looking for the incarnation of the database',
    sql`
    select number, (extract(epoch from began_at) * 1000)::float8 as at from database_incarnation`,
  );
  if (row === undefined) throw new Error('The table database_incarnation is empty: restore its row from a backup.');
  return { number: row.number, beganAtMs: row.at };
}

/**
 * Places in the order of events, stored ones and cursors, that lie ahead of what comes next in this server: what is
 * stored then is read by nobody.
 */
export async function aheadBy(client: Pool | PoolClient): Promise<number> {
  const [row] = await rowsOf<{ ahead: number }>(
    client,
    'looking for places ahead of the events',
    sql`
    with next as materialized (select (select xid_base from database_incarnation where server = database_server()) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint as id)
    select (case when id is null then 0 when highest_event_transaction() > id then 1 else 0 end)::int as ahead from next`,
  );
  return row?.ahead ?? 0;
}

/** Looks whether the database is still the one that this admin knows. */
export interface IncarnationWatch {
  /**
   * Resolves once it was set back, restored or promoted beneath this admin: nothing that it remembers of the rows holds
   * any more.
   */
  readonly isOver: Promise<void>;
  /**
   * Compares. Called before each check-in, which is left out when it answers false: the rows are not those of this
   * process, and whatever stands under its name in them is of an earlier one.
   */
  compared(): Promise<boolean>;
}

/**
 * Settles the incarnation of the start, and compares with it from then on. A database that was set back in place, with
 * files of the same server, is known by this admin's own row: it is older than it was.
 */
export async function watchIncarnation(pool: Pool, adminName: string): Promise<IncarnationWatch> {
  const known = await settledIncarnation(pool);
  const { promise, resolve } = Promise.withResolvers<void>();
  let checkedInMs = 0;
  return {
    isOver: promise,
    async compared() {
      const [row] = await rowsOf<{ number: number; at: number; isHere: boolean; checkedInMs: number | null }>(
        pool,
        'looking for the incarnation of the database',
        sql`
        select number, (extract(epoch from began_at) * 1000)::float8 as at, server = database_server() as "isHere",
          (select (extract(epoch from last_checked_in) * 1000)::float8 from admin where name = ${adminName}) as "checkedInMs" from database_incarnation`,
      );
      const isSame = row?.isHere === true && row.number === known.number && row.at === known.beganAtMs;
      // A row that is not there: another process of this name has checked out, and this one appears again.
      if (!isSame || (row.checkedInMs ?? checkedInMs) < checkedInMs) {
        resolve();
        return false;
      }
      checkedInMs = row.checkedInMs ?? checkedInMs;
      return true;
    },
  };
}
