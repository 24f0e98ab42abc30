/** The order of rows. */
import { EXIT, Problem } from '../problem.ts';
import { sortNameOf, valueOf, type Column, type Table } from './columns.ts';

/** An order by one column. */
export interface Order<Row> {
  readonly column: Column<Row>;
  readonly isDescending: boolean;
}

/** What `--sort` means for a table: the name of a column, with `-` before it for descending. Refuses other words. */
export function orderOf<Row>({ columns }: Table<Row>, text: string): Order<Row> {
  const isDescending = text.startsWith('-');
  const name = (isDescending ? text.slice(1) : text).toLowerCase();
  const column = columns.find((one) => sortNameOf(one) === name || one[2]?.sorts === name);
  if (column === undefined)
    throw new Problem(
      `--sort is "${text}": it should be one of ${columns.map(sortNameOf).join(', ')}, with - before it for descending`,
      EXIT.usage,
    );
  return { column, isDescending };
}

/** Ids and their beginnings, in which digits are no numbers. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?$/u;

/**
 * The same rows in order. What has no value stands last in either direction; numbers in names count as such, nodes by
 * what they are called, and what is called by its id only comes after what has a name.
 */
export function sorted<Row>(
  rows: readonly Row[],
  { column, isDescending }: Order<Row>,
  nodeName: (id: string) => string,
): readonly Row[] {
  const collator = new Intl.Collator('en', { numeric: true });
  const worth = (row: Row): unknown => {
    const value = valueOf(row, column) ?? null;
    return typeof value === 'string' && column[2]?.node === true ? nodeName(value) : value;
  };
  return rows
    .map((row) => ({ row, value: worth(row) }))
    .toSorted((one, other) => {
      if (one.value === null || other.value === null) return Number(one.value === null) - Number(other.value === null);
      const order =
        typeof one.value === 'number' && typeof other.value === 'number'
          ? one.value - other.value
          : compare(textOf(one.value), textOf(other.value), collator);
      return isDescending ? -order : order;
    })
    .map(({ row }) => row);
}

function compare(one: string, other: string, collator: Intl.Collator): number {
  const [isId, isOtherId] = [ID.test(one), ID.test(other)];
  if (isId !== isOtherId) return Number(isId) - Number(isOtherId);
  if (!isId) return collator.compare(one, other);
  return one === other ? 0 : one < other ? -1 : 1;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
