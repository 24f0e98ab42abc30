/** How many executions of each command are in each state. */
import type { Pool } from 'pg';
import type { CommandSummary } from '../../actors/resources.ts';
import { rowsOf, sql } from './sql.ts';

/** The counts of a summary, over rows of `command_execution`. */
export const SUMMARY_COLUMNS = sql`count(*)::int as total,
  (count(*) filter (where status = 'pending'))::int as pending, (count(*) filter (where status = 'sent'))::int as sent,
  (count(*) filter (where status = 'completed'))::int as completed,
  (count(*) filter (where status = 'completed' and exit_code = 0))::int as succeeded, (count(*) filter (where status = 'completed' and exit_code <> 0))::int as failed,
  (count(*) filter (where status = 'cancelled'))::int as cancelled, (count(*) filter (where status = 'expired'))::int as expired,
  (count(*) filter (where status = 'dropped'))::int as dropped`;

/** Summaries by command id. A command without executions has none here. */
export async function summaries(pool: Pool, commands: readonly string[]): Promise<ReadonlyMap<string, CommandSummary>> {
  const rows = await rowsOf<CommandSummary & { command_id: string }>(pool, 'counting executions', sql`
    select command_id, ${SUMMARY_COLUMNS}
    from command_execution where command_id = any(${commands}::uuid[]) group by command_id`);
  return new Map(rows.map(({ command_id, ...summary }) => [command_id, summary]));
}
