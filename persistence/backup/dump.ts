/** Writes a database into a file while it is used: every row of one moment. */
import { on } from 'node:events';
import { link, rm } from 'node:fs/promises';
import { Query, type Client, type Connection, type QueryArrayConfig } from 'pg';
import { BACKUP_FORMAT, BackupRefused, readLines, writeLines } from './lines.ts';
import { migrationsOf, quoted, sequencesOf, tablesOf } from './tables.ts';

/** Rows that are asked for at once: as many are taken at most where the backup fails among them. */
const FETCHED_ROWS = 500;

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
  await client.query(`declare backed_up no scroll cursor for select t::text from ${quoted(table)} t`);
  for (let count = FETCHED_ROWS; count === FETCHED_ROWS;) {
    count = 0;
    const rows = new Rows(`fetch ${FETCHED_ROWS} from backed_up`);
    client.query(rows);
    try {
      for await (const [[row]] of on(rows, 'row', { close: ['end'], highWaterMark: 1 }) as AsyncIterable<[[string]]>) {
        yield row;
        count += 1;
      }
    } finally {
      rows.resume(); // for the rollback behind them, where the file takes no more
    }
  }
  await client.query('close backed_up');
}

/**
 * Rows as they are taken: until then the server waits, so that no more is held than a piece of the connection, however
 * large they are.
 */
class Rows extends Query<string[]> {
  #connection: Connection | null = null;

  constructor(text: string) {
    const asked: QueryArrayConfig = { text, rowMode: 'array' };
    super(asked);
    this.on('error', () => {}); // where nobody takes rows any more; else it is thrown by the loop
    const submit = this.submit.bind(this);
    this.submit = (connection) => {
      this.#connection = connection;
      return submit(connection);
    };
  }

  pause(): void {
    this.#connection?.stream.pause();
  }

  resume(): void {
    this.#connection?.stream.resume();
  }
}
