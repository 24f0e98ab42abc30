/** Targetings of one page of a list, within a budget. */
import { sql, type Sql } from './sql.ts';

/**
 * Targetings in one page of a list, in bytes: 8 times the largest single one by default, so that a page of 100 that
 * name tens of thousands of nodes each is not 100 MiB (L2). From the row that passes it on, a targeting is its type and
 * `withheld`; single reads always carry all of it.
 */
export const PAGE_TARGETING_BYTES_MAX = 8_388_608;

/** Rows `(id, place, targeting)` of a table, by their ids and in their order. `single`: whatever the size. */
export function pageTargetings(table: Sql, ids: readonly string[], single: boolean): Sql {
  const rows = sql`
    select x.id, row_number() over (order by asked.place) as place, x.targeting
    from unnest(${ids}::uuid[]) with ordinality as asked (id, place) join ${table} x on x.id = asked.id`;
  if (single) return sql`(${rows})`;
  // One after another: of what does not fit only the first is measured.
  return sql`(
    with recursive listed as materialized (${rows}), fitting (place, bytes) as (
      select place, octet_length(targeting::text)::bigint from listed where place = 1
      union all
      select l.place, f.bytes + octet_length(l.targeting::text) from fitting f join listed l on l.place = f.place + 1 where f.bytes <= ${PAGE_TARGETING_BYTES_MAX}::int)
    select l.id, l.place, case when f.bytes <= ${PAGE_TARGETING_BYTES_MAX}::int then l.targeting else jsonb_build_object('type', l.targeting -> 'type', 'withheld', true) end as targeting from listed l left join fitting f on f.place = l.place)`;
}
