/** Rows of a list as somebody wants to see them: in order, with the names of their nodes. */
import type { Api } from '../service/client.ts';
import { labelsFor } from './outputs.ts';
import { firstRows, type ReadPage } from '../service/pages.ts';
import { valueOf, type Table } from '../table/columns.ts';
import { orderOf, sorted } from '../table/order.ts';

/** Rows that are read to be sorted here; of more, those that are read stand in order. */
const SORTED_ROWS_MAX = 10_000;

/** How many, in which order, and whether anybody reads names of nodes. */
export interface ListQuery {
  readonly limit: number;
  /** What `--sort` said; undefined: nothing. */
  readonly sort?: string | undefined;
  readonly isForPeople: boolean;
}

/** What is shown, and of how many. */
export interface Shown<Row> {
  readonly rows: readonly Row[];
  readonly totalCount: number;
  readonly nodeName: (id: string) => string;
}

/** Reads a list. Refuses a column that is none. */
export async function readList<Row>(
  api: Api,
  table: Table<Row>,
  read: ReadPage<Row>,
  { limit, sort, isForPeople }: ListQuery,
): Promise<Shown<Row>> {
  const order = sort === undefined ? null : orderOf(table, sort);
  const field = order?.column[2]?.sorts;
  const isByService = order !== null && field !== undefined;
  const { rows, totalCount } = await firstRows(
    order === null || isByService ? limit : Math.max(limit, SORTED_ROWS_MAX),
    read,
    isByService ? `${order.isDescending ? '-' : ''}${field}` : undefined,
  );
  // names of nodes that are rows themselves cost nothing, and put them in the same order for people and programs
  const isNamed = isForPeople || sort !== undefined || table.names !== undefined;
  const nodeName = isNamed ? await namesOf(api, table, rows) : (id: string) => id;
  return { rows: isByService ? rows : inOrder(rows, table, sort, nodeName).slice(0, limit), totalCount, nodeName };
}

/** The same rows in the order that was asked for, or else in that of the table. */
export function inOrder<Row>(
  rows: readonly Row[],
  table: Table<Row>,
  sort: string | undefined,
  nodeName: (id: string) => string,
): readonly Row[] {
  const by = sort ?? table.sortedBy;
  return by === undefined ? rows : sorted(rows, orderOf(table, by), nodeName);
}

/** What the nodes in a table are called: by the rows where these are nodes, else by asking. */
export async function namesOf<Row>(api: Api, table: Table<Row>, rows: readonly Row[]): Promise<(id: string) => string> {
  if (table.names !== undefined) return table.names(rows);
  const columns = table.columns.filter(([, , options]) => options?.node === true);
  const ids = columns.flatMap((column) => rows.map((row) => valueOf(row, column)));
  return columns.length === 0
    ? (id) => id
    : labelsFor(api, [...new Set(ids.filter((id): id is string => typeof id === 'string'))]);
}
