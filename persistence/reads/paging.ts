/** Pages of any list: first the ids, off an index alone where there is one, then the rows of the page. */
import type { ListQuery } from '../../actors/filters.ts';
import type { Page } from '../../actors/kit/ports.ts';
import { all, condition } from './conditions.ts';
import type { Field, Reading, Source } from './source.ts';
import { join, rowsOf, sql, type Sql } from './sql.ts';

/** Rows that a page may lie from the nearer end before landmarks are looked for, since they cost a statement more. */
const NEAR_ROWS = 20_000;

/**
 * One page and the count of all rows that match. Null sorts as the greatest value; the id breaks ties, in the direction of the last
 * sort field. The count and the page are two statements: with rows coming and going between them, a page may be off by those.
 */
export async function page<T>(source: Source<T>, reading: Reading, query: ListQuery): Promise<Page<T>> {
  const where = all(query.filters.map((filter) => condition(specOf(source, filter.field).kind, fieldOf(source, filter.field), filter)));
  const filterJoin = query.filters.some(({ field }) => fieldOf(source, field).cluster === true);
  const totalCount = await count(source, reading, query.filters.length === 0 ? null : where, filterJoin);
  const span = spanOf(query, totalCount);
  if (span.size <= 0) return { rows: [], totalCount };
  if (Math.min(span.offset, span.fromEnd) > NEAR_ROWS && query.filters.length === 0) {
    const deep = await deepPage(source, reading, query);
    if (deep !== null) return deep;
  }

  const backwards = span.fromEnd < span.offset; // past the middle it is nearer from the other end
  const joined = filterJoin || query.sort.some(({ field }) => fieldOf(source, field).cluster === true);
  const ids = await idsOf(reading, sql`
    select ${source.id} as id from ${source.table} ${joined ? source.joinCluster : sql``} where ${where}
    order by ${order(source, query, backwards)} limit ${span.size}::bigint offset ${backwards ? span.fromEnd : span.offset}::bigint`, backwards);
  return { rows: await source.resources(reading, ids, false), totalCount };
}

/** Where a page lies: rows before it, rows in it, rows after it. */
function spanOf({ page: number, pageSize }: ListQuery, totalCount: number): { readonly offset: number; readonly size: number; readonly fromEnd: number } {
  const offset = (number - 1) * pageSize;
  const size = Math.min(pageSize, totalCount - offset);
  return { offset, size, fromEnd: totalCount - offset - size };
}

/** A page in order of creation, from the nearest landmark; null when there is none. */
async function deepPage<T>(source: Source<T>, reading: Reading, query: ListQuery): Promise<Page<T> | null> {
  const landmarks = reading.landmarks.get(source);
  const [sort, ...more] = query.sort;
  if (landmarks === undefined || more.length > 0 || (sort !== undefined && fieldOf(source, sort.field).creation !== true)) return null;
  const newestFirst = sort?.descending ?? true;
  const lowest = (totalCount: number): number => Math.max(0, newestFirst ? spanOf(query, totalCount).fromEnd : spanOf(query, totalCount).offset);
  const located = await landmarks.locate(lowest);
  if (located === null) return null;
  const { place: { after, skip }, totalCount } = located;
  const { size } = spanOf(query, totalCount);
  const ids = await idsOf(reading, sql`
    select ${source.id} as id from ${source.table} where ${after === null ? sql`true` : sql`${source.id} > ${after}::uuid`}
    order by ${source.id} limit ${Math.max(0, size)}::bigint offset ${skip}::bigint`, newestFirst);
  return { rows: await source.resources(reading, ids, false), totalCount };
}

async function idsOf({ pool }: Reading, statement: Sql, backwards: boolean): Promise<readonly string[]> {
  const ids = (await rowsOf<{ id: string }>(pool, 'listing', statement)).map(({ id }) => id);
  return backwards ? ids.reverse() : ids;
}

/** Of a whole long table triggers keep the count; else the rows are counted. */
async function count<T>(source: Source<T>, { pool }: Reading, where: Sql | null, joined: boolean): Promise<number> {
  const statement = where === null && source.counted !== null
    ? sql`select coalesce(sum(n), 0)::float8 as total from row_count where table_name = ${source.counted}`
    : sql`select count(*)::float8 as total from ${source.table} ${joined ? source.joinCluster : sql``} where ${where ?? sql`true`}`;
  const [row] = await rowsOf<{ total: number }>(pool, 'counting', statement);
  return row?.total ?? 0;
}

function order<T>(source: Source<T>, { sort }: ListQuery, backwards: boolean): Sql {
  const last = sort.at(-1);
  const columns = sort.map(({ field, descending }) => ({ column: sortColumn(fieldOf(source, field)), descending }));
  // Creation order may be that of an index; it breaks its own ties, so it can only stand last.
  const end = last === undefined ? source.creation : fieldOf(source, last.field).creation === true ? source.creation : source.creation.slice(-1);
  if (end === source.creation) columns.pop();
  const ends = end.map((column) => ({ column, descending: last?.descending ?? true }));
  return join([...columns, ...ends].map(({ column, descending }) => sql`${column} ${descending === backwards ? sql`asc` : sql`desc`}`), sql`, `);
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
