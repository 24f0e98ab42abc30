/** Loads a backup into a database that holds nothing yet. */
import type { Client } from 'pg';
import { BackupRefused, isHeader, readLines, type BackupHeader } from './lines.ts';
import { migrationsOf, quoted, tablesOf, type TableShape } from './tables.ts';
import type { BackupSummary } from './dump.ts';

/** Text of rows in one statement, in bytes, and how many they are at most. */
const LOADED_BYTES_MAX = 4_194_304;
const LOADED_ROWS_MAX = 5_000;

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
    for (const table of header.tables) {
      // counts and such are rows of the backup
      await client.query(`alter table ${quoted(table.name)} disable trigger user`);
      await declareShape(client, table);
    }
    const columnsOf = new Map(
      header.tables.map(({ name, columns }) => [name, columns.map((column) => quoted(nameOf(column))).join(', ')]),
    );
    for (const name of SEEDED.filter((seeded) => header.tables.some((table) => table.name === seeded)))
      await client.query(`delete from ${quoted(name)}`);
    let rows = 0;
    let waiting: string[] = [];
    let bytes = 0;
    let table = '';
    const load = async (): Promise<void> => {
      if (waiting.length > 0) await insert(client, table, columnsOf.get(table) ?? '', waiting);
      [waiting, bytes] = [[], 0];
    };
    for await (const line of lines) {
      if (typeof line === 'string') {
        waiting.push(line);
        bytes += line.length;
        rows += 1;
        if (bytes >= LOADED_BYTES_MAX || waiting.length >= LOADED_ROWS_MAX) await load();
      } else {
        await load();
        if ('table' in line) table = line.table;
      }
    }
    for (const { table: of, column, value, isCalled } of header.sequences)
      await client.query('select setval(pg_get_serial_sequence($1, $2), $3, $4)', [
        quoted(of),
        column,
        value,
        isCalled,
      ]);
    const {
      rows: [check],
    } = await client.query<{ sealed: string }>('select sealed from secret_check limit 1');
    ports.checkKey(check?.sealed ?? null);
    for (const { name } of header.tables) await client.query(`alter table ${quoted(name)} enable trigger user`);
    await client.query('commit');
    await client.query('analyze');
    return { tables: header.tables.length, rows, header };
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/**
 * A type with the columns in the order in which the backup has them: where one was dropped and came back, tables of the
 * same columns differ in it.
 */
async function declareShape(client: Client, { name, columns }: TableShape): Promise<void> {
  await client.query(
    `create temporary table ${rowShape(name)} (${columns.map((column) => `${quoted(nameOf(column))} ${column.slice(nameOf(column).length)}`).join(', ')}) on commit drop`,
  );
}

function rowShape(table: string): string {
  return `pg_temp.${quoted(`row_of_${table}`)}`;
}

function nameOf(column: string): string {
  return column.slice(0, column.indexOf(' '));
}

function insert(client: Client, table: string, columns: string, rows: readonly string[]): Promise<unknown> {
  const [into, shape] = [quoted(table), rowShape(table)];
  // "offset 0" keeps the row from being read once for each of its columns.
  return client.query(
    `insert into ${into} (${columns}) overriding system value select (one.row).* from (select line::${shape} as row from unnest($1::text[]) line offset 0) one`,
    [rows],
  );
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
