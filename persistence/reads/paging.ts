/** Pages of any list: first the ids, off an index alone where there is one, then the rows of the page. */
import type { Pool, PoolClient } from 'pg';
import type { Filter, ListQuery } from '../../actors/filters.ts';
import { ListTooLong } from '../../actors/ports.ts';
import type { KeyedPage, Page } from '../../api/ports.ts';
import { isOvertime } from '../connections/availability.ts';
import { all, anyOf, condition } from './conditions.ts';
import type { Field, Reading, Source } from './source.ts';
import { join, rowsOf, sql, type Sql } from './sql.ts';
import type { Semaphore } from '../connections/semaphore.ts';
import { inTransaction } from '../connections/transaction.ts';

/** Both statements of a page see the same rows. */
const ONE_SNAPSHOT = 'begin isolation level repeatable read read only';

/**
 * Rows that a page may lie from the nearer end before page anchors are looked for, since they cost a statement more.
 */
const NEAR_ROWS = 20_000;

/**
 * One page and the count of all rows that match. Null sorts as the greatest value; the id breaks ties, in the direction
 * of the last sort field. The count and the page are of one snapshot, so that a page that is counted from the end lies
 * where it says: whoever walks in order of creation, either way, to the last page is shown every row that was there
 * when the walk began, however many are inserted meanwhile. Those inserted in front move others to a later page, where
 * they are shown once more. Rows that are deleted, or sorted by what changes, promise nothing.
 */
export async function page<T>(
  source: Source<T>,
  reading: Reading,
  query: ListQuery,
  inTurn: Semaphore,
): Promise<Page<T>> {
  return inTurn(() =>
    inTime(source, query, () =>
      query.page === 1 ? firstPage(source, reading, query, inTurn) : furtherPage(source, reading, query),
    ),
  );
}

/** Rejects with ListTooLong where the server gave up, and no filter is one that an index serves. */
async function inTime<T, R>(
  { narrow }: Source<T>,
  { filters }: Pick<ListQuery, 'filters'>,
  read: () => Promise<R>,
): Promise<R> {
  try {
    return await read();
  } catch (error) {
    if (narrow === undefined || filters.length === 0 || filters.some(narrow.does) || !isOvertime(error)) throw error;
    throw new ListTooLong(narrow.words, error);
  }
}

/**
 * The rows that match, by their ids: at most `limit` behind `after`. However long the list is, it costs what its rows
 * do: nothing is counted, and nothing is passed over but what does not match.
 */
export async function keyedPage<T>(
  source: Source<T>,
  reading: Reading,
  {
    filters,
    after,
    limit,
  }: { readonly filters: readonly Filter[]; readonly after: string | null; readonly limit: number },
  inTurn: Semaphore,
): Promise<KeyedPage<T>> {
  return inTurn(async () => {
    const query = { filters, sort: [], page: 1, pageSize: limit };
    const joined = isFilteredByJoin(source, query) ? source.joinCluster : sql``;
    const behind = after === null ? sql`true` : sql`${source.id} > ${after}::uuid`;
    const ids = await idsOf(
      reading.pool,
      sql`
      select ${source.id} as id from ${source.table} ${joined} where ${conditionOf(source, query)} and ${behind}
      order by ${source.id} limit ${limit}::bigint`,
    );
    const rows = await source.resources(reading, ids, false);
    return { rows, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
  });
}

async function furtherPage<T>(source: Source<T>, reading: Reading, query: ListQuery): Promise<Page<T>> {
  const inSnapshot = <R>(work: (client: PoolClient) => Promise<R>): Promise<R> =>
    inTransaction(reading.pool, 'listing', work, ONE_SNAPSHOT);
  const located =
    (await inSnapshot(async (client) => {
      const totalCount = await count(source, client, query);
      return isFar(query, totalCount) ? null : locate(source, client, query, totalCount);
    })) ??
    // Only now that the connection of the snapshot is given back: pages that each hold one and want another wait for
    // each other, and all writes behind them.
    (await deepPage(source, reading, query)) ??
    (await inSnapshot(async (client) => locate(source, client, query, await count(source, client, query))));
  return { rows: await source.resources(reading, located.ids, false), totalCount: located.totalCount };
}

/**
 * It lies at the front whatever the count is, so it needs no snapshot: what was seen of it is the least that there is.
 * Its rows are read while the others are still counted, where lists may take another connection for that.
 */
async function firstPage<T>(
  source: Source<T>,
  reading: Reading,
  query: ListQuery,
  inTurn: Semaphore,
): Promise<Page<T>> {
  // One more than is shown: rows may be inserted after the count, and what they move off this page is on another one.
  const statement = idsStatement(source, query, { offset: 0, size: query.pageSize + 1, backwards: false });
  const readRows = async (): Promise<{ readonly rows: readonly T[]; readonly seen: number }> => {
    const ids = await idsOf(reading.pool, statement);
    return { rows: await source.resources(reading, ids.slice(0, query.pageSize), false), seen: ids.length };
  };
  const beside = inTurn.now(readRows);
  // Both to their ends, also when one fails: a turn lasts as long as its connection is held.
  const [counted, read] = await Promise.allSettled([count(source, reading.pool, query), beside]);
  if (counted.status === 'rejected') throw counted.reason;
  if (read.status === 'rejected') throw read.reason;
  const { rows, seen } = read.value ?? (await readRows());
  return { rows, totalCount: Math.max(counted.value, seen) };
}

/** Which rows are on a page. */
interface Located {
  readonly ids: readonly string[];
  readonly totalCount: number;
}

/** Whether it lies so far from both ends of a whole list that a page anchor is nearer. */
function isFar(query: ListQuery, totalCount: number): boolean {
  const { offset, size, fromEnd } = spanOf(query, totalCount);
  return size > 0 && query.filters.length === 0 && Math.min(offset, fromEnd) > NEAR_ROWS;
}

/** Counted from the nearer end. */
async function locate<T>(
  source: Source<T>,
  client: PoolClient,
  query: ListQuery,
  totalCount: number,
): Promise<Located> {
  const { offset, size, fromEnd } = spanOf(query, totalCount);
  if (size <= 0) return { ids: [], totalCount };
  const backwards = fromEnd < offset; // past the middle it is nearer from the other end
  const ids = await idsOf(
    client,
    idsStatement(source, query, { offset: backwards ? fromEnd : offset, size, backwards }),
  );
  return { ids: backwards ? ids.toReversed() : ids, totalCount };
}

/** So many ids behind so many others, in the order that is asked for or the other way round. */
function idsStatement<T>(
  source: Source<T>,
  query: ListQuery,
  { offset, size, backwards }: { readonly offset: number; readonly size: number; readonly backwards: boolean },
): Sql {
  const joined =
    isFilteredByJoin(source, query) || query.sort.some(({ field }) => fieldOf(source, field).cluster === true);
  return sql`
    select ${source.id} as id from ${source.table} ${joined ? source.joinCluster : sql``} where ${conditionOf(source, query)}
    order by ${order(source, query, backwards)} limit ${size}::bigint offset ${offset}::bigint`;
}

/** Where a page lies: rows before it, rows in it, rows after it. */
function spanOf(
  { page: number, pageSize }: ListQuery,
  totalCount: number,
): { readonly offset: number; readonly size: number; readonly fromEnd: number } {
  const offset = (number - 1) * pageSize;
  const size = Math.min(pageSize, totalCount - offset);
  return { offset, size, fromEnd: totalCount - offset - size };
}

/** A page in order of creation, from the nearest page anchor; null when there is none. */
async function deepPage<T>(source: Source<T>, reading: Reading, query: ListQuery): Promise<Located | null> {
  const anchors = reading.anchors.get(source);
  const [sort, ...more] = query.sort;
  if (anchors === undefined || more.length > 0 || (sort !== undefined && fieldOf(source, sort.field).creation !== true))
    return null;
  const newestFirst = sort?.descending ?? true;
  const lowest = (totalCount: number): number =>
    Math.max(0, newestFirst ? spanOf(query, totalCount).fromEnd : spanOf(query, totalCount).offset);
  const located = await anchors.locate(lowest);
  if (located === null) return null;
  const {
    place: { after, skip },
    totalCount,
  } = located;
  const { size } = spanOf(query, totalCount);
  const ids = await idsOf(
    reading.pool,
    sql`
    select ${source.id} as id from ${source.table} where ${after === null ? sql`true` : sql`${source.id} > ${after}::uuid`}
    order by ${source.id} limit ${Math.max(0, size)}::bigint offset ${skip}::bigint`,
  );
  return { ids: newestFirst ? ids.toReversed() : ids, totalCount };
}

async function idsOf(client: Pool | PoolClient, statement: Sql): Promise<readonly string[]> {
  return (await rowsOf<{ id: string }>(client, 'listing', statement)).map(({ id }) => id);
}

/** Of a whole long table triggers keep the count; else the rows are counted. */
async function count<T>(source: Source<T>, client: Pool | PoolClient, query: ListQuery): Promise<number> {
  const statement =
    query.filters.length === 0 && source.counted !== null
      ? sql`select (${rowsIn(source.counted)})::float8 as total`
      : (countedBeside(source, query) ??
        sql`select count(*)::float8 as total from ${source.table} ${isFilteredByJoin(source, query) ? source.joinCluster : sql``} where ${conditionOf(source, query)}`);
  const [row] = await rowsOf<{ total: number }>(client, 'counting', statement);
  return row?.total ?? 0;
}

/** Of rows that are asked for by what stands in one table beside them, and by nothing else. */
function countedBeside<T>(source: Source<T>, { filters }: ListQuery): Sql | null {
  const tables = filters.map(({ field }) => fieldOf(source, field).beside);
  const [first] = tables;
  if (first === undefined || tables.some((beside) => beside !== first)) return null;
  const leftOut = filters.map((filter) => first.leavesOut(filter)).filter((condition) => condition !== null);
  if (source.counted !== null && leftOut.length === filters.length)
    return sql`select ((${rowsIn(source.counted)}) - (select count(*) from ${first.table} where ${anyOf(leftOut)}))::float8 as total`;
  return sql`select count(*)::float8 as total from ${first.table} where ${all(filters.map((filter) => first.matches(filter)))}`;
}

/** Rows of a long table, as its triggers keep their count. */
function rowsIn(table: string): Sql {
  return sql`select coalesce(sum(n), 0) from row_count where table_name = ${table}`;
}

function conditionOf<T>(source: Source<T>, { filters }: ListQuery): Sql {
  return all(
    filters.map((filter) => condition(specOf(source, filter.field).kind, fieldOf(source, filter.field), filter)),
  );
}

function isFilteredByJoin<T>(source: Source<T>, { filters }: ListQuery): boolean {
  return filters.some(({ field }) => fieldOf(source, field).cluster === true);
}

function order<T>(source: Source<T>, { sort }: ListQuery, backwards: boolean): Sql {
  const last = sort.at(-1);
  const columns = sort.map(({ field, descending }) => ({ column: sortColumn(fieldOf(source, field)), descending }));
  // Creation order may be that of an index; it breaks its own ties, so it can only stand last.
  const end =
    last === undefined
      ? source.creation
      : fieldOf(source, last.field).creation === true
        ? source.creation
        : source.creation.slice(-1);
  if (end === source.creation) columns.pop();
  const ends = end.map((column) => ({ column, descending: last?.descending ?? true }));
  return join(
    [...columns, ...ends].map(
      ({ column, descending }) => sql`${column} ${descending === backwards ? sql`asc` : sql`desc`}`,
    ),
    sql`, `,
  );
}

function sortColumn({ column }: Field): Sql {
  if (column === undefined) throw new Error('A field without a column cannot be sorted by.');
  return column;
}

function fieldOf<T>(source: Source<T>, name: string): Field {
  const field = source.fields[name];
  if (field === undefined) throw new Error(`The list has no field ${name}.`);
  return field;
}

function specOf<T>(source: Source<T>, name: string): NonNullable<Source<T>['spec']['fields'][string]> {
  const spec = source.spec.fields[name];
  if (spec === undefined) throw new Error(`The list has no filter ${name}.`);
  return spec;
}
