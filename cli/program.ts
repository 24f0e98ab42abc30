/** The commands of `edge`, and how each ends. */
import { Command as Program, CommanderError, Option } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { addAliasCommands } from './commands/alias.ts';
import { addClusterCommands } from './commands/cluster.ts';
import { addCommandCommands } from './commands/command.ts';
import { addConnectCommand } from './commands/connect.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addEventsCommands } from './commands/events.ts';
import { addForwardCommand } from './commands/forward.ts';
import { addHealthCommand } from './commands/health.ts';
import { addKeyCommands } from './commands/key.ts';
import { addLoginCommand } from './commands/login.ts';
import { addNodeCommands } from './commands/node.ts';
import { addProxyUrlCommand } from './commands/proxy-url.ts';
import { addRecordingCommands } from './commands/recording.ts';
import { addRunCommand } from './commands/run.ts';
import { addSshConfigCommand } from './commands/ssh-config.ts';
import { addSshKeyCommands } from './commands/ssh-key.ts';
import { addSshUsernameCommands } from './commands/ssh-username.ts';
import { addSshCommands } from './commands/ssh.ts';
import { addWebhookCommands } from './commands/webhook.ts';
import { DEFAULT_URL, shownUrl } from './connection.ts';
import { tell } from './output.ts';
import { FORMATS } from './table.ts';
import { EXIT, problemOf } from './problem.ts';

/** Commands that pass their words on to programs of others, and options that may stand before them with a value. */
const FOREIGN_COMMANDS: readonly string[] = ['ssh', 'cp'];
const OPTIONS_WITH_VALUE: readonly string[] = ['-o', '--output', '--url', '--key'];

/** Does what the arguments of the process say. The exit status is set at its end. */
export async function runEdge(): Promise<void> {
  const program = createProgram();
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
  );

  try {
    await program.parseAsync(withForeignWords(process.argv.slice(2)), { from: 'user' });
  } catch (error) {
    process.exitCode = error instanceof CommanderError ? usageStatus(error) : failed(error, program);
  }
}

/** `edge` with all of its commands, before it is told what to do. */
export function createProgram(): Program {
  const program = new Program('edge')
    .description('Reach, run, see and update machines behind NAT and firewalls.')
    .version(packageFile.version, '-V, --version')
    .addOption(new Option('-o, --output <format>', 'format of data').choices(FORMATS).default('table'))
    .option('--url <url>', `where the service is (default: EDGE_URL, what edge login remembers, or ${DEFAULT_URL})`)
    .option('--key <key>', 'key of the service (default: EDGE_API_KEY, or what edge login remembers)')
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 could not be done, 2 wrong usage, 3 key not accepted, 4 not found; edge run --help and edge ssh --help have their own.',
    )
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, show) => show(oneLine(text)) })
    .exitOverride();

  for (const add of [
    addRunCommand,
    addSshCommands,
    addForwardCommand,
    addSshConfigCommand,
    addProxyUrlCommand,
    addConnectCommand,
    addNodeCommands,
    addCommandCommands,
    addClusterCommands,
    addKeyCommands,
    addAliasCommands,
    addSshUsernameCommands,
    addSshKeyCommands,
    addRecordingCommands,
    addEventsCommands,
    addWebhookCommands,
    addHealthCommand,
    addDoctorCommand,
    addLoginCommand,
  ])
    add(program);
  return program;
}

/** What follows `ssh` and `cp` is theirs: -o and others mean something else here. */
function withForeignWords(words: readonly string[]): string[] {
  const at = words.findIndex(
    (word, index) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.includes(words[index - 1] ?? ''),
  );
  const isForeign = FOREIGN_COMMANDS.includes(words[at] ?? '') && !['-h', '--help'].includes(words[at + 1] ?? '');
  return isForeign ? [...words.slice(0, at + 1), '--', ...words.slice(at + 1)] : [...words];
}

function usageStatus({ exitCode }: CommanderError): number {
  return exitCode === 0 ? EXIT.ok : EXIT.usage;
}

function failed(error: unknown, program: Program): number {
  const { url } = program.opts<{ readonly url?: string }>();
  const problem = problemOf(error, shownUrl(url ?? (process.env['EDGE_URL'] || DEFAULT_URL)));
  tell(problem.message);
  return problem.status;
}

function oneLine(text: string): string {
  return `edge: ${text
    .replace(/^error: /u, '')
    .replaceAll(/\s*\n\s*/gu, ' ')
    .trim()} (edge --help lists what there is)\n`;
}
