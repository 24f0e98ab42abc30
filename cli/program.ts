/** The commands of `edge`, and how each ends. */
import { Command as Program, CommanderError, Option } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { askedConnection, DEFAULT_URL, type ConnectionFlags } from './service/connection.ts';
import { chooseContext } from './service/contexts.ts';
import { isReaderGone, tell, write } from './output/output.ts';
import { FORMATS } from './table/format.ts';
import { EXIT, problemOf } from './problem.ts';
import { misspeltVariables } from './variables.ts';

/** Adds commands to the program. */
type Add = (program: Program) => void;

/**
 * First words of commands, and where these are, in the order of the help. Only what was called is loaded: the others
 * take as long again.
 */
const COMMANDS: readonly (readonly [words: readonly string[], load: () => Promise<Add>])[] = [
  [['run'], async () => (await import('./commands/run.ts')).addRunCommand],
  [['ssh', 'cp'], async () => (await import('./commands/ssh.ts')).addSshCommands],
  [['push'], async () => (await import('./commands/push.ts')).addPushCommand],
  [['pull'], async () => (await import('./commands/pull.ts')).addPullCommand],
  [['forward'], async () => (await import('./commands/forward.ts')).addForwardCommand],
  [['ssh-config'], async () => (await import('./commands/ssh-config.ts')).addSshConfigCommand],
  [['proxy-url'], async () => (await import('./commands/proxy-url.ts')).addProxyUrlCommand],
  [['connect'], async () => (await import('./commands/connect.ts')).addConnectCommand],
  [['logs'], async () => (await import('./commands/logs.ts')).addLogsCommand],
  [['node'], async () => (await import('./commands/node.ts')).addNodeCommands],
  [['command'], async () => (await import('./commands/command.ts')).addCommandCommands],
  [['execution'], async () => (await import('./commands/execution.ts')).addExecutionCommands],
  [['update'], async () => (await import('./commands/update.ts')).addUpdateCommands],
  [['cluster'], async () => (await import('./commands/cluster.ts')).addClusterCommands],
  [['group'], async () => (await import('./commands/group.ts')).addGroupCommands],
  [['key'], async () => (await import('./commands/key.ts')).addKeyCommands],
  [['alias'], async () => (await import('./commands/alias.ts')).addAliasCommands],
  [['sshuser'], async () => (await import('./commands/ssh-username.ts')).addSshUsernameCommands],
  [['sshkey'], async () => (await import('./commands/ssh-key.ts')).addSshKeyCommands],
  [['recording'], async () => (await import('./commands/recording.ts')).addRecordingCommands],
  [['console-session'], async () => (await import('./commands/console-session.ts')).addConsoleSessionCommands],
  [['events'], async () => (await import('./commands/events.ts')).addEventsCommands],
  [['webhook'], async () => (await import('./commands/webhook.ts')).addWebhookCommands],
  [['release'], async () => (await import('./commands/release.ts')).addReleaseCommands],
  [['admin'], async () => (await import('./commands/admin.ts')).addAdminCommands],
  [['status'], async () => (await import('./commands/status.ts')).addStatusCommand],
  [['top'], async () => (await import('./commands/top.ts')).addTopCommand],
  [['ping'], async () => (await import('./commands/ping.ts')).addPingCommand],
  [['wait'], async () => (await import('./commands/wait.ts')).addWaitCommand],
  [['health'], async () => (await import('./commands/health.ts')).addHealthCommand],
  [['doctor'], async () => (await import('./commands/doctor.ts')).addDoctorCommand],
  [['login'], async () => (await import('./commands/login.ts')).addLoginCommand],
  [['logout'], async () => (await import('./commands/context.ts')).addLogoutCommand],
  [['context'], async () => (await import('./commands/context.ts')).addContextCommands],
  [['completion'], async () => (await import('./commands/completion.ts')).addCompletionCommand],
];

/** Commands that pass their words on to programs of others, and options that may stand before them with a value. */
const FOREIGN_COMMANDS: readonly string[] = ['ssh', 'cp'];
const OPTIONS_WITH_VALUE: readonly string[] = ['-o', '--output', '--url', '--key', '--context'];

/** What is still open at the end has this long to end by itself, in ms. */
const LINGER_MS_MAX = 1_000;

/** What the shells ask, without and with what each word is; see commands/completion.ts. */
const COMPLETE = '__complete';
const DESCRIBE = '__describe';

/** Does what the arguments of the process say. The exit status is set at its end. */
export async function runEdge(): Promise<void> {
  const words = process.argv.slice(2);
  if (words[0] === COMPLETE || words[0] === DESCRIBE) return complete(words.slice(1), words[0] === DESCRIBE);
  for (const line of misspeltVariables(process.env)) tell(line);
  const program = await createProgram(words[firstWordOf(words)]);
  process.stdout.on('error', (error) => process.exit(isReaderGone(error) ? EXIT.ok : EXIT.failed));

  try {
    await program.parseAsync(withForeignWords(words), { from: 'user' });
  } catch (error) {
    process.exitCode = error instanceof CommanderError ? usageStatus(error) : failed(error, program);
  }
  endSoon();
}

/** Ends the process once all is written, whatever a connection waits for that nobody answers. */
function endSoon(): void {
  setTimeout(() => {
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endSoon();
    else process.exit();
  }, LINGER_MS_MAX).unref();
}

/** Prints what may stand at the end of these words, a line each. */
async function complete(words: readonly string[], isDescribed: boolean): Promise<void> {
  const { candidateLines, candidatesFor } = await import('./completions.ts');
  const program = await createProgram(words.slice(0, -1)[firstWordOf(words)]);
  await write(candidateLines(await candidatesFor(program, words), isDescribed));
  process.exit(EXIT.ok); // also while a service that is away has not answered
}

/**
 * `edge` before it is told what to do: with the commands that begin with a word, or with all where there is none of
 * these.
 */
export async function createProgram(word?: string): Promise<Program> {
  const program = new Program('edge')
    .description('Reach, run, see and update machines behind NAT and firewalls.')
    .version(packageFile.version, '-V, --version')
    .addOption(new Option('-o, --output <format>', 'format of data').choices(FORMATS).default('table'))
    .option('--url <url>', `where the service is (default: EDGE_URL, what edge login remembers, or ${DEFAULT_URL})`)
    .option('--key <key>', 'key of the service (default: EDGE_API_KEY, or what edge login remembers)')
    .option(
      '--context <name>',
      'which of the services that edge login remembers (default: EDGE_CONTEXT, or edge context use)',
    )
    .hook('preAction', (called, action) => {
      // also for the programs that are started from here
      const { context } = called.opts<{ readonly context?: string }>();
      if (context !== undefined) chooseContext(context, process.env, { isToBeMade: action.name() === 'login' });
    })
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 could not be done, 2 wrong usage, 3 key not accepted, 4 not found; edge run --help and edge ssh --help have their own.',
    )
    .showSuggestionAfterError()
    .exitOverride();

  const called = COMMANDS.filter(([words]) => word !== undefined && words.includes(word));
  for (const [, load] of called.length > 0 ? called : COMMANDS) (await load())(program);
  sayHelp(program, 'edge');
  return program;
}

/** What is wrong with the words of a command ends with where its help is. */
function sayHelp(command: Program, words: string): void {
  command.configureOutput({ outputError: (text, show) => show(oneLine(text, words)) });
  for (const one of command.commands) sayHelp(one, `${words} ${one.name()}`);
}

/** What follows `ssh` and `cp` is theirs: -o and others mean something else here. */
function withForeignWords(words: readonly string[]): string[] {
  const at = firstWordOf(words);
  const isForeign = FOREIGN_COMMANDS.includes(words[at] ?? '') && !['-h', '--help'].includes(words[at + 1] ?? '');
  return isForeign ? [...words.slice(0, at + 1), '--', ...words.slice(at + 1)] : [...words];
}

/** Where the command stands among the words; -1: nowhere. */
function firstWordOf(words: readonly string[]): number {
  return words.findIndex(
    (word, index) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.includes(words[index - 1] ?? ''),
  );
}

/** Commander has said what is wrong, unless a word was refused while its command was at work. */
function usageStatus({ exitCode, code, message }: CommanderError): number {
  if (code === 'commander.invalidArgument' && !message.startsWith('error: ')) tell(message);
  return exitCode === 0 ? EXIT.ok : EXIT.usage;
}

function failed(error: unknown, program: Program): number {
  const problem = problemOf(error, askedConnection(program.opts<ConnectionFlags>(), process.env));
  tell(problem.message);
  return problem.status;
}

/** What commander says of a value, in the words that all wrong values get here. */
const WRONG_VALUE =
  /^error: option '(?:-\w, )?(?<option>--[\w-]+)[^']*' argument '(?<given>.*)' is invalid\. (?:It should be|Allowed choices are) (?<wanted>.*)\.$/su;

/** What it says of words too many. They are not told again: one of them may be a key. */
const TOO_MANY = /^error: too many arguments for '[^']*'\. Expected (?<most>\d+) arguments? but got (?<given>\d+)\.$/u;

function oneLine(text: string, words: string): string {
  const plain = text.replaceAll(/\s*\n\s*/gu, ' ').trim();
  const { most, given: count } = TOO_MANY.exec(plain)?.groups ?? {};
  if (most !== undefined && count !== undefined)
    return `edge: ${words} takes ${most === '0' ? 'no argument' : most === '1' ? 'one argument' : `${most} arguments`}, and ${count} ${count === '1' ? 'was' : 'were'} given (${words} --help lists what there is)\n`;
  const { option, given, wanted } = WRONG_VALUE.exec(plain)?.groups ?? {};
  return option === undefined
    ? `edge: ${plain.replace(/^error: /u, '')} (${words} --help lists what there is)\n`
    : `edge: ${option} is "${given ?? ''}": it should be ${plain.includes('Allowed choices') ? 'one of ' : ''}${wanted ?? ''}\n`;
}
