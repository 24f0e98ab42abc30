/**
 * Writes that may concern more executions than one transaction should: done ahead in short ones, of which each leaves a
 * state that a repeated try goes on from.
 */
import type { Pool, PoolClient } from 'pg';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import { DatabaseUnavailable, NothingWritten } from '../../actors/ports.ts';
import type { CommandId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { createSemaphore } from '../connections/semaphore.ts';

/**
 * Executions that one transaction changes, at most: some 100 ms. What is within it stays one transaction with its
 * write.
 */
export const CHUNK_EXECUTIONS_MAX = 5_000;

/** Chunks that are written at once, and that wait for their turn, until nobody waits for them any more. */
const CHUNKS_AT_ONCE_MAX = 2;
const CHUNKS_WAITING_MAX = 1_000;

/**
 * Chunks of all writes, in turns, on connections that neither batches nor leases need (L4, O1). Once one is written, an
 * error never says that nothing is.
 */
export class Chunks {
  readonly #pool: Pool;
  readonly #turn = createSemaphore('changing many executions', CHUNKS_AT_ONCE_MAX, CHUNKS_WAITING_MAX, ASK_MS_MAX);

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Marks the open executions of a command as to be cancelled. An intent that is stored twice is stored once; a crash
   * in between leaves some marked, and nobody was answered: whoever asks again marks the rest. Answers whether any is
   * marked.
   */
  async markCancelled(command: CommandId, atMs: number): Promise<boolean> {
    for (let isBegun = false; ; isBegun = true) {
      const rows = await this.#rows(
        'cancelling a command',
        isBegun,
        sql`
        update command_execution set cancel_requested_at = to_timestamp(${atMs}::float8 / 1000) where id in (
          select id from command_execution where command_id = ${command}::uuid and finished_at is null and cancel_requested_at is null limit ${CHUNK_EXECUTIONS_MAX}::int for update)
        returning 1`,
      );
      if (rows.length < CHUNK_EXECUTIONS_MAX) return isBegun || rows.length > 0;
    }
  }

  /**
   * Deletes the executions of a command that is over but for the last chunk, which goes with the command itself. One
   * that is not over is left as it is. Answers whether any is deleted.
   */
  async deleteExecutions(command: CommandId): Promise<boolean> {
    const [open] = await this.#rows(
      'deleting a command',
      false,
      sql`select 1 from command_execution where command_id = ${command}::uuid and finished_at is null limit 1`,
    );
    if (open !== undefined) return false; // no execution is added to a command later, so what is over stays so
    for (let isBegun = false; ; isBegun = true) {
      const [more] = await this.#rows(
        'deleting a command',
        isBegun,
        sql`select 1 from command_execution where command_id = ${command}::uuid offset ${CHUNK_EXECUTIONS_MAX}::int limit 1`,
      );
      if (more === undefined) return isBegun;
      await this.#rows(
        'deleting a command',
        isBegun,
        sql`
        delete from command_execution where id in (select id from command_execution where command_id = ${command}::uuid limit ${CHUNK_EXECUTIONS_MAX}::int)`,
      );
    }
  }

  async #rows(doing: string, isBegun: boolean, statement: Sql): Promise<readonly unknown[]> {
    try {
      return await this.#turn(() => this.#onConnection((client) => rowsOf(client, doing, statement)));
    } catch (error) {
      throw isBegun ? inDoubt(error) : error;
    }
  }

  /** Where reads have all connections, that says nothing of the database: whoever does without them finds out. */
  async #onConnection<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch(() => {
      throw new NothingWritten('no connection was to be had');
    });
    let lost: Error | undefined;
    try {
      return await work(client);
    } catch (error) {
      lost = error instanceof NothingWritten ? undefined : (error as Error);
      throw error;
    } finally {
      client.release(lost);
    }
  }
}

/** The same of something that is written in part. */
export function inDoubt(error: unknown): unknown {
  return error instanceof NothingWritten ? new DatabaseUnavailable(error.message, { cause: error.cause }) : error;
}
