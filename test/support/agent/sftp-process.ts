/**
 * The SFTP server as a process of a test, and a client that says exactly what it is told: packets, with nothing of the
 * server's own code in them.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { ExecutionContext } from 'ava';
import { sftpCommand } from '../../../agent/access/sftp/command.ts';
import type { BecomeAccount } from '../../../agent/access/sftp/privileges.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** What the server is given: compiled code that all servers of the tests share, so that they start in half the time. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '/',
  TZ: 'UTC',
  NODE_COMPILE_CACHE: new URL('../../../node_modules/.cache/edge-sftp-test', import.meta.url).pathname,
};

/** Who a test becomes to have no rights. Source: the same numbers on every Linux. */
export const NOBODY: BecomeAccount = { name: 'nobody', uid: 65_534, gid: 65_534 };

/** A packet of the server: its kind, the number of the request (or the version), and the rest. */
export interface Answer {
  readonly kind: number;
  readonly number: number;
  readonly rest: Buffer;
}

/** A number of 32 bits. */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A number of 64 bits. */
export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** Bytes, or a text, after their length. */
export function text(value: string | Buffer): Buffer {
  return Buffer.concat([u32(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** A packet with its length. */
export function packet(kind: number, number: number, ...fields: readonly Buffer[]): Buffer {
  return text(Buffer.concat([Buffer.from([kind]), u32(number), ...fields]));
}

/** Kinds of requests. Source: draft-ietf-secsh-filexfer-02, 3. */
export const REQUEST = {
  OPEN: 3,
  CLOSE: 4,
  READ: 5,
  WRITE: 6,
  LSTAT: 7,
  FSTAT: 8,
  SETSTAT: 9,
  FSETSTAT: 10,
  OPENDIR: 11,
  READDIR: 12,
  REMOVE: 13,
  MKDIR: 14,
  RMDIR: 15,
  REALPATH: 16,
  STAT: 17,
  RENAME: 18,
  READLINK: 19,
  SYMLINK: 20,
  EXTENDED: 200,
} as const;

/** Ways to open a file. Source: the same, 6.3. */
export const OPENS = {
  READING: u32(0x01),
  WRITING: u32(0x02),
  BOTH: u32(0x03),
  APPENDING: u32(0x02 | 0x04 | 0x08),
  MAKING: u32(0x02 | 0x08),
  MAKING_NEW: u32(0x02 | 0x08 | 0x20),
  EMPTYING: u32(0x02 | 0x08 | 0x10),
} as const;

/** The status of what was done. */
export const DONE = [0, 'done'] as const;

/** The greeting of a client. */
export const GREETING = packet(1, 3);

/** Attributes that say nothing. */
export const NO_ATTRIBUTES = u32(0);

/** A server and a client in one. */
export class SftpProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stderr = '';
  readonly #waiting: ((answer: Answer) => void)[] = [];
  readonly #came: Answer[] = [];
  #rest = Buffer.alloc(0);
  #number = 0;

  private constructor(child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    child.stdin.on('error', () => {}); // a server that ended: its status says so
    child.stderr.on('data', (piece: Buffer) => {
      this.stderr += piece.toString('utf8');
    });
    child.stdout.on('data', (piece: Buffer) => this.#take(piece));
  }

  /** Starts a server in this directory, as this account; ended after the test. Nothing was said to it yet. */
  static start(t: ExecutionContext, directory: string, account: BecomeAccount | null = null): SftpProcess {
    const [file, ...words] = sftpCommand(account);
    const server = new SftpProcess(
      spawn(file, words, { cwd: directory, env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
    t.teardown(async () => {
      server.child.kill('SIGKILL');
      await server.exited;
    });
    return server;
  }

  /** Starts one and greets it. */
  static async greeted(
    t: ExecutionContext,
    directory: string,
    account: BecomeAccount | null = null,
  ): Promise<SftpProcess> {
    const server = SftpProcess.start(t, directory, account);
    server.send(GREETING);
    await server.answer();
    return server;
  }

  /** Sends bytes as they are. */
  send(bytes: Buffer): void {
    this.child.stdin.write(bytes);
  }

  /** The next answer. */
  async answer(): Promise<Answer> {
    const came = this.#came.shift();
    return (
      came ??
      new Promise((resolve) => {
        this.#waiting.push(resolve);
      })
    );
  }

  /** Sends a request and takes the next answer, which must be its own. */
  async ask(kind: number, ...fields: readonly Buffer[]): Promise<Answer> {
    this.#number += 1;
    const number = this.#number;
    this.send(packet(kind, number, ...fields));
    const answer = await this.answer();
    if (answer.number !== number) throw new Error(`the answer to request ${number} says ${answer.number}`);
    return answer;
  }

  /** Sends a request and takes its status: code and words. */
  async status(kind: number, ...fields: readonly Buffer[]): Promise<readonly [number, string]> {
    return statusOf(await this.ask(kind, ...fields));
  }

  /** Sends an OPEN or OPENDIR and takes the handle. */
  async handle(kind: number, ...fields: readonly Buffer[]): Promise<Buffer> {
    const answer = await this.ask(kind, ...fields);
    if (answer.kind !== 102) throw new Error(`no handle, but ${statusOf(answer).join(' ')}`);
    return answer.rest; // a length and bytes: just as a request takes it
  }

  /** Ends what the server reads, and waits for its own end. */
  async end(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    this.child.stdin.end();
    return this.exited;
  }

  #take(piece: Buffer): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#rest, piece]);
    while (this.#rest.length >= 4 && this.#rest.length >= 4 + this.#rest.readUInt32BE()) {
      const end = 4 + this.#rest.readUInt32BE();
      const answer = {
        kind: this.#rest.readUInt8(4),
        number: this.#rest.readUInt32BE(5),
        rest: this.#rest.subarray(9, end),
      };
      this.#rest = this.#rest.subarray(end);
      const waiting = this.#waiting.shift();
      if (waiting) waiting(answer);
      else this.#came.push(answer);
    }
  }
}

/** A directory, a greeted server in it, and paths of what is there. */
export async function sftpFixture(t: ExecutionContext) {
  const directory = temporaryDirectory(t, 0o777);
  const server = await SftpProcess.greeted(t, directory);
  return { directory, server, at: (name: string) => join(directory, name) };
}

/** Code and words of a status. Throws when the answer is none. */
export function statusOf({ kind, rest }: Answer): readonly [number, string] {
  if (kind !== 101) throw new Error(`an answer of kind ${kind}, not a status`);
  return [rest.readUInt32BE(0), rest.toString('utf8', 8, 8 + rest.readUInt32BE(4))];
}

/** Names of a NAME answer, their long names, and their sizes. */
export function namesOf({ kind, rest }: Answer): readonly { name: Buffer; long: Buffer; size: number | null }[] {
  if (kind !== 104) throw new Error(`an answer of kind ${kind}, not names`);
  let at = 4;
  const take = (bytes: number) => {
    at += bytes;
    return rest.subarray(at - bytes, at);
  };
  const word = () => take(take(4).readUInt32BE());
  return Array.from({ length: rest.readUInt32BE(0) }, () => {
    const [name, long, flags] = [word(), word(), take(4).readUInt32BE()];
    return { name, long, size: flags === 0 ? null : Number(take(28).readBigUInt64BE(0)) };
  });
}
