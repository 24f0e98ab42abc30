/** Which executions a sweep takes at once, where it stores an event of each. */
import { sql, type Sql } from '../reads/sql.ts';

/**
 * Scripts in the events of one sweep, in bytes: as the event of each execution holds its script, a thousand with long
 * ones would be more than a statement stores in its time. Some 50 ms, as for SWEEP_ROWS_MAX.
 */
export const SWEEP_SCRIPT_BYTES_MAX = 1_048_576;

/**
 * Locks the first executions that match and are free, at most `limit`, as `chosen (id, command_id, at)`, and takes of
 * them what fits into SWEEP_SCRIPT_BYTES_MAX, the first one always, as `taken (id)`. `at`: the column by which they are
 * in order. The size of a script is read off its row, and not the script.
 */
export function takenExecutions(at: Sql, condition: Sql, limit: number): Sql {
  return sql`
    chosen as materialized (
      select id, command_id, ${at} as at from command_execution where ${condition} order by ${at} limit ${limit}::int for update skip locked),
    taken as materialized (
      select id from (
        select c.id, sum(coalesce(octet_length(m.command_text), 0)) over in_order as bytes, row_number() over in_order as place from chosen c left join command m on m.id = c.command_id
        window in_order as (order by c.at, c.id rows unbounded preceding)) sized
      where bytes <= ${SWEEP_SCRIPT_BYTES_MAX}::int or place = 1)`;
}

/** A column beside the rows of what was taken: how many were chosen. */
export const CHOSEN = sql`(select count(*) from chosen)::int as chosen`;

/** Whether there may be more: the limit was reached, or not all that was chosen fitted. */
export function isFull(rows: readonly { readonly chosen: number }[], limit: number): boolean {
  const chosen = rows[0]?.chosen ?? 0;
  return chosen >= limit || rows.length < chosen;
}
