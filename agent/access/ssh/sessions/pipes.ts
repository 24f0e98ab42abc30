/**
 * Pipes for programs. Node gives its children sockets, which cannot be opened by a name: `echo trouble > /dev/stderr`
 * would fail.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchownSync, mkdirSync, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { removeTree } from '../../../removal.ts';
import type { Account } from '../login/accounts.ts';

/** Pipes made at once: a process is started for it (1 ms). A program takes three. */
const BATCH = 24;

/** How long making them may take, in ms. */
const MAKE_MS_MAX = 5_000;

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Where they are made: in the directory of the host key, which nobody else may enter. */
export function pipesDirectory(hostKeyPath: string): string {
  return join(dirname(hostKeyPath), 'ssh-pipes');
}

/** Our ends and those of a program. */
export interface ProgramPipes {
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** File descriptors for stdin, stdout and stderr of the program. */
  readonly theirs: readonly [number, number, number];
  /** To be called once the program has its ends, or will never have them. */
  handOver(): void;
}

/**
 * Makes pipes ahead of need, in a directory of its own, which is emptied. They have no name any more once they are in
 * use.
 */
export class PipePool {
  readonly #directory: string;
  #ready: string[] = [];
  /** Whether any came of it. */
  #making: Promise<boolean> | null = null;

  constructor(directory: string) {
    this.#directory = directory;
    removeTree(directory); // of an agent that was killed
  }

  /**
   * Pipes that belong to the account, so that its programs may open them as /dev/stdin and so on. Null where the system
   * makes none (no mkfifo, a full disk).
   */
  async take(account: Account): Promise<ProgramPipes | null> {
    while (this.#ready.length < 3) if (!(await this.#more())) return null; // others may take what was made
    const paths = this.#ready.splice(0, 3);
    if (this.#ready.length < BATCH / 2) void this.#more();
    const [first, second, third] = paths;
    if (first === undefined || second === undefined || third === undefined) return null;
    const opened: number[] = [];
    try {
      const input = openPipe(first, opened);
      const output = openPipe(second, opened);
      const error = openPipe(third, opened);
      for (const path of paths) unlinkSync(path);
      for (const { read } of [input, output, error]) if (account.isOther) fchownSync(read, account.uid, account.gid);
      // Ours must not block, theirs must: so each is opened anew, and what held the pipe open meanwhile is closed.
      return {
        stdin: new Socket({ fd: input.write, readable: false, writable: true }),
        stdout: new Socket({ fd: output.read, readable: true, writable: false }),
        stderr: new Socket({ fd: error.read, readable: true, writable: false }),
        theirs: [input.blocking.read, output.blocking.write, error.blocking.write],
        handOver() {
          for (const fd of [
            input.read,
            output.write,
            error.write,
            ...[input, output, error].flatMap(({ blocking }) => [blocking.read, blocking.write]),
          ])
            closeSync(fd);
        },
      };
    } catch {
      for (const fd of opened) closeSync(fd);
      return null;
    }
  }

  /** Removes what was made ahead. */
  close(): void {
    this.#ready = [];
    removeTree(this.#directory);
  }

  #more(): Promise<boolean> {
    this.#making ??= this.#make().finally(() => {
      this.#making = null;
    });
    return this.#making;
  }

  async #make(): Promise<boolean> {
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const paths = Array.from({ length: BATCH }, () => join(this.#directory, randomBytes(12).toString('hex')));
      await promisify(execFile)('mkfifo', ['-m', '600', ...paths], { timeout: MAKE_MS_MAX, cwd: '/' });
      this.#ready.push(...paths);
      return true;
    } catch {
      return false; // programs get sockets, with which nearly all of them work as well
    }
  }
}

interface PipeEnds {
  readonly read: number;
  readonly write: number;
  readonly blocking: { readonly read: number; readonly write: number };
}

/** Opens both ends twice. In this order no open waits for the other side. Source: fifo(7). */
function openPipe(path: string, opened: number[]): PipeEnds {
  const open = (flags: number) => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  const read = open(O_RDONLY | O_NONBLOCK);
  const write = open(O_WRONLY | O_NONBLOCK);
  return { read, write, blocking: { read: open(O_RDONLY), write: open(O_WRONLY) } };
}
