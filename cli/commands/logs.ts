/** `edge logs`. */
import type { Command as Program } from 'commander';
import { positiveInteger } from '../arguments.ts';
import type { Api } from '../service/client.ts';
import { nodeIdOf, ofNode } from '../names/node-names.ts';
import { endingWithReader } from '../until-interrupted.ts';
import { isReaderGone, shownOutput, tell, writeForReader } from '../output/output.ts';
import { EXIT, isConflict, Problem, reasonOf } from '../problem.ts';
import { Patience } from '../service/patience.ts';
import { followOutput } from '../run/tails.ts';
import { Unwritten } from '../run/unwritten.ts';
import { sessionOf } from '../service/session.ts';
import { quotedWord } from '../shell-words.ts';

/** Lines of before that are shown. */
const LINES_DEFAULT = 100;

/** A log that is followed ends by itself after this, in ms: whoever watched it may have been cut off. */
const FOLLOWED_MS_MAX = 12 * 3_600_000;

/** The end of a log is there within this, in ms. */
const SHOWN_MS_MAX = 60_000;

/** A machine that was connected a moment ago, and is no more, need not run it later than this, in ms. */
const REACHED_MS_MAX = 5 * 60_000;

interface LogsFlags {
  readonly unit?: string;
  readonly file?: string;
  readonly lines: number;
  readonly follow?: boolean;
  readonly raw?: boolean;
}

const HELP = `
Examples:
  edge logs web-1 -f                                the journal of the machine, as it grows
  edge logs web-1 -u nginx --lines 500
  edge logs web-1 --file /var/log/app.log -f

It runs journalctl or tail there, as edge run does: with the rights of the agent, and kept as any command.`;

/** The journal of a machine, or a file of it. */
export function addLogsCommand(program: Program): void {
  program
    .command('logs <node>')
    .description('show the end of the journal of a machine, or of a file there')
    .option('-u, --unit <name>', 'only of this unit of systemd')
    .option('--file <path>', 'a file instead of the journal')
    .option('-n, --lines <n>', 'how many lines of before', positiveInteger, LINES_DEFAULT)
    .option('-f, --follow', 'go on as it grows, until Ctrl-C')
    .option('--raw', 'let control sequences through to this terminal')
    .addHelpText('after', HELP)
    .action(showLogs);
}

async function showLogs(name: string, flags: LogsFlags, command: Program): Promise<void> {
  const script = scriptOf(flags);
  const session = sessionOf(command);
  const { api } = session;
  const node = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node.query({ id }));
  if (node.status === 'unreachable')
    throw new Problem(`${node.name} is not connected now: edge run gets its command when it is back`);
  const { signal } = endingWithReader(); // from here on there is something to stop there
  const { id } = await api.create_command.mutate({
    command_text: script,
    targeting: { type: 'nodes', node_ids: [node.id] },
    timeout: flags.follow === true ? FOLLOWED_MS_MAX : SHOWN_MS_MAX,
    expired_at: new Date(Date.now() + REACHED_MS_MAX).toISOString(),
  });
  const live = session.live();
  let hasEnded = false;
  const unwritten = new Unwritten((text) => writeForReader(flags.raw === true ? text : shownOutput(text)));
  try {
    const execution = await onlyExecution(api, id);
    await followOutput(live.api, execution, signal, {
      lines: (lines) => unwritten.add(lines.map((line) => `${line}\n`).join('')),
      missed: (bytes) => unwritten.behind(() => tell(`${bytes} bytes were gone before they could be read`)),
      again: () => unwritten.behind(() => tell('it ended before all was read; what was stored of it follows')),
    });
    hasEnded = !signal.aborted;
    process.exitCode = hasEnded ? await endOf(api, execution, signal) : EXIT.ok;
  } finally {
    if (!hasEnded)
      await api.cancel_command.mutate({ id }).catch((error: unknown) => {
        if (isConflict(error)) return; // it had ended meanwhile
        tell(`what shows the log goes on there: edge command cancel ${id} ends it`);
      });
    live.close();
  }
  await unwritten.written().catch((error: unknown) => {
    if (!isReaderGone(error)) throw error;
  });
}

function scriptOf({ unit, file, lines, follow }: LogsFlags): string {
  if (unit !== undefined && file !== undefined) throw new Problem('say either --unit or --file', EXIT.usage);
  if (file !== undefined) return `exec tail -n ${lines} ${follow === true ? '-F ' : ''}-- ${quotedWord(file)}`;
  return [
    'exec journalctl --no-pager -o short-iso',
    `-n ${lines}`,
    unit !== undefined && `-u ${quotedWord(unit)}`,
    follow === true && '-f',
  ]
    .filter(Boolean)
    .join(' ');
}

async function onlyExecution(api: Api, command: string): Promise<string> {
  const { data } = await api.list_command_executions.query({ command_id__in: [command] });
  const [execution] = data;
  if (execution === undefined) throw new Problem('the node was deleted meanwhile', EXIT.notFound);
  return execution.id;
}

/** What it ended with is in its output already. A service that is away once all was shown is asked again. */
async function endOf(api: Api, execution: string, signal: AbortSignal): Promise<number> {
  const patience = new Patience({
    signal,
    failing: (error) => tell(`how it ended cannot be read now (${reasonOf(error)}); trying again`),
  });
  const { status, exit_code: exitCode } = await patience.ask(() =>
    api.get_command_execution.query({ id: execution }, { signal }),
  );
  return status === 'completed' && exitCode === 0 ? EXIT.ok : EXIT.failed;
}
