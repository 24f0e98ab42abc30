/** `edge execution`. */
import type { Command as Program } from 'commander';
import { integer, words, wordsOf } from '../arguments.ts';
import type { Execution } from '../service/client.ts';
import { idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { nodeIdsOf } from '../names/node-names.ts';
import type { Table, Tone } from '../table/columns.ts';

/** All statuses of an execution. Source: docs/api.md. */
const STATUSES = [
  'pending',
  'sent',
  'completed',
  'cancelled',
  'expired',
  'dropped',
] as const satisfies readonly Execution['status'][];

const TABLE: Table<Execution> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['CREATED', 'inserted_at', { age: true, sorts: 'inserted_at' }],
    ['NODE', 'node_id', { node: true, cut: 12 }],
    ['STATUS', 'status', { sorts: 'status' }],
    ['EXIT', 'exit_code', { sorts: 'exit_code', tone: toneOf }],
    ['CLUSTER', 'cluster_name', { cut: 8, drop: 1, sorts: 'cluster_name' }],
    ['COMMAND', 'command_text', { cut: 16 }],
    ['COMPLETED', 'completed_at', { wide: true, age: true, sorts: 'completed_at' }],
    ['COMMAND ID', 'command_id', { wide: true, id: true }],
  ],
};

function toneOf({ exit_code: code }: Execution): Tone | null {
  return code === null || code === 0 ? null : 'bad';
}

interface Filters {
  readonly status?: readonly Execution['status'][];
  readonly node?: readonly string[];
  readonly cluster?: readonly string[];
  readonly command?: readonly string[];
  readonly exitCode?: number;
  readonly exitCodeMin?: number;
  readonly completedSince?: string;
  readonly completedUntil?: string;
  readonly said?: string;
}

const HELP = `
Examples:
  edge execution ls --status pending                  what waits, and on which machines
  edge execution ls --said '*No space left*' --exit-code 1
  edge command output 0193a1c2                        what one of them, or a command, printed`;

/** Executions: what ran where. */
export function addExecutionCommands(program: Program): void {
  const execution = program
    .command('execution')
    .description('what commands did, machine by machine')
    .addHelpText('after', HELP);

  addListCommand<Execution, Filters & ListFlags>(execution, {
    description: 'list executions of all commands, newest first',
    table: TABLE,
    read: async ({ api }, { status, node, cluster, command, said, ...ended }) => {
      const filters = {
        ...(status && { status__in: status }),
        ...(node && { node_id__in: await nodeIdsOf(api, node) }),
        ...(cluster && { cluster_name__in: cluster }),
        ...(command && { command_id__in: await Promise.all(command.map((one) => idOf(api, 'command', one))) }),
        ...(ended.exitCode !== undefined && { exit_code: ended.exitCode }),
        ...(ended.exitCodeMin !== undefined && { exit_code__gte: ended.exitCodeMin }),
        ...(ended.completedSince !== undefined && { completed_at__gte: ended.completedSince }),
        ...(ended.completedUntil !== undefined && { completed_at__lte: ended.completedUntil }),
        ...(said !== undefined && { output: said }),
      };
      return (page) => api.list_command_executions.query({ ...filters, ...page });
    },
  })
    .option('-s, --status <statuses>', `only these: ${STATUSES.join(', ')}`, wordsOf('--status', STATUSES))
    .option('-n, --node <nodes>', 'only on these nodes', words)
    .option('-c, --cluster <names>', 'only in these clusters (with * as wildcard)', words)
    .option('--command <ids>', 'only of these commands', words)
    .option('--exit-code <n>', 'only those that ended with it', integer)
    .option('--exit-code-min <n>', 'only those that ended with it or a higher one: 1 for all that failed', integer)
    .option('--completed-since <date>', 'only those that were completed then or later, such as 2026-01-31T12:00:00Z')
    .option('--completed-until <date>', 'only those that were completed then or before')
    .option('--said <pattern>', 'only those whose output is so (with * as wildcard)');
}
