/** `edge` at the admin of a fleet, as its users have it. */
import { fileURLToPath } from 'node:url';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import type { ExecutionContext } from 'ava';
import { startEdge, type Ended, type RunningProgram } from '../../support/edge-program.ts';
import { FLEET_KEYS, type Fleet } from '../../support/fleet.ts';
import type { Scope } from '../../support/scope.ts';

const EDGE = fileURLToPath(new URL('../../../cli/edge.ts', import.meta.url));

/** Words of a command, one by one or with blanks between them. */
export type Words = string | readonly string[];

/** The words one by one. */
export function wordsOf(words: Words): readonly string[] {
  return typeof words === 'string' ? words.split(' ') : words;
}

/** What a test does with it. */
export interface EdgeFixture {
  /** All that `edge` needs to know. */
  env(): Readonly<Record<string, string>>;
  /** Starts it; it is killed at the end of the test. */
  start(t: Scope, args: Words, stdin?: string | null): RunningProgram;
  run(args: Words, stdin?: string): Promise<Ended>;
  /** What it prints where it has nothing to complain of. */
  data(t: ExecutionContext, args: Words, stdin?: string): Promise<string>;
  /** The same as JSON. */
  json<T>(t: ExecutionContext, args: Words, stdin?: string): Promise<T>;
  /** Runs it where it can only complain: in one line, with this status. */
  refuses(t: ExecutionContext, args: Words, status: number, line: RegExp, stdin?: string): Promise<void>;
}

/** The fixture, with more settings if given. */
export function edgeOf(fleet: () => Fleet, more: Readonly<Record<string, string>> = {}): EdgeFixture {
  const env = () => ({ EDGE_URL: fleet().admin().url, EDGE_API_KEY: FLEET_KEYS.API_KEY, ...more });
  const run = (args: Words, stdin?: string) => startEdge(wordsOf(args), env(), stdin).ended;
  const data: EdgeFixture['data'] = async (t, args, stdin) => succeeded(t, await run(args, stdin), String(args));
  return {
    env,
    data,
    start(t, args, stdin) {
      const running = startEdge(wordsOf(args), env(), stdin);
      t.teardown(() => void running.process.kill('SIGKILL'));
      return running;
    },
    run,
    json: async <T>(t: ExecutionContext, args: Words, stdin?: string) =>
      JSON.parse(await data(t, ['-o', 'json', ...wordsOf(args)], stdin)) as T,
    refuses: async (t, args, status, line, stdin) => refused(t, await run(args, stdin), status, line, String(args)),
  };
}

/** What it printed: it said nothing else, and its status is 0. */
export function succeeded(t: ExecutionContext, { status, stdout, stderr }: Ended, what = ''): string {
  t.deepEqual([status, stderr], [0, ''], what);
  return stdout;
}

/** Its only word is one line that says what is wrong. */
export function refused(
  t: ExecutionContext,
  { status, stdout, stderr }: Ended,
  wanted: number,
  line: RegExp,
  what = '',
): void {
  t.deepEqual([status, stdout], [wanted, ''], `${what}: ${stderr}`);
  t.regex(stderr, /^edge: [^\n]+\n$/u, what);
  t.regex(stderr, line, what);
}

/** `edge` in a terminal, between two lines that tell the settings of that. */
export function inTerminal(t: Scope, args: Words, env: Readonly<Record<string, string>>) {
  const script = 'echo "<$(stty -g)>"; "$@"; status=$?; echo; echo "<$(stty -g)>"; exit $status';
  const terminal = spawnTerminal('/bin/sh', ['-c', script, 'sh', process.execPath, EDGE, ...wordsOf(args)], {
    name: 'xterm',
    cols: 80,
    rows: 24,
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env },
  });
  t.teardown(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.onData((text) => {
    shown += text;
  });
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode }) => resolve(exitCode));
  });
  return {
    shown: () => shown,
    ended,
    type: (text: string) => terminal.write(text),
    /** What `stty` says before and after it. */
    settings: () => [...shown.matchAll(/<(?<of>[\da-f:]+)>/gu)].map(({ groups }) => groups?.['of']),
  };
}
