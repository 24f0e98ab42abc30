/** How many executions of each command are in each state. */
import type { Pool } from 'pg';
import type { CommandSummary } from '../../actors/resources/command.ts';
import { rowsOf, sql } from './sql.ts';

/** The counts of a summary, over rows of `command_execution`. */
export const SUMMARY_COLUMNS = sql`count(*)::int as total,
  (count(*) filter (where status = 'pending'))::int as pending, (count(*) filter (where status = 'sent'))::int as sent,
  (count(*) filter (where status = 'completed'))::int as completed,
  (count(*) filter (where status = 'completed' and exit_code = 0))::int as succeeded, (count(*) filter (where status = 'completed' and exit_code <> 0))::int as failed,
  (count(*) filter (where status = 'cancelled'))::int as cancelled, (count(*) filter (where status = 'expired'))::int as expired,
  (count(*) filter (where status = 'dropped'))::int as dropped`;

/** Summaries kept in memory: some 200 bytes each. The oldest go first. */
const KEPT_MAX = 10_000;

/** Summaries by command id. A command without executions has none here. */
export type Summaries = (commands: readonly string[]) => Promise<ReadonlyMap<string, CommandSummary>>;

/**
 * Counts executions of commands. What is counted of a command without open executions is kept: terminal states never
 * change (C6) and no execution is added to a command, so it holds until an execution is deleted, which a trigger
 * counts. Never stale by more than a statement.
 */
export function createSummaries(pool: Pool): Summaries {
  const kept = new Map<string, CommandSummary>();
  let deletedThen: string | null = null;
  return async (commands) => {
    const deleted = await deletedExecutions(pool);
    if (deleted !== deletedThen) kept.clear();
    deletedThen = deleted;
    const found = new Map<string, CommandSummary>();
    for (const id of commands) {
      const known = kept.get(id);
      if (known !== undefined) found.set(id, known);
    }
    const missing = commands.filter((id) => !found.has(id));
    for (const [id, summary] of await counted(pool, missing)) {
      found.set(id, summary);
      if (summary.pending + summary.sent === 0 && deleted === deletedThen) kept.set(id, summary);
    }
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT_MAX) break;
      kept.delete(oldest);
    }
    return found;
  };
}

async function deletedExecutions(pool: Pool): Promise<string> {
  const [row] = await rowsOf<{ deleted: string | null }>(
    pool,
    'counting executions',
    sql`select sum(n)::text as deleted from row_count where table_name = 'command_execution:deleted'`,
  );
  return row?.deleted ?? '0';
}

async function counted(pool: Pool, commands: readonly string[]): Promise<ReadonlyMap<string, CommandSummary>> {
  if (commands.length === 0) return new Map();
  const rows = await rowsOf<CommandSummary & { command_id: string }>(
    pool,
    'counting executions',
    sql`
    select command_id, ${SUMMARY_COLUMNS}
    from command_execution where command_id = any(${commands}::uuid[]) group by command_id`,
  );
  return new Map(rows.map(({ command_id, ...summary }) => [command_id, summary]));
}
