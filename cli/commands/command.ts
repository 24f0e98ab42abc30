/** `edge command`. */
import type { Command as Program } from 'commander';
import { limitOption } from '../arguments.ts';
import type { Api, Command, Execution } from '../client.ts';
import { groupedText, prefixedText } from '../grouping.ts';
import { executionsOn, labelsFor } from '../outputs.ts';
import { write, writeOutput } from '../output.ts';
import { recordText, type Columns } from '../table.ts';
import { firstRows } from '../pages.ts';
import { progressText } from '../progress.ts';
import { sessionOf } from '../session.ts';

const COLUMNS: Columns<Command> = [
  ['ID', 'id'],
  ['STARTED', 'inserted_at'],
  ['TOTAL', ({ summary }) => summary.total],
  ['SUCCEEDED', ({ summary }) => summary.succeeded],
  ['FAILED', ({ summary }) => summary.failed],
  ['OPEN', ({ summary }) => summary.pending + summary.sent],
  ['COMMAND', ({ command_text: text }) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)],
];

/** Executions whose outputs are fetched for one command. */
const OUTPUTS_MAX = 100_000;

/** Commands: list, look at, outputs, cancel and remove. */
export function addCommandCommands(program: Program): void {
  const group = program.command('command').description('commands that were run');

  group
    .command('ls')
    .description('list commands, newest first')
    .addOption(limitOption())
    .action(async (flags: { readonly limit: number }, command: Program) => {
      const { api, list } = sessionOf(command);
      await list(COLUMNS, flags.limit, (page) => api.list_commands.query(page));
    });

  group
    .command('get <id>')
    .description('show a command and how far it is')
    .action(async (id: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const found = await api.get_command.query({ id });
      await record(
        format === 'table'
          ? { ...found, summary: progressText(found.summary, Date.now() - Date.parse(found.inserted_at)) }
          : found,
      );
    });

  group
    .command('output <id>')
    .description('show the outputs of a command, or of one execution as it is')
    .option('-b, --group', 'show identical outputs once')
    .action(showOutputs);

  group
    .command('cancel <id>')
    .description('stop a command on all nodes')
    .action(async (id: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.cancel_command.mutate({ id }));
    });

  group
    .command('rm <ids...>')
    .description('remove finished commands and their executions')
    .action(async (ids: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const id of ids) await api.delete_command.mutate({ id });
    });
}

async function showOutputs(id: string, flags: { readonly group?: boolean }, command: Program): Promise<void> {
  const { api, format } = sessionOf(command);
  const executions = await executionsOf(api, id);
  if (executions === null) {
    const execution = await api.get_command_execution.query({ id });
    return format === 'table' ? writeOutput(execution.output ?? '') : write(recordText(execution, format));
  }
  if (format !== 'table')
    return write(
      format === 'json' ? recordText(executions, format) : executions.map((one) => recordText(one, 'ndjson')).join(''),
    );
  const label = await labelsFor(
    api,
    executions.map(({ node_id: node }) => node),
  );
  const outputs = executions
    .filter(({ output }) => output !== null)
    .map(({ node_id: node, output }) => ({ label: label(node), output: output ?? '' }));
  return writeOutput(flags.group === true ? groupedText(outputs) : outputs.map(prefixedText).join(''));
}

/** All executions of a command with their outputs; null when there is no command of this id. */
async function executionsOf(api: Api, id: string): Promise<readonly Execution[] | null> {
  const { rows } = await firstRows(OUTPUTS_MAX, (page) =>
    api.list_command_executions.query({ command_id__in: [id], sort: 'inserted_at', ...page }),
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
    if ((error as { readonly data?: { readonly code?: unknown } | null }).data?.code === 'not_found') return null;
    throw error;
  }
}
