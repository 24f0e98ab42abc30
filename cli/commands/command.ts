/** `edge command`. */
import type { Command as Program } from 'commander';
import type { Api, Command, Execution } from '../service/client.ts';
import { groupedText, prefixedText } from '../output/grouping.ts';
import { canBeginId, existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { executionsOn, labelsFor } from '../output/outputs.ts';
import { write, writeOutput } from '../output/output.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { recordText } from '../table/text.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { progressText } from '../run/progress.ts';
import { sessionOf } from '../service/session.ts';

/** Commands as a table, newest first. */
const TABLE: Table<Command> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['STARTED', 'inserted_at', { age: true, sorts: 'inserted_at' }],
    ['TOTAL', ({ summary }) => summary.total, { drop: 1 }],
    ['SUCCEEDED', ({ summary }) => summary.succeeded, { drop: 4 }],
    [
      'FAILED',
      ({ summary }) => summary.failed,
      { tone: ({ summary }) => (summary.failed > 0 ? 'bad' : null), drop: 3 },
    ],
    ['OPEN', ({ summary }) => summary.pending + summary.sent, { drop: 2 }],
    ['COMMAND', 'command_text', { cut: 16 }],
  ],
};

interface Filters {
  readonly open?: boolean;
  readonly failed?: boolean;
  readonly text?: string;
}

/** Executions whose outputs are fetched for one command. */
const OUTPUTS_MAX = 100_000;

/** Commands: list, look at, outputs, cancel and remove. */
export function addCommandCommands(program: Program): void {
  const group = program.command('command').description('commands that were run');

  addCommandList(group);

  group
    .command('get <id>')
    .alias('show')
    .description('show a command and how far it is')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const id = await idOf(api, 'command', given);
      const found = await existing('command', given, api.get_command.query({ id }));
      await record(
        isForPeople(format)
          ? { ...found, summary: progressText(found.summary, Date.now() - Date.parse(found.inserted_at)) }
          : found,
      );
    });

  group
    .command('output <id>')
    .description('show the outputs of a command, or of one execution as it is')
    .option('-b, --group', 'show identical outputs once')
    .option('--diff', 'show the most frequent output, and how the others differ from it')
    .action(showOutputs);

  group
    .command('cancel <id>')
    .description('stop a command on all nodes')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const id = await idOf(api, 'command', given);
      await record(await existing('command', given, api.cancel_command.mutate({ id })));
    });

  group
    .command('rm <ids...>')
    .description('remove finished commands and their executions')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'command', one);
        await existing('command', one, api.delete_command.mutate({ id }));
      }
    });
}

function addCommandList(group: Program): void {
  addListCommand<Command, Filters & ListFlags>(group, {
    description: 'list commands, newest first',
    table: TABLE,
    read: async ({ api }, { open, failed, text }) => {
      const filters = {
        ...(open !== undefined && { has_open: open }),
        ...(failed !== undefined && { has_failed: failed }),
        ...(text !== undefined && { command_text: text }),
      };
      return (page) => api.list_commands.query({ ...filters, ...page });
    },
  })
    .option('--open', 'only those with executions that are not over')
    .option('--no-open', 'only those that are over everywhere')
    .option('--failed', 'only those that failed somewhere')
    .option('--no-failed', 'only those that failed nowhere')
    .option('--text <pattern>', 'only those whose script is so (with * as wildcard)');
}

interface OutputFlags {
  readonly group?: boolean;
  readonly diff?: boolean;
}

async function showOutputs(given: string, { group, diff }: OutputFlags, command: Program): Promise<void> {
  const { api, format, view } = sessionOf(command);
  const id = await commandOrExecutionIdOf(api, given);
  const executions = await executionsOf(api, id);
  if (executions === null) {
    const execution = await existing('command', given, api.get_command_execution.query({ id }));
    return isForPeople(format) ? writeOutput(execution.output ?? '') : write(recordText(execution, format));
  }
  if (!isForPeople(format))
    return write(
      format === 'json' ? recordText(executions, format) : executions.map((one) => recordText(one, format)).join(''),
    );
  const label = await labelsFor(
    api,
    executions.map(({ node_id: node }) => node),
  );
  const outputs = executions
    .filter(({ output }) => output !== null)
    .map(({ node_id: node, output }) => ({ label: label(node), output: output ?? '' }));
  if (diff === true) {
    const { differenceText } = await import('../output/differences.ts');
    return write(differenceText(outputs, { isPlain: process.stdout.isTTY, isColoured: view().isColoured }));
  }
  return writeOutput(group === true ? groupedText(outputs) : outputs.map(prefixedText).join(''));
}

async function commandOrExecutionIdOf(api: Api, given: string): Promise<string> {
  try {
    return await idOf(api, 'command', given);
  } catch (error) {
    if (!canBeginId(given) || !(error instanceof Problem && error.status === EXIT.notFound)) throw error;
    return idOf(api, 'execution', given).catch(() => {
      throw error;
    });
  }
}

/** All executions of a command with their outputs; null when there is no command of this id. */
async function executionsOf(api: Api, id: string): Promise<readonly Execution[] | null> {
  const { rows } = await firstRows(OUTPUTS_MAX, (page) =>
    api.list_command_executions.query({ command_id__in: [id], ...page, sort: 'inserted_at' }),
  );
  if (rows.length === 0) return isCommand(api, id);
  const heldBack = rows.filter(({ output_withheld: isWithheld }) => isWithheld);
  if (heldBack.length === 0) return rows;
  const whole = new Map(
    (
      await executionsOn(
        api,
        id,
        heldBack.map(({ node_id: node }) => node),
      )
    ).map((execution) => [execution.id, execution]),
  );
  return rows.map((row) => whole.get(row.id) ?? row);
}

async function isCommand(api: Api, id: string): Promise<readonly [] | null> {
  try {
    await api.get_command.query({ id });
    return [];
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
