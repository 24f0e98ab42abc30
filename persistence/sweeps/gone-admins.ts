/**
 * Admins that ended without leaving the list, and names of admins that are long gone: forgotten, so that names that are
 * made up at each start do not stay for ever.
 */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { before } from './timestamps.ts';
import { REGISTRATION_LOCK } from '../admins/registration.ts';
import { inTransaction } from '../connections/transaction.ts';

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

/** A name keeps its id for so long after its admin has gone, in days. */
export const NAME_KEPT_DAYS = 30;

/**
 * Removes names that no admin has had for so long at `now`, that own no cluster, keep no relay and do not drain.
 * Answers how many. Nobody comes into the list meanwhile. Rejects with DatabaseUnavailable.
 */
export function pruneAdminNames(pool: Pool, now: Sql): Promise<number> {
  const doing = 'forgetting names of admins';
  return inTransaction(pool, doing, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [REGISTRATION_LOCK]);
    const names = await rowsOf(
      client,
      doing,
      sql`delete from admin_identity i where gone_since < ${now} - ${NAME_KEPT_DAYS}::int * interval '1 day'
        and relay_region is null and draining_since is null
        and not exists (select from admin a where a.name = i.name) and not exists (select from cluster_ownership o where o.admin_id = i.id)
        returning 1`,
    );
    return names.length;
  });
}
