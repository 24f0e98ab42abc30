/** What live feeds of commands read: their executions without output, and whether they are still there. */
import type { Pool } from 'pg';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { CommandId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from './sql.ts';

/** An execution as feeds of a command tell of it. */
export interface ExecutionBriefRow {
  readonly id: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly status: ExecutionStatus;
  readonly exit_code: number | null;
}

/** Those of the commands that are stored. */
export async function existingCommands(pool: Pool, commands: readonly CommandId[]): Promise<ReadonlySet<CommandId>> {
  if (commands.length === 0) return new Set();
  const rows = await rowsOf<{ id: CommandId }>(
    pool,
    'looking for commands',
    sql`select id from command where id = any(${commands}::uuid[])`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** All executions of a command in creation order, at most `limit`. */
export function executionsOf(pool: Pool, command: string, limit: number): Promise<readonly ExecutionBriefRow[]> {
  return rowsOf<ExecutionBriefRow>(
    pool,
    'reading the executions of a command',
    sql`select id, node_id, cluster_name, status, exit_code from command_execution where command_id = ${command}::uuid order by id limit ${limit}`,
  );
}
