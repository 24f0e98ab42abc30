/**
 * Data as text: a table for people, JSON for programs. Why the printer is ours and widths are not: see
 * docs/decisions/command-line.md.
 */
import { PAINTS } from '../output/colours.ts';
import { plainJson, plainText } from '../output/plain-text.ts';
import { ageText, withAges } from './ages.ts';
import { valueOf, type Column, type Table } from './columns.ts';
import type { Format } from './format.ts';
import { layout, type Cell } from './layout.ts';
import { shortIds } from './short-ids.ts';

/** What a table is made for. */
export interface View {
  readonly format: Format;
  /** Columns of the terminal; null: nothing is cut. */
  readonly width: number | null;
  readonly isColoured: boolean;
  /** Now, Unix ms. */
  readonly nowMs: number;
  /** What nodes are called, by their ids. */
  readonly nodeName: (id: string) => string;
}

/** A view for whatever is no terminal. */
export function plainView(format: Format): View {
  return { format, width: null, isColoured: false, nowMs: Date.now(), nodeName: (id) => id };
}

/** Rows as text, with a trailing newline unless there is nothing. */
export function rowsText<Row>(rows: readonly Row[], table: Table<Row>, view: View): string {
  switch (view.format) {
    case 'json':
      return `${plainJson(rows, 2)}\n`;
    case 'ndjson':
      return rows.map((row) => `${plainJson(row)}\n`).join('');
    case 'id':
      return rows.map((row) => `${plainText(table.id(row))}\n`).join('');
    case 'table':
    case 'wide':
      return tableText(rows, table, view);
    default:
      return view.format satisfies never;
  }
}

/** One thing as text: its id if it has one, fields below each other, or JSON. */
export function recordText(record: object, format: Format): string {
  switch (format) {
    case 'json':
      return `${plainJson(record, 2)}\n`;
    case 'ndjson':
      return `${plainJson(record)}\n`;
    case 'id':
      return idOf(record)
        .map((id) => `${plainText(id)}\n`)
        .join('');
    case 'table':
    case 'wide':
      return layout(
        Object.entries(record).map(([field, value]) => [plain(field), plain(cellText(value))]),
        [{}, {}],
        null,
      );
    default:
      return format satisfies never;
  }
}

/**
 * What identifies a thing that is told alone; none of what is no thing, such as a sum. Clusters and types of events are
 * called by their names, and what was measured by its node.
 */
function idOf(record: object): readonly string[] {
  const { id, name, type, node_id: node } = record as Readonly<Record<string, unknown>>;
  return [id, name, type, node].filter((one) => typeof one === 'string').slice(0, 1);
}

function tableText<Row>(rows: readonly Row[], { columns }: Table<Row>, view: View): string {
  const shown = columns.filter(([, , options]) => view.format === 'wide' || options?.wide !== true);
  const cellsOf = shown.map((column) => cellsOfColumn(rows, column, view));
  const lines = rows.map((_row, index) => cellsOf.map((cells) => cells[index] ?? plain('')));
  return layout(
    [shown.map(([heading]) => plain(heading)), ...lines],
    shown.map(([, , options]) => ({ cut: options?.cut, drop: options?.drop })),
    view.format === 'wide' ? null : view.width,
  );
}

function cellsOfColumn<Row>(rows: readonly Row[], column: Column<Row>, view: View): readonly Cell[] {
  const [, , options = {}] = column;
  const values = rows.map((row) => valueOf(row, column));
  const short = options.id === true && view.format === 'table' ? shortIds(values.map(String)) : null;
  return rows.map((row, index) => {
    const value = values[index];
    const tone = view.isColoured ? (options.tone?.(row) ?? null) : null;
    const paint = tone === null ? null : PAINTS[tone];
    if (typeof value === 'number') return { text: `${value}${options.unit ?? ''}`, paint };
    if (typeof value !== 'string') return { text: cellText(value), paint };
    if (options.age === true) return { text: cellText(ageText(value, view.nowMs)), paint };
    if (options.told === true) return { text: cellText(withAges(value, view.nowMs)), paint };
    if (options.node === true) return { text: cellText(view.nodeName(value)), paint };
    return { text: cellText(short === null ? value : short(value)), paint };
  });
}

function plain(text: string): Cell {
  return { text, paint: null };
}

// What a remote machine says must not reach the terminal as an order by way of a table.
function cellText(value: unknown): string {
  return plainText(
    value === null || value === undefined ? '-' : typeof value === 'string' ? value : JSON.stringify(value),
  );
}
