/**
 * Programs with a terminal where node-pty is not installed, as beside the agent that is one file: `script` of
 * bsdutils, which every Debian has, makes the terminal and carries its bytes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { execute } from '../../../../transport/net/execute.ts';
import type { Account } from '../login/accounts.ts';
import { groupsOf, hangUp, send } from './hang-up.ts';
import type { Launch } from './launch.ts';
import type { Running, Start, TerminalSize } from './running.ts';

/** Where `script` may be. */
const SCRIPT_PATHS = ['/usr/bin/script', '/bin/script'];

/** Runs what `script` is given. */
const SHELL = '/bin/sh';

/** Exit status of a `script` that ended by a signal: as shells say it. */
const SIGNALLED_STATUS = 128;

/** Where `script` is; null: this machine has none. */
export function scriptPath(): string | null {
  return SCRIPT_PATHS.find((path) => existsSync(path)) ?? null;
}

/** As `startTerminal`. Rejects when `script` is not installed, or the system starts no process. */
export async function startScripted(
  account: Account,
  term: string,
  size: TerminalSize,
  start: Start,
): Promise<Running> {
  const script = scriptPath();
  if (script === null)
    throw new Error('this machine can make no terminal: neither node-pty nor script of bsdutils is installed');
  const { launch } = start;
  const child = spawn(script, ['-qfec', commandOf(launch, account, size), '/dev/null'], {
    cwd: launch.directory,
    env: { ...launch.environment, TERM: term, SHELL },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const failure = await new Promise<Error | null>((resolve) => {
    child.once('error', resolve);
    if (child.pid !== undefined) resolve(null);
  });
  if (failure !== null) throw failure;
  child.on('error', () => {});
  return new ScriptedTerminal(child, start);
}

/**
 * What `script` runs: its terminal gets a size, the echo that it leaves out where its own input is none, and its owner,
 * and then becomes the program, so that process id and exit status are the program's.
 */
function commandOf({ file, words, environment }: Launch, account: Account, { columns, rows }: TerminalSize): string {
  const owner = account.isOther ? `chown ${account.uid} "$(tty)"; ` : '';
  const shell = environment['SHELL'] === undefined ? '' : `SHELL=${quoted(environment['SHELL'])}; `;
  return `stty sane rows ${rows} cols ${columns} 2>/dev/null; ${owner}${shell}exec ${[file, ...words].map(quoted).join(' ')}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** It and what it carries, until both have ended. */
class ScriptedTerminal implements Running {
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #start: Start;
  /** Of its two outputs and itself, those that have not ended. */
  #open = 3;
  #status: number | null = null;
  #isHungUp = false;
  /** Asked for last; null: it has the size that it began with. */
  #size: TerminalSize | null = null;
  /** Whether it is to be set, and whether that is under way: one after another, so that the last one stays. */
  #isSizeDue = false;
  #isSizing = false;
  #wasSeen = false;

  constructor(child: ChildProcess, start: Start) {
    this.#child = child;
    this.#pid = child.pid ?? 0;
    this.#start = start;
    const { channel, writer } = start;
    const { stdin, stdout, stderr } = child;
    if (stdin !== null) {
      channel.pipe(stdin, { end: false }); // the end of what is typed is a character, not the end of the terminal
      stdin.on('error', () => {}).on('close', () => channel.resume());
    }
    if (stdout !== null)
      writer.from(stdout, 'out', (kind, data) => {
        this.#began();
        start.seen?.(kind, data);
      });
    if (stderr !== null) writer.from(stderr, 'error', start.seen);
    for (const stream of [stdout, stderr]) stream?.on('error', () => {}).on('close', () => this.#ended());
    child.on('exit', (code) => {
      this.#status = code ?? SIGNALLED_STATUS;
      stdin?.destroy();
      this.#ended();
    });
  }

  signal(name: NodeJS.Signals): void {
    const program = this.#program();
    if (program !== null) send(program, name);
  }

  resize(columns: number, rows: number): void {
    this.#size = { columns, rows };
    this.#isSizeDue = true;
    this.#resized();
  }

  /** Its program says something: whatever size was asked for before, that with which it began was set behind it. */
  #began(): void {
    if (this.#wasSeen) return;
    this.#wasSeen = true;
    this.#isSizeDue = this.#size !== null;
    this.#resized();
  }

  #resized(): void {
    const program = this.#program();
    const terminal = program === null ? null : terminalOf(program);
    if (!this.#isSizeDue || this.#isSizing || this.#size === null || terminal === null || this.#isHungUp) return;
    const { columns, rows } = this.#size;
    this.#isSizeDue = false;
    this.#isSizing = true;
    // without success it keeps its size until it gets another
    execute('stty', ['-F', terminal, 'rows', String(rows), 'cols', String(columns)], {}, () => {
      this.#isSizing = false;
      this.#resized();
    });
  }

  hangUp(ms: number, over: () => void): void {
    this.#isHungUp = true;
    const program = this.#program();
    const groups = this.#status === null ? [this.#pid, ...(program === null ? [] : groupsOf(program))] : [];
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    hangUp(groups, ms, over);
  }

  /** The process on the terminal, which leads a session of its own; null: it is not there yet, or has ended. */
  #program(): number | null {
    if (this.#status !== null) return null;
    try {
      const [first] = readFileSync(`/proc/${this.#pid}/task/${this.#pid}/children`, 'latin1').trim().split(' ');
      return first === undefined || first === '' ? null : Number(first);
    } catch {
      return null;
    }
  }

  #ended(): void {
    this.#open -= 1;
    const status = this.#status;
    if (this.#open === 0 && status !== null && !this.#isHungUp)
      this.#start.writer.whenEmpty(() => this.#start.ended(status, null));
  }
}

/** The terminal that a process reads from; null: it has none. */
function terminalOf(pid: number): string | null {
  try {
    const path = readlinkSync(`/proc/${pid}/fd/0`);
    return /^\/dev\/pts\/\d+$/u.test(path) ? path : null;
  } catch {
    return null;
  }
}
