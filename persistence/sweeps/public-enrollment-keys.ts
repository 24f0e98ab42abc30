/** Enrolment keys that anybody made, when they are over. */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';

/**
 * How long a public key outlives its expiry or its use, in minutes: an agent whose answer was lost asks again with it.
 */
const LOST_ANSWER_MINUTES = 10;

/**
 * Deletes at most `limit` public keys that expired, or let their node in, a while before `now`. Returns how many.
 */
export async function prunePublicEnrollmentKeys(pool: Pool, now: Sql, limit: number): Promise<number> {
  const rows = await rowsOf(
    pool,
    'pruning public enrolment keys',
    sql`
    delete from enrollment_key where id in (
      select id from enrollment_key where is_public and (
        expired_at < ${now} - make_interval(mins => ${LOST_ANSWER_MINUTES}::int)
        or uses_remaining = 0 and last_used_at < ${now} - make_interval(mins => ${LOST_ANSWER_MINUTES}::int))
      limit ${limit}::int for update skip locked) returning 1`,
  );
  return rows.length;
}
