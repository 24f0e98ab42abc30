/** `edge recording`. */
import { writeFile } from 'node:fs/promises';
import { InvalidArgumentError, type Command as Program } from 'commander';
import { words } from '../arguments.ts';
import type { Api, Outputs } from '../service/client.ts';
import { durationMs } from '../duration.ts';
import { nodeIdsOf } from '../names/node-names.ts';
import { tell, write } from '../output/output.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { EXIT, Problem } from '../problem.ts';
import type { Cast } from '../../api/client/asciicast.ts';
import { readCast } from '../recordings/cast.ts';
import { playCast } from '../recordings/player.ts';
import { openTerminal, PLAIN_STAGE } from '../recordings/terminal.ts';
import { sessionOf } from '../service/session.ts';

type Recording = Outputs['list_ssh_recordings']['data'][number];

const TABLE: Table<Recording> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['STARTED', 'started_at', { age: true, sorts: 'started_at' }],
    [
      'SECONDS',
      ({ duration_ms: ms, truncated }) => `${(ms / 1_000).toFixed(1)}${truncated ? '+' : ''}`,
      { drop: 2, sorts: 'duration_ms' },
    ],
    ['USER', 'username', { cut: 8, sorts: 'username' }],
    ['NODE', 'node_id', { node: true, cut: 8 }],
    ['BYTES', 'size_bytes', { drop: 3 }],
    ['COMMAND', ({ command }) => command ?? '(shell)', { cut: 12, drop: 1 }],
  ],
};

const SPEED_MAX = 1_000;

interface Filters {
  readonly node?: readonly string[];
  readonly user?: string;
}

interface PlayFlags {
  readonly speed: number;
  readonly maxIdle?: string;
  readonly instant?: boolean;
  readonly resize?: boolean;
}

const HELP = `
Examples:
  edge recording ls --node web-1 --user ada
  edge recording play 0193a1c2-... --speed 2 --max-idle 2s
  edge recording save 0193a1c2-... session.cast     for asciinema and other players

A recording is shown to your terminal as the machine sent it, control sequences and all: trust it as you would the session itself.
What an admin records is its setting SSH_RECORDING. A + behind the seconds says that the session went on.`;

/** Recordings of SSH sessions: list, look at, play, save, remove. */
export function addRecordingCommands(program: Program): void {
  const recording = program
    .command('recording')
    .description('what SSH sessions showed, where it is recorded')
    .addHelpText('after', HELP);

  addListCommand<Recording, Filters & ListFlags>(recording, {
    description: 'list recordings, newest first',
    table: TABLE,
    read: async ({ api }, { node, user }) => {
      const filters = {
        ...(node && { node_id__in: await nodeIdsOf(api, node) }),
        ...(user !== undefined && { username: user }),
      };
      return (page) => api.list_ssh_recordings.query({ ...filters, ...page });
    },
  })
    .option('-n, --node <nodes>', 'only of these nodes', words)
    .option('-u, --user <pattern>', 'only of this SSH username (with * as wildcard)');

  recording
    .command('get <id>')
    .alias('show')
    .description('show whose recording it is, and when it was made')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const { cast: _cast, ...about } = await recordingOf(api, given);
      await record(about);
    });

  recording
    .command('play <id>')
    .description(
      'play a recording in this terminal; q or Ctrl-C ends it. Where stdout is no terminal, all of it comes at once',
    )
    .option('--speed <factor>', 'so many times as fast', factor, 1)
    .option('--max-idle <duration>', 'make longer waits of the recording so long, like 2s')
    .option('--instant', 'show all of it at once')
    .option('--resize', 'ask the terminal to take the sizes that the recorded one had')
    .action(play);

  recording
    .command('save <id> <file>')
    .description('save a recording as asciicast, version 2; a file that is there is not replaced')
    .option('-f, --force', 'replace it')
    .action(save);

  recording
    .command('rm <ids...>')
    .alias('remove')
    .description('remove recordings')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'recording', one);
        await existing('recording', one, api.delete_ssh_recording.mutate({ id }));
      }
    });
}

async function recordingOf(api: Api, given: string): Promise<Outputs['get_ssh_recording']> {
  const id = await idOf(api, 'recording', given);
  return existing('recording', given, api.get_ssh_recording.query({ id }));
}

async function play(id: string, flags: PlayFlags, command: Program): Promise<void> {
  const maxIdleMs = flags.maxIdle === undefined ? Number.POSITIVE_INFINITY : durationMs(flags.maxIdle, '--max-idle');
  const cast = readCast(await castOf(sessionOf(command).api, id));
  if (process.stdout.isTTY) await playHere(cast, { ...flags, maxIdleMs });
  else await playCast(cast, { speed: null, maxIdleMs, stop: new AbortController().signal }, PLAIN_STAGE);
}

async function save(
  id: string,
  file: string,
  { force }: { readonly force?: boolean },
  command: Program,
): Promise<void> {
  const cast = await castOf(sessionOf(command).api, id);
  if (file === '-') return write(cast);
  await writeFile(file, cast, { mode: 0o600, flag: force === true ? 'w' : 'wx' }).catch((error: unknown) => {
    throw fileProblem(error, file);
  });
}

async function castOf(api: Api, id: string): Promise<string> {
  const { cast } = await recordingOf(api, id);
  return cast ?? '';
}

async function playHere(
  cast: Cast,
  { speed, maxIdleMs, instant, resize }: PlayFlags & { readonly maxIdleMs: number },
): Promise<void> {
  const { columns, rows } = cast.size;
  if (resize !== true && (process.stdout.columns < columns || process.stdout.rows < rows))
    tell(
      `it was recorded at ${columns}x${rows}, and this terminal has ${process.stdout.columns}x${process.stdout.rows}: it may look wrong`,
    );
  const stop = new AbortController();
  const terminal = openTerminal(resize === true, (isInterrupt) => {
    if (isInterrupt) process.exitCode = EXIT.interrupted;
    stop.abort();
  });
  try {
    await playCast(cast, { speed: instant === true ? null : speed, maxIdleMs, stop: stop.signal }, terminal);
  } finally {
    await terminal.leave();
  }
}

function factor(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= SPEED_MAX))
    throw new InvalidArgumentError(`It should be a number above 0, up to ${SPEED_MAX}.`);
  return value;
}

function fileProblem(error: unknown, file: string): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'EEXIST'
    ? new Problem(`${file} is there already: --force replaces it`, EXIT.usage)
    : new Problem(`${file} cannot be written: ${code ?? message}`);
}
