/** Runs programs to their end, and has every failure told in one place. */
import { execFile, type ChildProcess, type ExecFileException } from 'node:child_process';

/** As of `execFile`, without what would change the kind of its output. */
export interface ExecuteOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** After this it is ended, in ms. */
  readonly timeout?: number;
  readonly killSignal?: NodeJS.Signals;
  /** Most that it may say on either output, in bytes. */
  readonly maxBuffer?: number;
  readonly signal?: AbortSignal;
  readonly encoding?: BufferEncoding;
}

/** Is told how it went: null, or why it failed; and what it said. */
export type Executed = (error: ExecFileException | null, output: string, said: string) => void;

/**
 * `execFile` that never throws, so that it may be called where nobody catches, as in a listener or a timer. Node tells
 * by a callback of a program that is not there, may not be run, or finds no file or process free, and throws what else
 * the system says (no memory for a further process, too long a list of words) and what it refuses itself (a NUL in a
 * word, whose message holds the word). `done` is called once, later. Null: it was not started.
 */
export function execute(
  program: string,
  words: readonly string[],
  options: ExecuteOptions,
  done: Executed,
): ChildProcess | null {
  try {
    return execFile(program, words, { encoding: 'utf8', ...options }, done);
  } catch (error) {
    process.nextTick(done, error, '', '');
    return null;
  }
}
