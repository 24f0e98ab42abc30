/** One transaction on one connection of the pool. */
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { NothingWritten } from '../../actors/ports.ts';
import { asUnavailable, isLost, isUnavailable } from './availability.ts';
import { Series } from './series.ts';
import { WITNESS, type CommitWitnesses, type Witness } from '../incarnations/commit-witnesses.ts';

const COMMIT: QueryConfig = { name: 'commit', text: 'commit' };
const NAMED_WITNESS: QueryConfig = { name: 'witness', text: WITNESS };
const NO_WITNESS: Witness = { xid: null, lsn: '0/0', timeline: '' };

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
  const client = await connected(pool, doing);
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

/**
 * The same in one round trip, where no answer decides anything: the first statement begins the transaction, and the
 * server takes it all back where it refuses one. For what is small (see Series). Resolves with what each statement gave
 * when it is committed. `witnesses`: as above.
 */
export async function inOneRoundTrip(
  pool: Pool,
  doing: string,
  statements: readonly QueryConfig[],
  witnesses: CommitWitnesses | null,
): Promise<readonly QueryResult[]> {
  const connection = await connected(pool, doing);
  try {
    const series = new Series(connection);
    const { client } = series;
    const asked = statements.map((statement) => client.query(statement));
    const witness = witnesses?.areKept === true ? client.query<Witness>(NAMED_WITNESS) : null;
    void client.query(COMMIT);
    await series.end();
    if (witness !== null) witnesses?.add((await witness).rows[0] ?? NO_WITNESS);
    connection.release();
    return await Promise.all(asked);
  } catch (error) {
    await giveBack(connection, error);
    throw asUnavailable(error, doing);
  }
}

/**
 * The same in one message, for what nobody should have to wait for longer than the server takes: no lock is held while
 * an answer is on its way. The statements stand with a `;` between them, and have no parameters.
 */
export async function inOneMessage(pool: Pool, doing: string, statements: string): Promise<void> {
  const client = await connected(pool, doing);
  try {
    await client.query(`begin; ${statements}; commit`);
    client.release();
  } catch (error) {
    await giveBack(client, error);
    throw asUnavailable(error, doing);
  }
}

/** Throws NothingWritten where there is no connection to be had. */
async function connected(pool: Pool, doing: string): Promise<PoolClient> {
  return pool.connect().catch((error: unknown) => {
    throw isUnavailable(error)
      ? new NothingWritten(`The database is not available (${doing}).`, { cause: error })
      : error;
  });
}

/** One round trip, with a result for each statement. */
async function witnessedCommit(client: PoolClient): Promise<Witness> {
  const results = (await client.query(`${WITNESS}; commit`)) as unknown as readonly QueryResult<Witness>[];
  return results[0]?.rows[0] ?? NO_WITNESS;
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
