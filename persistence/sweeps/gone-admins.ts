/** Admins that ended without leaving the list. */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { before } from './timestamps.ts';

/**
 * Removes admins that had not checked in for `afterMs` at `now`, but not `mine`. Answers how many. Rejects with
 * DatabaseUnavailable.
 */
export async function forgetGoneAdmins(pool: Pool, now: Sql, mine: string, afterMs: number): Promise<number> {
  const rows = await rowsOf(
    pool,
    'forgetting admins that are gone',
    sql`delete from admin where name <> ${mine} and last_checked_in < ${before(now, afterMs)} returning 1`,
  );
  return rows.length;
}
