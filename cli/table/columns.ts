/** What a table of a list shows: its columns, and what each of them may be asked to do. */

/** How a cell is painted on a terminal: well, worth a look, broken, or of less weight than the rest. */
export type Tone = 'good' | 'warn' | 'bad' | 'faint';

/** What a column is besides its heading and its cells. */
export interface ColumnOptions<Row> {
  /** Stands only in `-o wide`. */
  readonly wide?: true;
  /** Cells are ids: shown as short as they are told apart. */
  readonly id?: true;
  /** Cells are ids of nodes: shown by the names of those. */
  readonly node?: true;
  /** Cells are instants: shown as what has passed since, or is to come. */
  readonly age?: true;
  /** Cells are sentences: an instant in them, which would take all of the room, is told as what has passed. */
  readonly told?: true;
  /** What stands behind each number. */
  readonly unit?: '%';
  /** May be cut to so many columns of the terminal; without it, it is left whole. */
  readonly cut?: number;
  /** On a terminal that is too narrow the column with the highest goes first; without it, it stays. */
  readonly drop?: number;
  readonly tone?: (row: Row) => Tone | null;
  /** The field by which the service sorts it: without one rows are sorted here. */
  readonly sorts?: string;
}

/** A heading, and the field that stands below it or what is made of the row. */
export type Column<Row> = readonly [
  heading: string,
  cell: (keyof Row & string) | ((row: Row) => unknown),
  options?: ColumnOptions<Row>,
];

/** A list as people see it. */
export interface Table<Row> {
  readonly columns: readonly Column<Row>[];
  /** What a command takes to mean this row: printed by `-o id` and `-q`. */
  readonly id: (row: Row) => string;
  /** The column that rows are sorted by when nothing is said, with `-` before it for descending; else as they come. */
  readonly sortedBy?: string;
  /** Where the rows are nodes: what to call each. */
  readonly names?: (rows: readonly Row[]) => (id: string) => string;
}

/** The same with every column in it, for a terminal to which it is to be fitted. */
export function widened<Row>(table: Table<Row>): Table<Row> {
  return {
    ...table,
    columns: table.columns.map(([heading, cell, { wide: _wide, ...options } = {}]) => [heading, cell, options]),
  };
}

/** The value of a cell, before it is text. */
export function valueOf<Row>(row: Row, [, cell]: Column<Row>): unknown {
  return typeof cell === 'function' ? cell(row) : row[cell];
}

/** What `--sort` calls a column: its heading in lower case, a dash for a space. */
export function sortNameOf([heading]: readonly [heading: string, ...unknown[]]): string {
  return heading.toLowerCase().replaceAll(' ', '-');
}
