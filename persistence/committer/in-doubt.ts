/**
 * Commits whose answer was lost with the database: what of them is stored is asked of the rows, so that nobody who
 * watches misses it.
 */
import type { Pool } from 'pg';
import type { Notice } from '../../actors/notice.ts';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';

/**
 * The notices of commits in doubt, as the rows have it: executions in the state that is stored, if it is not the one
 * they began in; nodes, which are read again by whoever hears of them; and that there may be events. Others tell of
 * rows that whoever asked was not promised.
 */
export async function storedNotices(pool: Pool, inDoubt: readonly Notice[]): Promise<readonly Notice[]> {
  const executions = inDoubt.filter((notice) => notice.type === 'execution-changed');
  const { rows } = await pool.query<{ id: ExecutionId; status: ExecutionStatus; exit_code: number | null }>(
    "select id, status, exit_code from command_execution where id = any($1::uuid[]) and status <> 'pending'",
    [executions.map((notice) => notice.execution)],
  );
  const stored = new Map(rows.map((row) => [row.id, row]));
  const told = new Map(
    executions.flatMap((notice): [ExecutionId, Notice][] => {
      const row = stored.get(notice.execution);
      return row === undefined ? [] : [[notice.execution, { ...notice, status: row.status, exitCode: row.exit_code }]];
    }),
  );
  return [...told.values(), ...inDoubt.filter((notice) => notice.type === 'node-changed'), { type: 'events-stored' }];
}
