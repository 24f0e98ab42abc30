/** Data on stdout, and nothing else there: a table for people, JSON for programs. */
import { plainJson, plainOutput, plainText } from './plain-text.ts';
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

function table(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const line of lines)
    line.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

// What a remote machine says must not reach the terminal as an order by way of a table.
function cellText(value: unknown): string {
  return plainText(
    value === null || value === undefined ? '-' : typeof value === 'string' ? value : JSON.stringify(value),
  );
}

/** Writes what scripts said: to a terminal without what it would obey, to a file or a program as it is. */
export function writeOutput(text: string): Promise<void> {
  return write(process.stdout.isTTY ? plainOutput(text) : text);
}

/** Writes to stdout and waits until it is taken. A reader that went away (`| head`) ends the program quietly. */
export async function write(text: string): Promise<void> {
  if (text === '') return;
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error == null) resolve();
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(EXIT.ok);
      else reject(error);
    });
  });
}

/** Says something to the person, on stderr. */
export function tell(line: string): void {
  process.stderr.write(`edge: ${plainText(line)}\n`);
}
