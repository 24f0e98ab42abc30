/** A real program as a process of its own: what it says, how it ends, and signals to it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { compileCache, programFile, withSourcePlaces, type ProgramName } from '../run/programs.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Variables that a started program gets besides those that are given, and code that was compiled before: enough to find
 * the commands of the system.
 */
const INHERITED = ['PATH', 'HOME'];

/** Timeout of the end of a program that was told to end, in ms: an agent takes up to 24 s for what it holds. */
export const END_MS_MAX = 60_000;

/** One run of a program. */
export class Program {
  readonly pid: number;
  /** When it was started, as `performance.now()`. */
  readonly startedMs = performance.now();
  /** Everything that it wrote to stdout and stderr so far. */
  output = '';
  /** Null while it runs. */
  exit: Exit | null = null;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += withSourcePlaces(text);
      });
    child.on('close', (code, signal) => {
      this.exit = { code, signal };
    });
  }

  /**
   * Starts a program of this repository, or one of another place by its file, with nothing in its environment but
   * `env`. Killed at the end of the scope if it still runs.
   */
  static start(
    scope: Scope,
    program: ProgramName | URL,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Program {
    return Program.run(
      scope,
      process.execPath,
      [program instanceof URL ? program.pathname : programFile(program), ...args],
      env,
    );
  }

  /** The same with any command. */
  static run(
    scope: Scope,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Program {
    const inherited = Object.fromEntries(
      INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    );
    const program = new Program(
      spawn(command, args, { env: { ...inherited, ...compileCache(args), ...env }, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    scope.teardown(async () => {
      program.resume();
      program.kill();
      await program.ended();
    });
    return program;
  }

  /** How it ended. Rejects with the end of its output where it goes on for longer. */
  async ended(msMax: number = END_MS_MAX): Promise<Exit> {
    return until(
      `the end of process ${this.pid}`,
      () => {
        if (this.exit === null) throw new Error(`it says: ${this.output.slice(-2_000)}`);
        return this.exit;
      },
      msMax,
    );
  }

  /** The first log line, old or new, with this message. Rejects when the program ends without it. */
  async logged(message: string, from = 0, msMax?: number): Promise<Readonly<Record<string, unknown>>> {
    const text = JSON.stringify(message);
    let seen = from; // lines before were looked at: a program may say much
    return until(
      `"${message}" in the log of process ${this.pid}`,
      () => {
        const isSaid = this.output.includes(text, seen);
        const found = isSaid ? this.lines(from).find((line) => line['msg'] === message) : undefined;
        seen = Math.max(from, this.output.lastIndexOf('\n') + 1);
        if (found === undefined && this.exit !== null)
          return new Error(`the process ended (${JSON.stringify(this.exit)}): ${this.output.slice(-2_000)}`);
        if (found === undefined) throw new Error(`so far it says: ${this.output.slice(-2_000)}`);
        return found;
      },
      msMax,
    ).then((found) => {
      if (found instanceof Error) throw found;
      return found;
    });
  }

  /** Its log lines from a position of `output` on. What is no JSON is left out. */
  lines(from = 0): Readonly<Record<string, unknown>>[] {
    return this.output
      .slice(from)
      .split('\n')
      .flatMap((line) => {
        try {
          return line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [];
        } catch {
          return []; // the rest of a line that is still being written
        }
      });
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** As systemd does. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  /** Freezes it: it does nothing, and everything it holds stays open. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Lets it go on. */
  resume(): void {
    this.#child.kill('SIGCONT');
  }
}
