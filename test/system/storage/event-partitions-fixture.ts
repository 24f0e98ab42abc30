/** Partitions of the events of a database of the test's own. */
import type { ExecutionContext } from 'ava';
import type { Pool, PoolClient } from 'pg';
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

/** What to wait for before a query of a transaction goes out, and when its answer has come. */
export interface AroundQueries {
  readonly before?: (text: string) => Promise<void>;
  readonly after?: (text: string, backend: number) => Promise<void>;
}

/** Waits so around the queries of all transactions of the pool from now on. Those of the pool itself go out as ever. */
export function aroundQueries(pool: Pool, { before, after }: AroundQueries): void {
  const known = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => {
    if (known.has(client)) return;
    known.add(client);
    const { processID: backend } = client as unknown as { readonly processID: number };
    const query = client.query.bind(client) as (...all: readonly unknown[]) => unknown;
    const waiting = async (text: string, ...rest: readonly unknown[]): Promise<unknown> => {
      await before?.(text);
      const answer = await query(text, ...rest);
      await after?.(text, backend);
      return answer;
    };
    client.query = ((...all: readonly [string, ...unknown[]]) =>
      typeof all.at(-1) === 'function' ? query(...all) : waiting(...all)) as typeof client.query;
  });
}
