/** Pages of any list: first the ids, off an index alone where there is one, then the rows of the page. */
import type { ListQuery } from '../../actors/filters.ts';
import type { Page } from '../../actors/kit/ports.ts';
import { all, condition } from './conditions.ts';
import type { Field, Reading, Source } from './source.ts';
import { join, rowsOf, sql, type Sql } from './sql.ts';

/**
 * One page and the count of all rows that match. Null sorts as the greatest value; the id breaks ties, in the direction of the last
 * sort field. The count and the page are two statements: with rows coming and going between them, a page may be off by those.
 */
export async function page<T>(source: Source<T>, reading: Reading, query: ListQuery): Promise<Page<T>> {
  const where = all(query.filters.map((filter) => condition(specOf(source, filter.field).kind, fieldOf(source, filter.field), filter)));
  const filterJoin = query.filters.some(({ field }) => fieldOf(source, field).cluster === true);
  const totalCount = await count(source, reading, query.filters.length === 0 ? null : where, filterJoin);
  const offset = (query.page - 1) * query.pageSize;
  const size = Math.min(query.pageSize, totalCount - offset);
  if (size <= 0) return { rows: [], totalCount };

  const fromEnd = totalCount - offset - size;
  const backwards = fromEnd < offset; // past the middle it is nearer from the other end
  const joined = filterJoin || query.sort.some(({ field }) => fieldOf(source, field).cluster === true);
  const ids = await rowsOf<{ id: string }>(reading.pool, 'listing', sql`
    select ${source.id} as id from ${source.table} ${joined ? source.joinCluster : sql``} where ${where}
    order by ${order(source, query, backwards)} limit ${size}::bigint offset ${backwards ? fromEnd : offset}::bigint`);
  const inOrder = ids.map(({ id }) => id);
  if (backwards) inOrder.reverse();
  return { rows: await source.resources(reading, inOrder, false), totalCount };
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
