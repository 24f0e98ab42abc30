/** Rows of a backup on their way into the tables, as the text in which PostgreSQL words a row. */
import type { Client } from 'pg';
import { quoted, type TableShape } from './tables.ts';

/** Text of rows in one statement, in bytes, and how many they are at most. */
const LOADED_BYTES_MAX = 4_194_304;
const LOADED_ROWS_MAX = 5_000;

/**
 * A type with the columns in the order in which the backup has them: where one was dropped and came back, tables of the
 * same columns differ in it.
 */
export async function declareShape(client: Client, { name, columns }: TableShape): Promise<void> {
  await client.query(
    `create temporary table ${rowShape(name)} (${columns.map((column) => `${quoted(nameOf(column))} ${column.slice(nameOf(column).length)}`).join(', ')}) on commit drop`,
  );
}

/** Loads rows into tables whose shape is declared, many in one statement. */
export class RowLoader {
  readonly #client: Client;
  readonly #columnsOf: ReadonlyMap<string, string>;
  #table = '';
  #waiting: string[] = [];
  #bytes = 0;
  #rows = 0;

  constructor(client: Client, tables: readonly TableShape[]) {
    this.#client = client;
    this.#columnsOf = new Map(
      tables.map(({ name, columns }) => [name, columns.map((column) => quoted(nameOf(column))).join(', ')]),
    );
  }

  /** How many there were so far. */
  get rows(): number {
    return this.#rows;
  }

  /** The rows that follow are of this table. */
  async begin(table: string): Promise<void> {
    await this.flush();
    this.#table = table;
  }

  async add(row: string): Promise<void> {
    this.#waiting.push(row);
    this.#bytes += row.length;
    this.#rows += 1;
    if (this.#bytes >= LOADED_BYTES_MAX || this.#waiting.length >= LOADED_ROWS_MAX) await this.flush();
  }

  /** Resolves when all that was added is in its table. */
  async flush(): Promise<void> {
    const rows = this.#waiting;
    if (rows.length > 0) await insert(this.#client, this.#table, this.#columnsOf.get(this.#table) ?? '', rows);
    [this.#waiting, this.#bytes] = [[], 0];
  }
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
