/** How many rows of a table a statement reads, as PostgreSQL counts them. */
import type { Pool } from 'pg';
import { openPool } from './pool.ts';
import type { Scope } from '../scope.ts';

/**
 * A pool of one connection beside another one, and the rows of a table, or of all its partitions, that were read on any
 * since it was made.
 */
export function countedReads(scope: Scope, { options }: Pool, table = 'command_execution') {
  const pool = openPool(scope, { ...options, max: 1 });
  const count = async (): Promise<number> => {
    await pool.query('select pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ read: string }>(
      `select sum(seq_tup_read + idx_tup_fetch) as read from pg_stat_user_tables
         where relid = $1::regclass or relid in (select inhrelid from pg_inherits where inhparent = $1::regclass)`,
      [table],
    );
    return Number(rows[0]?.read);
  };
  return {
    pool,
    /** Rows that this reads, on that pool. */
    readBy: async (work: () => Promise<unknown>): Promise<number> => {
      const before = await count();
      await work();
      return (await count()) - before;
    },
  };
}
