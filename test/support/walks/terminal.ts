/** A shell in a real terminal of 80 columns (tmux), as a person types in it and sees it. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { peerPath } from '../run/peers.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';

const run = promisify(execFile);

/** Columns and rows: what a person has who never made the window larger. */
const COLUMNS = 80;
const ROWS = 24;

/** What the shell shows when it waits. */
const PROMPT = '$ ';

/** How long a command may take, in ms, on a machine that does nothing else. */
const COMMAND_MS_MAX = 15_000;

/** Lines that have left the screen and can still be seen. */
const HISTORY_LINES = 20_000;

/** Where the cursor is: its line counts from the first that the terminal ever showed. */
interface Cursor {
  readonly column: number;
  /** On the screen. */
  readonly row: number;
  readonly line: number;
  readonly historyLines: number;
}

/** How a terminal is opened. */
export interface TerminalOptions {
  /** All of the shell's environment but for what the terminal itself sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it begins. */
  readonly directory: string;
}

/** One shell and its screen. */
export class Terminal {
  readonly #tmux: string;
  readonly #socket: string;
  /** The shell writes the status of each command into it. */
  readonly #statuses: string;
  #begun = 0;
  #fromLine = 0;

  private constructor(tmux: string, directory: string) {
    this.#tmux = tmux;
    this.#socket = join(directory, 'socket');
    this.#statuses = join(directory, 'statuses');
  }

  /** Opens one that ends with the scope. Needs the peer tmux. */
  static async open(scope: Scope, { env, directory }: TerminalOptions): Promise<Terminal> {
    const own = temporaryDirectory(scope);
    const terminal = new Terminal(await peerPath('tmux'), own);
    const shown = {
      ...env,
      PS1: PROMPT,
      PROMPT_COMMAND: `echo $? >> '${join(own, 'statuses')}'`,
      LANG: 'C.UTF-8',
    };
    const words = ['env', '-i', 'TERM=screen', ...Object.entries(shown).map(([name, value]) => `${name}=${value}`)];
    const size = `-x ${COLUMNS} -y ${ROWS}`;
    scope.teardown(async () => {
      await terminal.#say('kill-server');
    });
    const opening = `set-option -g history-limit ${HISTORY_LINES} ; new-session -d ${size}`;
    await terminal.#say(...opening.split(' '), '-c', directory, '--', ...words, 'bash', '--norc', '--noprofile');
    await terminal.#prompted();
    return terminal;
  }

  /** Types a command and Enter. */
  async begin(command: string): Promise<void> {
    this.#fromLine = (await this.#cursor()).line;
    await this.type(command);
  }

  /** Types a line and Enter. */
  async type(line: string): Promise<void> {
    await this.#say('send-keys', '-l', '--', line);
    await this.press('Enter');
  }

  /** A key by its name in tmux(1), such as C-c. */
  async press(key: string): Promise<void> {
    await this.#say('send-keys', key);
  }

  /** Resolves when the screen shows it, whatever was there before. */
  async shows(wanted: RegExp): Promise<void> {
    await this.#until(wanted, () => this.screen());
  }

  /** The same of what came since `begin`, for programs that write line below line: all of that. */
  async says(wanted: RegExp): Promise<string> {
    return this.#until(wanted, async () => {
      const { line } = await this.#cursor();
      return this.#lines(line);
    });
  }

  async #until(wanted: RegExp, look: () => Promise<string>): Promise<string> {
    return until(
      `${String(wanted)} on the terminal`,
      async () => {
        const seen = await look();
        if (!wanted.test(seen)) throw new Error(`it shows:\n${seen}`);
        return seen;
      },
      COMMAND_MS_MAX,
    );
  }

  /** The lines that are on the screen now. */
  async screen(): Promise<string> {
    return withoutBlanks(await this.#say('capture-pane', '-p', '-J'));
  }

  /**
   * Resolves when the shell waits again: what came since `begin`, the command's own line first, and its status. A line
   * that is longer than the terminal is wide is one line all the same.
   */
  async ended(): Promise<{ readonly shown: string; readonly status: number }> {
    const { line, column } = await this.#prompted();
    const status = Number(this.#ended().at(-1));
    if (column === PROMPT.length) return { shown: await this.#lines(line - 1), status };
    return { shown: (await this.#lines(line)).slice(0, -PROMPT.trim().length), status };
  }

  /** Those from the command's own up to one, which counts as in Cursor. */
  async #lines(last: number): Promise<string> {
    const { historyLines } = await this.#cursor();
    const place = (absolute: number): string => String(absolute - historyLines);
    return withoutBlanks(await this.#say('capture-pane', '-p', '-J', '-S', place(this.#fromLine), '-E', place(last)));
  }

  /**
   * Resolves when one command more has ended, and its prompt is there: on a line of its own, if need be after Enter.
   */
  async #prompted(): Promise<Cursor> {
    this.#begun += 1;
    const cursor = await until(
      'the prompt',
      async () => {
        const now = await this.#cursor();
        const line = await this.#say('capture-pane', '-p', '-S', String(now.row), '-E', String(now.row));
        if (
          this.#ended().length < this.#begun ||
          line.trimEnd().length !== now.column - 1 ||
          !line.includes(PROMPT.trim())
        )
          throw new Error(`the terminal shows:\n${await this.screen()}`);
        return now;
      },
      COMMAND_MS_MAX,
    );
    if (cursor.column === PROMPT.length) return cursor;
    await this.press('Enter');
    await this.#prompted();
    return cursor;
  }

  #ended(): readonly string[] {
    try {
      return readFileSync(this.#statuses, 'utf8').trim().split('\n');
    } catch {
      return []; // the shell is not there yet
    }
  }

  async #cursor(): Promise<Cursor> {
    const said = await this.#say('display-message', '-p', '#{cursor_x} #{cursor_y} #{history_size}');
    const [column = 0, row = 0, historyLines = 0] = said.trim().split(' ').map(Number);
    return { column, row, line: historyLines + row, historyLines };
  }

  async #say(...words: readonly string[]): Promise<string> {
    const { stdout } = await run(this.#tmux, ['-u', '-f', '/dev/null', '-S', this.#socket, ...words]);
    return stdout;
  }
}

/** Lines without the blanks behind them, and no empty ones at the end. */
function withoutBlanks(text: string): string {
  return text.replaceAll(/ +$/gmu, '').trimEnd();
}
