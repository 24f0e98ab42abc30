/** Loads a backup into a database that holds nothing yet. */
import type { Client } from 'pg';
import type { BackupSummary } from './dump.ts';
import { makeRoomForBackup } from '../event-partitions/partitions.ts';
import { BackupRefused, isHeader, readLines, type BackupHeader, type BackupLine } from './lines.ts';
import { declareShape, RowLoader } from './row-loader.ts';
import { migrationsOf, quoted, tablesOf } from './tables.ts';

/** Tables that migrations write rows into, which are those of the backup after a restore. */
const SEEDED = ['event_channel', 'database_incarnation'];

/** What a restore needs of its surroundings. */
export interface RestorePorts {
  readonly client: Client;
  /** Runs these migrations and no later one. Throws when it does not know one of them. */
  migrateTo(names: readonly string[]): Promise<void>;
  /** Throws when the sealed text of the backup cannot be opened with the key that is here. */
  checkKey(sealed: string | null): void;
}

/**
 * All rows of the backup, in one transaction. Refuses a database that holds anything, and a key that does not open what
 * the backup holds.
 */
export async function restoreBackup(
  file: string,
  ports: RestorePorts,
): Promise<BackupSummary & { readonly header: BackupHeader }> {
  const { client } = ports;
  const lines = readLines(file);
  const { value: header } = await lines.next();
  if (header === undefined || !isHeader(header)) throw new BackupRefused(`${file} is empty.`);
  await refuseUsed(client);
  await ports.migrateTo(header.migrations);
  await compareShapes(client, header);

  await client.query('begin');
  try {
    await makeRoomForBackup(client);
    await prepare(client, header);
    const rows = await load(client, header, lines);
    await setSequences(client, header);
    await checkKey(ports);
    for (const { name } of header.tables) await client.query(`alter table ${quoted(name)} enable trigger user`);
    await client.query('commit');
    await client.query('analyze');
    return { tables: header.tables.length, rows, header };
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** Counts and such, which triggers keep, are rows of the backup. */
async function prepare(client: Client, { tables }: BackupHeader): Promise<void> {
  for (const table of tables) {
    await client.query(`alter table ${quoted(table.name)} disable trigger user`);
    await declareShape(client, table);
  }
  for (const name of SEEDED.filter((seeded) => tables.some((table) => table.name === seeded)))
    await client.query(`delete from ${quoted(name)}`);
}

/** Answers how many rows there were. */
async function load(client: Client, { tables }: BackupHeader, lines: AsyncIterable<BackupLine>): Promise<number> {
  const loader = new RowLoader(client, tables);
  for await (const line of lines) {
    if (typeof line === 'string') await loader.add(line);
    else if ('table' in line) await loader.begin(line.table);
    else await loader.flush();
  }
  return loader.rows;
}

async function setSequences(client: Client, { sequences }: BackupHeader): Promise<void> {
  for (const { table, column, value, isCalled } of sequences)
    await client.query('select setval(pg_get_serial_sequence($1, $2), $3, $4)', [
      quoted(table),
      column,
      value,
      isCalled,
    ]);
}

async function checkKey(ports: RestorePorts): Promise<void> {
  const {
    rows: [check],
  } = await ports.client.query<{ sealed: string }>('select sealed from secret_check limit 1');
  ports.checkKey(check?.sealed ?? null);
}

/** An interrupted restore left tables without rows: those may be there. */
async function refuseUsed(client: Client): Promise<void> {
  const tables = await tablesOf(client);
  const used: string[] = [];
  for (const { name } of tables.filter((table) => !SEEDED.includes(table.name))) {
    const { rowCount } = await client.query(`select from ${quoted(name)} limit 1`);
    if (rowCount !== 0) used.push(name);
  }
  const isOurs = (await migrationsOf(client)).length > 0;
  if (used.length === 0 && (isOurs || tables.length === 0)) return;
  throw new BackupRefused(
    `The database is not empty (${used.length > 0 ? used.join(', ') : tables.map(({ name }) => name).join(', ')}): a backup is restored into a new one, so that nothing is overwritten. Name an empty DATABASE_URL or another DATA_DIR.`,
  );
}

async function compareShapes(client: Client, header: BackupHeader): Promise<void> {
  const here = new Map((await tablesOf(client)).map(({ name, columns }) => [name, columns.toSorted().join(', ')]));
  const wrong = header.tables
    .filter(({ name, columns }) => here.get(name) !== columns.toSorted().join(', '))
    .map(({ name }) => name);
  if (wrong.length > 0)
    throw new BackupRefused(
      `The tables ${wrong.join(', ')} of the backup are others than migrations make here: the database that it was made from was changed by hand, or the one here holds a newer schema.`,
    );
}
