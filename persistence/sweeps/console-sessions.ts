/** Sessions of the console that are over. */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { before } from './timestamps.ts';

/** After which time a session is over that nobody uses, and any, in ms. */
export interface SessionAges {
  readonly idleMsMax: number;
  readonly ageMsMax: number;
}

/** Deletes at most `limit` of them. Returns how many. */
export async function pruneConsoleSessions(
  pool: Pool,
  now: Sql,
  { idleMsMax, ageMsMax }: SessionAges,
  limit: number,
): Promise<number> {
  const rows = await rowsOf(
    pool,
    'pruning sessions of the console',
    sql`
    delete from console_session where id in (
      select id from console_session where last_used_at <= ${before(now, idleMsMax)} or inserted_at <= ${before(now, ageMsMax)}
      limit ${limit}::int for update skip locked) returning 1`,
  );
  return rows.length;
}
