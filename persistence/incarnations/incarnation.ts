/**
 * Incarnations of a database: one begins when it was restored into another server, set back or promoted, and the order
 * of its events goes on above all ids of before (V4).
 */
import type { Pool, PoolClient } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import type { Database } from '../connections/database.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';

/** What tells an incarnation from others: its number, and when it began. */
export interface Incarnation {
  readonly number: number;
  readonly beganAtMs: number;
  /** In which it began: its identity and its timeline, or `unknown`. */
  readonly server: string;
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
  const [row] = await rowsOf<{ number: number; at: number; server: string }>(
    pool,
    'looking for the incarnation of the database',
    sql`
    select number, (extract(epoch from began_at) * 1000)::float8 as at, server from database_incarnation`,
  );
  if (row === undefined) throw new Error('The table database_incarnation is empty: restore its row from a backup.');
  return { number: row.number, beganAtMs: row.at, server: row.server };
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
   * Resolves once it was set back, restored, or promoted with a loss beneath this admin: nothing that it remembers of
   * the rows holds any more.
   */
  readonly isOver: Promise<void>;
  /** Whether that is so. */
  hasEnded(): boolean;
  /**
   * Compares. Called before each check-in, which is left out when it answers false: the rows are not those of this
   * process, and whatever stands under its name in them is of an earlier one.
   */
  compared(): Promise<boolean>;
}

/** What the database says of itself, and of this admin. */
interface Seen {
  readonly number: number;
  readonly at: number;
  /** Of the present incarnation, and of the one that answers. */
  readonly server: string;
  readonly here: string;
  readonly checkedInMs: number | null;
}

/**
 * Settles the incarnation of the start, and compares with it from then on. A database that was set back in place, with
 * files of the same server, is known by this admin's own row: it is older than it was. A standby that was promoted and
 * has every commit that was acknowledged to this admin is the same database: its incarnation is begun, and nothing else
 * changes. By the connections of the leases: each of their rounds begins with it.
 */
export async function watchIncarnation(
  { writes: pool, witnesses }: Pick<Database, 'writes' | 'witnesses'>,
  adminName: string,
  log: Log,
): Promise<IncarnationWatch> {
  await witnesses.tryIn(pool, log);
  let known = await settledIncarnation(pool);
  const { promise, resolve } = Promise.withResolvers<void>();
  let checkedInMs = 0;
  let hasEnded = false;

  async function goesOn(seen: Seen): Promise<boolean> {
    const mayBe = isPromotionOf(known.server, seen.here) && seen.number - known.number <= 1;
    if (!mayBe || !(await witnesses.areIn(pool, timelineOf(seen.here)))) return false;
    known = await settledIncarnation(pool);
    log.warn(
      {},
      'a standby of the database was promoted, and has all that was acknowledged: this admin goes on with it',
    );
    return true;
  }

  return {
    isOver: promise,
    hasEnded: () => hasEnded,
    async compared() {
      const seen = await lookedAt(pool, adminName);
      // A row that is not there: another process of this name has checked out, and this one appears again.
      const isOlder = (seen?.checkedInMs ?? checkedInMs) < checkedInMs;
      if (seen === null || isOlder || !(isOf(seen, known) || (await goesOn(seen)))) {
        hasEnded = true;
        resolve();
        return false;
      }
      checkedInMs = seen.checkedInMs ?? checkedInMs;
      return true;
    },
  };
}

async function lookedAt(pool: Pool, adminName: string): Promise<Seen | null> {
  const [row] = await rowsOf<Seen>(
    pool,
    'looking for the incarnation of the database',
    sql`
    select number, (extract(epoch from began_at) * 1000)::float8 as at, server, database_server() as here,
      (select (extract(epoch from last_checked_in) * 1000)::float8 from admin where name = ${adminName}) as "checkedInMs" from database_incarnation`,
  );
  return row ?? null;
}

function isOf(seen: Seen, { number, beganAtMs }: Incarnation): boolean {
  return seen.server === seen.here && seen.number === number && seen.at === beganAtMs;
}

/** The same server by its identity, one timeline further. */
function isPromotionOf(before: string, here: string): boolean {
  const [timeline, timelineHere] = [before, here].map((server) => Number.parseInt(timelineOf(server), 16));
  return identityOf(before) === identityOf(here) && timelineHere === (timeline ?? Number.NaN) + 1;
}

/** What `database_server()` says, in its parts. */
function identityOf(server: string): string {
  return server.split('/')[0] ?? '';
}

function timelineOf(server: string): string {
  return server.split('/')[1] ?? '';
}
