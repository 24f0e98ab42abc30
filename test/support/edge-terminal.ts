/** `edge` in a real terminal of 80 columns. */
import { spawn } from '@lydell/node-pty';
import { compileCache, programFile } from './run/programs.ts';
import type { Scope } from './scope.ts';
import { until } from './until.ts';

/** A running `edge`, and what its terminal got. */
export interface EdgeTerminal {
  /** All of it, with signs in place of the characters that a terminal obeys: ␛ is ESC, ␇ is BEL. */
  shown(): string;
  /** Resolves when this was shown. */
  shows(wanted: RegExp): Promise<void>;
  type(text: string): void;
  /** Its exit status. */
  readonly ended: Promise<number>;
}

/** Columns and rows: what a person has who never made the window larger. */
const COLUMNS = 80;
const ROWS = 24;

/** Starts it. It ends with the scope. */
export function openEdge(scope: Scope, args: readonly string[], env: Readonly<Record<string, string>>): EdgeTerminal {
  const words = [programFile('edge'), ...args];
  const terminal = spawn(process.execPath, words, {
    name: 'xterm',
    cols: COLUMNS,
    rows: ROWS,
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', TERM: 'xterm', ...compileCache(words), ...env },
  });
  let shown = '';
  terminal.onData((text) => {
    shown += text.replaceAll('\u001B', '␛').replaceAll('\u0007', '␇');
  });
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode }) => resolve(exitCode));
  });
  scope.teardown(() => terminal.kill('SIGKILL'));
  return {
    shown: () => shown,
    async shows(wanted) {
      await until(`${String(wanted)} on the terminal`, () => wanted.test(shown));
    },
    type: (text) => terminal.write(text),
    ended,
  };
}

/** What a terminal got, as lines without colours. */
export function linesOf(shown: string): readonly string[] {
  return shown
    .replaceAll(/␛\[[\d;]*m/gu, '')
    .split(/\r?\n/u)
    .filter((line) => line !== '');
}
