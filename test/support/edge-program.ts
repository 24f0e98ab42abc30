/** `edge` and other programs that people start, as processes of their own. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { compileCache, programFile } from './run/programs.ts';
import { until } from './until.ts';

/** All that a program said, and its exit status. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs, and what it said so far. Nothing of this machine's own settings reaches it. */
export class RunningProgram {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  #isOver = false;

  /** With null for `stdin` that stays open. */
  constructor(
    program: string,
    words: readonly string[],
    env: Readonly<Record<string, string>>,
    stdin: string | Buffer | null = '',
  ) {
    this.process = spawn(program, words, {
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...compileCache(words), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process.stdin.on('error', () => {}); // it may end before it has read all
    if (stdin !== null) this.process.stdin.end(stdin);
    for (const stream of ['stdout', 'stderr'] as const)
      this.process[stream].setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text;
      });
    this.ended = once(this.process, 'close').then(([status]) => {
      this.#isOver = true;
      return { status: status as number | null, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** What it said, once there is something, or something of this form. */
  async says(where: 'stdout' | 'stderr' = 'stdout', what = /./u): Promise<string> {
    const isSaid = (): boolean => what.test(this[where]);
    await until(`${what} on ${where}`, () => isSaid() || this.#isOver).catch((error: Error) => {
      throw new Error(`${error.message}; it said ${this.stdout}${this.stderr}`, { cause: error });
    });
    if (!isSaid()) throw new Error(`${what} on ${where}: it ended, and said ${this.stdout}${this.stderr}`);
    return this[where];
  }

  /** How it ended, within this time in ms; otherwise it rejects with what it said. */
  async endedWithin(msMax: number): Promise<Ended> {
    await until('its end', () => this.#isOver, msMax).catch((error: Error) => {
      throw new Error(`${error.message}; it said ${this.stdout}${this.stderr}`, { cause: error });
    });
    return this.ended;
  }

  /** Ctrl-C, and how it ended. */
  interrupt(): Promise<Ended> {
    this.process.kill('SIGINT');
    return this.ended;
  }
}

/** Starts `edge`. */
export function startEdge(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin?: string | Buffer | null,
): RunningProgram {
  return startNode([programFile('edge'), ...args], env, stdin);
}

/** Starts a program of ours by its file. */
export function startNode(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin?: string | Buffer | null,
): RunningProgram {
  return new RunningProgram(process.execPath, words, env, stdin);
}
