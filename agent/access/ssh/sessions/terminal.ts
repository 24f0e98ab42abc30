/** Programs with a terminal. */
import { chownSync, statSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { ReadStream } from 'node:tty';
import type { IPty, spawn as spawnPty } from '@lydell/node-pty';
import { systemProblem } from '../../../problem.ts';
import type { Account } from '../login/accounts.ts';
import { hangUp, send } from './hang-up.ts';
import { HeldProcess } from './held-process.ts';
import type { Running, Start, TerminalSize } from './running.ts';
import { startScripted } from './scripted-terminal.ts';

/** Waits before a terminal that takes no input is tried again, in ms. */
const TERMINAL_RETRY_MS_MIN = 1;
const TERMINAL_RETRY_MS_MAX = 50;

/** After the end of a terminal's program its last output may take this long without a byte, in ms. */
export const TERMINAL_SILENCE_MS_MAX = 200;

/** What node-pty has and does not offer. Its version is exact in package.json, and a test looks whether it is there. */
interface PtyInsides extends IPty {
  readonly fd: number;
  readonly ptsName: string;
  readonly _socket: ReadStream;
}

/** Makes terminals; null where node-pty is not installed. */
export type LoadPty = () => Promise<{ readonly spawn: typeof spawnPty } | null>;

/** That of this machine, loaded with the first terminal: most agents never need it. */
const loadNodePty: LoadPty = () => import('@lydell/node-pty').catch(() => null);

/**
 * Starts it as the leader of a session on a terminal of its own, which belongs to the account. Rejects when there is
 * none to be had.
 */
export async function startTerminal(
  account: Account,
  term: string,
  size: TerminalSize,
  start: Start,
  load: LoadPty = loadNodePty,
): Promise<Running> {
  const loaded = await load();
  return loaded === null
    ? startScripted(account, term, size, start)
    : startPty(loaded.spawn, account, term, size, start);
}

function startPty(
  spawn: typeof spawnPty,
  account: Account,
  term: string,
  size: TerminalSize,
  { launch, channel, writer, seen, ended }: Start,
): Running {
  const pty = spawn(launch.file, [...launch.words], {
    name: term,
    cols: size.columns,
    rows: size.rows,
    cwd: launch.directory,
    env: { ...launch.environment },
    encoding: null,
  }) as PtyInsides;
  const { fd, _socket: output } = pty;
  const leader = heldLeader(pty, account);
  let isOver = false;
  let isHungUp = false;
  let isClosed = false;

  writer.from(output, 'out', seen);
  const input = new TerminalInput(fd, () => channel.resume());
  // A program may close its terminal and live on: the descriptor's number is the next file's then, such as the terminal
  // of somebody else.
  keepOpenUntilRead(output, () => {
    isClosed = true;
    input.close();
    channel.resume();
  });
  channel.on('data', (data: Buffer) => {
    if (!input.take(data)) channel.pause();
  });
  pty.onExit(({ exitCode, signal }) => {
    isOver = true;
    leader.close();
    input.close();
    channel.resume();
    if (!isHungUp) writer.whenEmpty(() => ended(exitCode, signal ? nameOf(signal) : null));
  });

  return {
    signal: (name) => {
      const [own] = leader.groups();
      if (own !== undefined) send(own, name);
    },
    resize: (columns, rows) => {
      if (!isOver && !isHungUp && !isClosed) pty.resize(columns, rows);
    },
    hangUp(ms, over) {
      if (isOver) return over();
      isHungUp = true;
      input.close();
      const groups = leader.groups();
      output.removeAllListeners('data').resume();
      output.destroy();
      hangUp(groups, ms, over);
    },
  };
}

/**
 * Its program, which node-pty waits for by itself and of whose end it tells only when the output was read: long before,
 * its number may be a stranger's. Where it cannot be held, or not be given its terminal, it is hung up.
 */
function heldLeader({ pid, ptsName, _socket }: PtyInsides, account: Account): HeldProcess {
  let leader: HeldProcess | null = null;
  try {
    leader = new HeldProcess(pid);
    giveTo(account, ptsName);
    return leader;
  } catch (error) {
    leader?.close();
    _socket.destroy(); // the kernel says so to the program
    throw new Error(systemProblem(error), { cause: error });
  }
}

/** So that the account's programs may open it by its name, as `screen` does. Source: what sshd does. */
function giveTo(account: Account, path: string): void {
  if (account.isOther) chownSync(path, account.uid, statSync(path).gid);
}

/**
 * node-pty destroys the stream 200 ms after the program ended, also when it is paused because the client is slow: the
 * last output would be lost.
 * Here the wait begins anew with every piece and while it is paused. `closing` is called right before the descriptor is
 * closed.
 */
function keepOpenUntilRead(output: ReadStream, closing: () => void): void {
  const destroy = output.destroy.bind(output);
  let isWanted = false;
  output.destroy = () => {
    if (isWanted) return output;
    isWanted = true;
    const look = () => {
      if (output.isPaused()) {
        timer.refresh();
      } else {
        closing();
        destroy();
      }
    };
    const timer = setTimeout(look, TERMINAL_SILENCE_MS_MAX);
    output.on('data', () => timer.refresh());
    output.once('close', () => clearTimeout(timer));
    return output;
  };
}

/**
 * Input for a terminal. Written by hand: libuv's own writes to it would hold up the whole agent while a program does
 * not read (it tries again without end; seen). The descriptor does not block, and a full terminal is tried again a
 * little later.
 */
class TerminalInput {
  readonly #fd: number;
  readonly #drained: () => void;
  #waiting: Buffer[] = [];
  #timer: NodeJS.Timeout | null = null;
  #waitMs = TERMINAL_RETRY_MS_MIN;
  #isClosed = false;

  constructor(fd: number, drained: () => void) {
    this.#fd = fd;
    this.#drained = drained;
  }

  /** False: no more now, `drained` will be called. */
  take(data: Buffer): boolean {
    if (this.#isClosed) return true;
    this.#waiting.push(data);
    if (this.#timer === null) this.#write();
    return this.#waiting.length === 0;
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #write(): void {
    this.#timer = null;
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const written = writeSome(this.#fd, first);
      if (written === null) return this.close(); // its program is gone
      if (written > 0) this.#waitMs = TERMINAL_RETRY_MS_MIN;
      if (written === first.length) {
        this.#waiting.shift();
        continue;
      }
      this.#waiting[0] = first.subarray(written);
      this.#timer = setTimeout(() => this.#write(), this.#waitMs);
      this.#waitMs = Math.min(this.#waitMs * 2, TERMINAL_RETRY_MS_MAX);
      return;
    }
    this.#drained();
  }
}

/** Bytes written; 0 when it takes none now; null when it never will. */
function writeSome(fd: number, data: Buffer): number | null {
  try {
    return writeSync(fd, data);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : null;
  }
}

function nameOf(signal: number): string {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `SIG${signal}`;
}
