/** How many rows of a table a statement reads, as PostgreSQL counts them. */
import { Pool } from 'pg';
import type { Scope } from './scope.ts';

/**
 * A pool of one connection beside another one, and the rows of executions that were read on any since the database was
 * made.
 */
export function countedReads(t: Pick<Scope, 'teardown'>, { options }: Pool) {
  const pool = new Pool({ ...options, max: 1 });
  t.teardown(() => pool.end());
  const count = async (): Promise<number> => {
    await pool.query('select pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ read: string }>(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = 'command_execution'`,
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
