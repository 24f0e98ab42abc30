/** A backup and a restore, put together. */
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import { isThere, missingDatabase, withDatabase, type Storage } from '../connections/command-database.ts';
import { migrateTo, openDatabase } from '../connections/database.ts';
import { EmbeddedPostgresError } from '../embedded/failure.ts';
import { KEY_FILE, keyFilesIn } from '../embedded/encryption-key.ts';
import { keysOf } from '../open-storage.ts';
import { refuseUnknown } from '../schema-version.ts';
import { checkSealed, storedKey } from '../secret-check.ts';
import { createVault, type Keyring } from '../vault.ts';
import { writeBackup } from './dump.ts';
import { BackupRefused } from './lines.ts';
import { restoreBackup } from './restore.ts';

/**
 * Writes the whole database into a file while admins use it. Answers what to tell the operator; rejects with an error
 * whose message is for him.
 */
export async function backUp(storage: Storage, file: string, version: string, log: Log): Promise<string> {
  const problem = await missingDatabase(storage);
  if (problem !== null) throw new BackupRefused(problem);
  const written = await withDatabase(storage, log, async (client) => ({
    ...(await writeBackup(client, file, version)),
    opens: await opens(storage, client),
  }));
  const done = `Backed up ${written.rows} rows of ${written.tables} tables to ${file}.`;
  const keys = keysNamed(storage);
  return written.opens
    ? `${done} Keep the key with it, in another place: without ${keys.join(' and ')} no secret in it can be read.`
    : `${done} Keep with it, in another place, the ENCRYPTION_KEY of the admin, or the key files in its DATA_DIR: no key that this command was given is that of the database.`;
}

/** Where the keys are, for the operator; none: no key was given. */
function keysNamed({ ENCRYPTION_KEY, ENCRYPTION_KEYS_OLD = [], DATA_DIR }: Storage): readonly string[] {
  if (ENCRYPTION_KEY === undefined) return keyFilesIn(DATA_DIR);
  return ['ENCRYPTION_KEY', ...(ENCRYPTION_KEYS_OLD.length > 0 ? ['ENCRYPTION_KEYS_OLD'] : [])];
}

/** Whether the keys that were given are those of the database. It is nobody's yet before its first start. */
async function opens(storage: Storage, client: Client): Promise<boolean> {
  const vault = await givenVault(storage);
  if (vault === null) return false;
  const { isThere: isSealed, id } = await storedKey(client, vault);
  return !isSealed || id !== null;
}

/** Null: there is no key, or none that can be used. None is made, and what was backed up stays. */
async function givenVault(storage: Storage): Promise<Keyring | null> {
  if (storage.ENCRYPTION_KEY === undefined && !(await isThere(join(storage.DATA_DIR, KEY_FILE)))) return null;
  try {
    return createVault(...keysOf(storage));
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) return null;
    throw error;
  }
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
