/** Writes a database into a file while it is used: every row of one moment. */
import { link, rm } from 'node:fs/promises';
import type { Client } from 'pg';
import { BACKUP_FORMAT, BackupRefused, readLines, writeLines } from './lines.ts';
import { migrationsOf, quoted, sequencesOf, tablesOf } from './tables.ts';

/**
 * Text that is fetched at once, in bytes, as near as the rows of before tell. One recording of a session can have
 * megabytes.
 */
const FETCHED_BYTES = 4_194_304;

/** Rows that are fetched at once, at first and at most. */
const FETCHED_ROWS_MIN = 8;
const FETCHED_ROWS_MAX = 5_000;

/** What a backup holds. */
export interface BackupSummary {
  readonly tables: number;
  readonly rows: number;
}

/**
 * Everything that is committed at one moment, into a file that appears whole or not at all, and that was read back to
 * its end. Takes no lock that anybody waits for. Refuses a file that is there, and a database that no admin has used.
 */
export async function writeBackup(client: Client, file: string, version: string): Promise<BackupSummary> {
  const unfinished = `${file}.unfinished-${process.pid}`;
  try {
    const summary = await dump(client, unfinished, version);
    if ((await rowsIn(unfinished)) !== summary.rows)
      throw new BackupRefused(`${unfinished} was not written as it should be: see the disk.`);
    await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST'
        ? new BackupRefused(`${file} is there already: name another file, or move it away.`)
        : error;
    });
    return summary;
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** Reads it to its end: it is whole then, and its checksum is right. */
async function rowsIn(file: string): Promise<number> {
  let rows = 0;
  for await (const line of readLines(file)) if (typeof line === 'string') rows += 1;
  return rows;
}

async function dump(client: Client, file: string, version: string): Promise<BackupSummary> {
  await client.query('begin isolation level repeatable read read only');
  try {
    const [migrations, tables, sequences] = [
      await migrationsOf(client),
      await tablesOf(client),
      await sequencesOf(client),
    ];
    if (migrations.length === 0)
      throw new BackupRefused('There is nothing to back up: no admin has used this database yet.');
    const to = writeLines(file);
    await to.write({
      format: BACKUP_FORMAT,
      version,
      made_at: new Date().toISOString(),
      migrations,
      tables,
      sequences,
    });
    let rows = 0;
    for (const { name } of tables) {
      await to.write({ table: name });
      for await (const row of rowsOf(client, name)) {
        await to.write(row);
        rows += 1;
      }
    }
    await to.write({ end: { rows } });
    await to.finish();
    return { tables: tables.length, rows };
  } finally {
    await client.query('rollback');
  }
}

async function* rowsOf(client: Client, table: string): AsyncGenerator<string, void, undefined> {
  await client.query(`declare backed_up no scroll cursor for select t::text as row from ${quoted(table)} t`);
  for (let count = FETCHED_ROWS_MIN; ;) {
    const { rows } = await client.query<{ row: string }>(`fetch ${count} from backed_up`);
    for (const { row } of rows) yield row;
    if (rows.length < count) break;
    const bytes = rows.reduce((sum, { row }) => sum + row.length, 0) / rows.length;
    count = Math.max(1, Math.min(FETCHED_ROWS_MAX, count * 4, Math.floor(FETCHED_BYTES / bytes)));
  }
  await client.query('close backed_up');
}
