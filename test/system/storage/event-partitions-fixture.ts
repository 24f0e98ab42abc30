/** Partitions of the events of a database of the test's own. */
import type { ExecutionContext } from 'ava';
import { readPartitions } from '../../../persistence/event-partitions/partitions.ts';
import { openedDatabase } from '../../support/database/opened.ts';

/** For how many days events are kept in these tests. */
export const WEEK = 7;

/** A database in which time and transactions go by as a test says. */
export async function opened(t: ExecutionContext) {
  const { pool, reads } = await openedDatabase(t);
  return {
    pool,
    reads,
    /** So many transactions go by. */
    pass: (transactions: number) =>
      pool.query('update database_incarnation set xid_base = xid_base + $1', [transactions]),
    partitions: async () => {
      const all = (await readPartitions(pool))?.all ?? [];
      return all.map(({ from, to }) => [from, to] as const);
    },
    /** How many events lie in each table. */
    counts: async () =>
      (
        await pool.query<{ name: string; count: number }>(
          'select tableoid::regclass::text as name, count(*)::int as count from event group by 1 order by 1',
        )
      ).rows.map(({ name, count }) => [name.replace(/\d+$/u, ''), count]),
  };
}
