/** Reads of one answer, one after another, each within a time limit of its own: a slow one costs itself alone. */
import type { Pool, PoolClient } from 'pg';
import { isOvertime } from './availability.ts';
import { inTransaction } from './transaction.ts';

/** How long the reads may take, in ms. */
export interface ReadLimits {
  /** The server gives up one of them after this. */
  readonly eachMs: number;
  /** None is begun later than this after the first. */
  readonly allMs: number;
}

/** One read. Null: it took too long, or those before it did. */
export type TimedRead = <T>(work: (client: PoolClient) => Promise<T>) => Promise<T | null>;

/**
 * From now on. `doing` says what for. A read rejects with DatabaseUnavailable when the database is away; asked for one
 * after another, they end within `allMs` and `eachMs` together.
 */
export function timedReads(pool: Pool, doing: string, { eachMs, allMs }: ReadLimits): TimedRead {
  const endsMs = performance.now() + allMs;
  return async (work) => {
    if (performance.now() >= endsMs) return null;
    try {
      return await inTransaction(pool, doing, async (client) => {
        await client.query(`set local statement_timeout = ${eachMs}`);
        return work(client);
      });
    } catch (error) {
      if (isOvertime(error)) return null;
      throw error;
    }
  };
}
