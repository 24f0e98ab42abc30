/** One transaction on one connection of the pool. */
import type { Pool, PoolClient, QueryResult } from 'pg';
import { NothingWritten } from '../actors/ports.ts';
import { asUnavailable, isLost, isUnavailable } from './availability.ts';
import { WITNESS, type CommitWitnesses, type Witness } from './commit-witnesses.ts';

/**
 * Runs the work between `begin` and `commit`. Rolls back and rethrows when it throws; errors of a lost or stuck
 * database come out as DatabaseUnavailable. `doing` says what for, in that error; `begin` may set what holds for the
 * transaction alone, in the same round trip. `witnesses` remember the commit.
 */
export async function inTransaction<T>(
  pool: Pool,
  doing: string,
  work: (client: PoolClient) => Promise<T>,
  begin = 'begin',
  witnesses: CommitWitnesses | null = null,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw isUnavailable(error)
      ? new NothingWritten(`The database is not available (${doing}).`, { cause: error })
      : error;
  });
  try {
    await client.query(begin);
    const result = await work(client);
    if (witnesses?.areKept !== true) await client.query('commit');
    else witnesses.add(await witnessedCommit(client));
    client.release();
    return result;
  } catch (error) {
    await giveBack(client, error);
    throw asUnavailable(error, doing);
  }
}

/** One round trip, with a result for each statement. */
async function witnessedCommit(client: PoolClient): Promise<Witness> {
  const results = (await client.query(`${WITNESS}; commit`)) as unknown as readonly QueryResult<Witness>[];
  return results[0]?.rows[0] ?? { xid: null, lsn: '0/0', timeline: '' };
}

/**
 * A connection that did not answer is closed at once: a rollback would wait behind the stuck statement, and pass the 5
 * s of L3.
 */
async function giveBack(client: PoolClient, error: unknown): Promise<void> {
  if (isLost(error)) {
    client.release(true);
    return;
  }
  try {
    await client.query('rollback');
    client.release();
  } catch {
    client.release(true); // the first error is the one to tell
  }
}
