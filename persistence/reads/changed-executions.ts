/** What became of executions that another admin's actors move. */
import type { Pool } from 'pg';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { existingCommands } from './briefs.ts';
import { rowsOf, sql } from './sql.ts';

/** An execution as somebody knows it. */
export interface KnownExecution {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly status: ExecutionStatus;
}

/** One whose row says something else. `status` null: it has none any more. */
export interface ChangedExecution extends Omit<KnownExecution, 'status'> {
  readonly status: ExecutionStatus | null;
  readonly exitCode: number | null;
  readonly clusterName: string;
}

/** What is asked of executions that are known here, and of their commands. Rejects with DatabaseUnavailable. */
export function executionsElsewhere(pool: Pool) {
  return {
    changed: (known: readonly KnownExecution[]) => changedExecutions(pool, known),
    existing: (commands: readonly CommandId[]) => existingCommands(pool, commands),
  };
}

/** Those of the executions that changed since, in one statement. */
function changedExecutions(pool: Pool, known: readonly KnownExecution[]): Promise<readonly ChangedExecution[]> {
  return rowsOf<ChangedExecution>(
    pool,
    'reading executions of other admins',
    sql`
    select k.execution, k.command, k.node, e.status, e.exit_code as "exitCode", coalesce(e.cluster_name, '') as "clusterName"
    from unnest(${known.map((one) => one.execution)}::uuid[], ${known.map((one) => one.command)}::uuid[], ${known.map((one) => one.node)}::uuid[], ${known.map((one) => one.status)}::text[])
      as k(execution, command, node, status) left join command_execution e on e.id = k.execution
    where e.status is distinct from k.status`,
  );
}
