/**
 * Data as text: a table for people, JSON for programs. Why the printer is ours and widths are not: see
 * docs/decisions/command-line.md.
 */
import displayWidth from 'fast-string-width';
import { plainJson, plainText } from './plain-text.ts';
import { EXIT, Problem } from './problem.ts';

/** What `-o` takes: a table for people, one JSON document, or one JSON object a line. */
export const FORMATS = ['table', 'json', 'ndjson'] as const;
/** One of them. */
export type Format = (typeof FORMATS)[number];

/** Columns of a table: a heading, and the field that stands below it or what is made of the row. */
export type Columns<Row> = readonly (readonly [
  heading: string,
  cell: (keyof Row & string) | ((row: Row) => unknown),
])[];

/** The format of `-o`. */
export function formatOf(text: string): Format {
  const format = FORMATS.find((one) => one === text);
  if (format === undefined) throw new Problem(`-o is "${text}": it should be one of ${FORMATS.join(', ')}`, EXIT.usage);
  return format;
}

/** Rows as text, with a trailing newline unless there is nothing. */
export function rowsText<Row>(rows: readonly Row[], columns: Columns<Row>, format: Format): string {
  switch (format) {
    case 'json':
      return `${plainJson(rows, 2)}\n`;
    case 'ndjson':
      return rows.map((row) => `${plainJson(row)}\n`).join('');
    case 'table':
      return table([
        columns.map(([heading]) => heading),
        ...rows.map((row) => columns.map(([, cell]) => cellText(typeof cell === 'function' ? cell(row) : row[cell]))),
      ]);
    default:
      return format satisfies never;
  }
}

/** One thing as text: fields below each other, or JSON. */
export function recordText(record: object, format: Format): string {
  switch (format) {
    case 'json':
      return `${plainJson(record, 2)}\n`;
    case 'ndjson':
      return `${plainJson(record)}\n`;
    case 'table':
      return table(Object.entries(record).map(([field, value]) => [field, cellText(value)]));
    default:
      return format satisfies never;
  }
}

/** Cells below each other by the columns that a terminal gives them, two spaces between. */
function table(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  const cells = lines.map((line) => line.map((text) => ({ text, width: displayWidth(text) })));
  for (const line of cells)
    line.forEach(({ width }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, width);
    });
  return cells
    .map((line) => {
      const padded = line.map(({ text, width }, column) => text + ' '.repeat((widths[column] ?? 0) - width));
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}

// What a remote machine says must not reach the terminal as an order by way of a table.
function cellText(value: unknown): string {
  return plainText(
    value === null || value === undefined ? '-' : typeof value === 'string' ? value : JSON.stringify(value),
  );
}
