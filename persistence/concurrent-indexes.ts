/**
 * Indexes of tables of any length. They are made while others write, which a migration cannot do, as it is one
 * transaction.
 */
import type { Client } from 'pg';
import type { Log } from '../transport/net/log.ts';

interface ConcurrentIndex {
  readonly name: string;
  /** Table and columns, in SQL. */
  readonly on: string;
}

const INDEXES: readonly ConcurrentIndex[] = [
  // Executions of one node, the latest first.
  { name: 'command_execution_of_node', on: '"command_execution" ("node_id", "id")' },
];

/** Longest wait for transactions that began before, such as a backup, in ms. */
const WAIT_MS_MAX = 30_000;

/**
 * Makes those that are missing, one after another. What cannot be had now is logged and tried again at the next start:
 * without them lists are slower, and nothing else. `client` is the only one that does this, and waits for no statement
 * but these.
 */
export async function makeIndexes(client: Client, log: Log, waitMsMax = WAIT_MS_MAX): Promise<void> {
  for (const index of INDEXES) {
    if (await isThere(client, index)) continue;
    const beganMs = performance.now();
    try {
      await client.query(`set lock_timeout = ${waitMsMax}`);
      // one that was begun and not ended costs each write, and serves nobody
      await client.query(`drop index concurrently if exists "${index.name}"`);
      await client.query(`create index concurrently "${index.name}" on ${index.on}`);
      log.info({ index: index.name, duration_ms: Math.round(performance.now() - beganMs) }, 'made an index');
    } catch (error) {
      log.warn(
        { index: index.name, error: (error as Error).message },
        'an index could not be made: some lists are slow until the next start',
      );
    }
  }
}

async function isThere(client: Client, { name }: ConcurrentIndex): Promise<boolean> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  return rows[0]?.valid === true;
}
