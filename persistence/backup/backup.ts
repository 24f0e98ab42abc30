/** A backup and a restore, put together. */
import { join } from 'node:path';
import type { Log } from '../../transport/net/log.ts';
import { isThere, missingDatabase, withDatabase, type Storage } from '../command-database.ts';
import { migrateTo, openDatabase } from '../database.ts';
import { keysOf } from '../open-storage.ts';
import { refuseUnknown } from '../schema-version.ts';
import { checkSealed } from '../secret-check.ts';
import { createVault } from '../vault.ts';
import { writeBackup } from './dump.ts';
import { BackupRefused } from './lines.ts';
import { restoreBackup } from './restore.ts';

/** Name of the file in DATA_DIR that holds the key of an admin that was given none. */
const KEY_FILE = 'encryption.key';

/**
 * Writes the whole database into a file while admins use it. Answers what to tell the operator; rejects with an error
 * whose message is for him.
 */
export async function backUp(storage: Storage, file: string, version: string, log: Log): Promise<string> {
  const problem = await missingDatabase(storage);
  if (problem !== null) throw new BackupRefused(problem);
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
