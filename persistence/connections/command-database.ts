/**
 * The database for one command beside the admins: the embedded PostgreSQL, started when it does not run, or another.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import type { Connection } from './connection-options.ts';
import { dedicatedClient } from './database.ts';
import { startEmbeddedPostgres } from '../embedded/launcher.ts';

/**
 * Where a database is and under which key, as the settings name it. Without DATABASE_URL it is the embedded one of
 * DATA_DIR.
 */
export interface Storage {
  readonly DATABASE_URL?: string | undefined;
  readonly DATABASE_POOL_MAX: number;
  readonly DATA_DIR: string;
  readonly ENCRYPTION_KEY?: Uint8Array | undefined;
  readonly ENCRYPTION_KEYS_OLD?: readonly Uint8Array[] | undefined;
}

/** Why there is no database to work on, in one line for the operator; null: there is one, or DATABASE_URL names it. */
export async function missingDatabase({ DATABASE_URL: url, DATA_DIR: dir }: Storage): Promise<string | null> {
  if (url !== undefined || (await isThere(join(dir, 'postgres'))) || (await isThere(join(dir, 'location'))))
    return null;
  return `DATA_DIR (${dir}) holds no database: set DATA_DIR or DATABASE_URL as the admin has it.`;
}

/** Does something with it, and leaves it as it was found: an embedded one that was started is stopped. */
export async function withDatabase<T>(
  storage: Storage,
  log: Log,
  work: (client: Client, connection: Connection) => Promise<T>,
): Promise<T> {
  const postgres =
    storage.DATABASE_URL === undefined ? await startEmbeddedPostgres({ dataDir: storage.DATA_DIR, log }) : null;
  try {
    const connection = postgres?.connection ?? { url: storage.DATABASE_URL ?? '' };
    const client = dedicatedClient(connection, log);
    await client.connect();
    try {
      return await work(client, connection);
    } finally {
      await client.end();
    }
  } finally {
    await postgres?.stop();
  }
}

/** Whether a file or a directory is there. */
export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
