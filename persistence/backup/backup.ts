/**
 * A backup and a restore, put together: of the embedded PostgreSQL, which is started when it does not run, or of
 * another.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import type { Connection } from '../connection-options.ts';
import { dedicatedClient, migrateTo, openDatabase } from '../database.ts';
import { startEmbeddedPostgres } from '../embedded/launcher.ts';
import { keysOf } from '../open-storage.ts';
import { refuseUnknown } from '../schema-version.ts';
import { checkSealed } from '../secret-check.ts';
import { createVault } from '../vault.ts';
import { writeBackup } from './dump.ts';
import { BackupRefused } from './lines.ts';
import { restoreBackup } from './restore.ts';

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

/** Name of the file in DATA_DIR that holds the key of an admin that was given none. */
const KEY_FILE = 'encryption.key';

/**
 * Writes the whole database into a file while admins use it. Answers what to tell the operator; rejects with an error
 * whose message is for him.
 */
export async function backUp(storage: Storage, file: string, version: string, log: Log): Promise<string> {
  if (
    storage.DATABASE_URL === undefined &&
    !(await isThere(join(storage.DATA_DIR, 'postgres'))) &&
    !(await isThere(join(storage.DATA_DIR, 'location')))
  ) {
    throw new BackupRefused(
      `DATA_DIR (${storage.DATA_DIR}) holds no database: set DATA_DIR or DATABASE_URL as the admin has it.`,
    );
  }
  const { tables, rows } = await withDatabase(storage, log, (client) => writeBackup(client, file, version));
  const key = storage.ENCRYPTION_KEY === undefined ? join(storage.DATA_DIR, KEY_FILE) : 'ENCRYPTION_KEY';
  return `Backed up ${rows} rows of ${tables} tables to ${file}. Keep the key with it, in another place: without ${key} no secret in it can be read.`;
}

/**
 * Loads a backup into an empty database and brings it up to date. Answers what to tell the operator; rejects with an
 * error whose message is for him.
 */
export async function restore(storage: Storage, file: string, log: Log): Promise<string> {
  if (
    storage.ENCRYPTION_KEY === undefined &&
    (storage.DATABASE_URL !== undefined || !(await isThere(join(storage.DATA_DIR, KEY_FILE))))
  ) {
    throw new BackupRefused(
      `The key of the backup is missing: put its ${KEY_FILE} into DATA_DIR (${storage.DATA_DIR}), or set ENCRYPTION_KEY.`,
    );
  }
  const vault = createVault(...keysOf(storage));
  const { tables, rows, header } = await withDatabase(storage, log, async (client, connection) => {
    const restored = await restoreBackup(file, {
      client,
      checkKey: (sealed) => checkSealed(vault, sealed),
      migrateTo(names) {
        refuseUnknown(names);
        return migrateTo(connection, names.at(-1) ?? '', log);
      },
    });
    const database = await openDatabase({ connection, poolMax: storage.DATABASE_POOL_MAX, log });
    try {
      await database.migrate();
    } finally {
      await database.close();
    }
    return restored;
  });
  return `Restored ${rows} rows of ${tables} tables, as they were at ${header.made_at}. Start the admin now: edge-admin serve`;
}

async function withDatabase<T>(
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

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
