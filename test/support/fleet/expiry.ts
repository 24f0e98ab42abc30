/**
 * Commands that expire when a test says so: a time that is given when they are created may have passed before they are.
 */
import type { Fleet } from '../fleet.ts';

/** For `expired_at` of a command that is to expire by a test: later than any test lasts. */
export function muchLater(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}

/** Has the executions of a command expire in so many ms, by the clock of the database: when, as the API tells it. */
export async function expireIn(fleet: Pick<Fleet, 'sql'>, { id }: { readonly id: string }, ms = 0): Promise<string> {
  const rows = await fleet.sql<{ at: Date }>(
    `with c as (
      update command set expired_at = date_trunc('milliseconds', clock_timestamp()) + $2::int * interval '1 ms'
        where id = $1 returning id, expired_at)
    update command_execution e set expired_at = c.expired_at from c where e.command_id = c.id returning e.expired_at as at`,
    [id, ms],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`the command ${id} has no executions`);
  return row.at.toISOString();
}
