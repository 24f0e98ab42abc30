/** A machine that somebody is logged in to: its files, by SFTP, and digests that it computes itself. */
import type { Socket } from 'node:net';
import type { Client, ClientChannel, SFTPWrapper, Stats } from 'ssh2';
import { shellWord } from '../reach/openssh.ts';
import { Problem } from '../problem.ts';
import { PendingAnswers, type Done } from './pending.ts';
import { failed, SFTP_STATUS, unfinished } from './problems.ts';

/** Text of a command that is kept, in bytes: a digest is shorter. */
const TEXT_BYTES_MAX = 4_096;

/** A digest as sha256sum prints it, and a user as id does; what files of the shell print stands before. */
const DIGEST_LINES = /^[\da-f]{64}\b/gmu;
const USER_LINES = /^\d+$/gmu;

/** What a shell says of a program that is not there. Source: POSIX, 2.8.2. */
const NO_SUCH_PROGRAM = 127;

/** Bits of a mode that chmod sets; of these, what has a program run as its owner or group. Source: inode(7). */
const MODE_BITS = 0o7777;
const SET_ID_BITS = 0o6000;

/** An open file of a machine. */
export type RemoteHandle = Buffer;

/** How long a file is, in bytes; null: its server tells no length (SFTP lets it), or one that no file has. */
export function lengthOf({ size }: Stats): number | null {
  return Number.isSafeInteger(size) && size >= 0 ? size : null;
}

/** One that is used until it is closed. What fails rejects with the error of the server, unless it says otherwise. */
export class Machine {
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #sftp: SFTPWrapper;
  readonly #pending: PendingAnswers;

  private constructor(client: Client, socket: Socket, sftp: SFTPWrapper, pending: PendingAnswers) {
    this.#client = client;
    this.#socket = socket;
    this.#sftp = sftp;
    this.#pending = pending;
  }

  /** Of a client that is logged in. */
  static async of(client: Client, socket: Socket): Promise<Machine> {
    const pending = new PendingAnswers();
    const cut = (): void => pending.end(unfinished('the connection was cut'));
    client.once('close', cut);
    const sftp = await pending.ask<SFTPWrapper>((done) => client.sftp(done));
    sftp.on('error', cut).once('close', cut); // its program may end alone
    return new Machine(client, socket, sftp, pending);
  }

  close(): void {
    this.#client.end();
    this.#socket.destroySoon();
  }

  /** What there is at a path, behind links; null: nothing. */
  async stat(path: string): Promise<Stats | null> {
    try {
      return await this.#pending.ask<Stats>((done) => this.#sftp.stat(path, done));
    } catch (error) {
      if ((error as { readonly code?: number }).code === SFTP_STATUS.noSuchFile) return null;
      throw error;
    }
  }

  /** What there is at a path, where it is a file of this user; null: nothing, a link, or what others put there. */
  async ownFile(path: string): Promise<Stats | null> {
    const there = await this.#pending
      .ask<Stats>((done) => this.#sftp.lstat(path, done))
      .catch((error: unknown) => {
        if ((error as { readonly code?: number }).code === SFTP_STATUS.noSuchFile) return null;
        throw error;
      });
    if (there?.isFile() !== true) return null;
    const { text } = await this.#run('id -u');
    return last(USER_LINES, text) === String(there.uid) ? there : null;
  }

  /** The path without links. */
  realPath(path: string): Promise<string> {
    return this.#pending.ask<string>((done) => this.#sftp.realpath(path, done));
  }

  /** Opens a file that is there: to read it, or to go on with it. */
  open(path: string, flags: 'r' | 'r+'): Promise<RemoteHandle> {
    return this.#open(path, flags);
  }

  /** Makes a file, for its owner only. What is there goes first: it may be a link, or a file of somebody else. */
  async make(path: string): Promise<RemoteHandle> {
    return this.#open(path, 'wx').catch(async (error: unknown) => {
      if (error instanceof Problem) throw error;
      await this.remove(path).catch(() => {
        throw error;
      });
      return this.#open(path, 'wx');
    });
  }

  closeFile(handle: RemoteHandle): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.close(handle, done));
  }

  /** Reads into `memory` as much as it takes, from a byte of the file on. Answers how much came: less is the end. */
  async read(handle: RemoteHandle, memory: Buffer, at: number): Promise<number> {
    let came = 0;
    while (came < memory.length) {
      const bytes = await this.#readSome(handle, memory.subarray(came), at + came);
      if (bytes === 0) break;
      came += bytes;
    }
    return came;
  }

  write(handle: RemoteHandle, data: Buffer, at: number): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.write(handle, data, 0, data.length, at, done));
  }

  /** What was written is on the disk once it resolves. */
  synchronize(handle: RemoteHandle): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.ext_openssh_fsync(handle, done));
  }

  setMode(path: string, mode: number): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.chmod(path, mode, done));
  }

  /** Gives a file the mode of another one, and its owner where the user may; what runs as them is theirs alone. */
  async keep(path: string, { uid, gid, mode }: Stats): Promise<void> {
    const bits = (await this.#own(path, uid, gid)) ? MODE_BITS : MODE_BITS & ~SET_ID_BITS;
    await this.setMode(path, mode & bits);
  }

  /** Gives the file of one name another one; what has that is replaced at once. */
  rename(from: string, to: string): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.ext_openssh_rename(from, to, done));
  }

  remove(path: string): Promise<void> {
    return this.#pending.ask<void>((done) => this.#sftp.unlink(path, done));
  }

  /** SHA-256 of the first `bytes` bytes of a file, in hexadecimal digits. Rejects with a Problem where none comes. */
  async digest(path: string, bytes: number): Promise<string> {
    const { status, text } = await this.#run(`head -c ${bytes} < ${shellWord(path)} | sha256sum`);
    const digest = last(DIGEST_LINES, text);
    if (digest !== undefined) return digest;
    if (status === null) throw unfinished('the connection was cut');
    throw failed(
      status === NO_SUCH_PROGRAM
        ? 'there is no sha256sum on it, which says whether all is right'
        : `sha256sum ended with ${status} there, so that nobody knows whether all is right`,
    );
  }

  #open(path: string, flags: 'r' | 'wx' | 'r+'): Promise<RemoteHandle> {
    return this.#pending.ask<RemoteHandle>((done) => this.#sftp.open(path, flags, 0o600, done));
  }

  /** False: the user may not give it to these, or its server does not tell who they are. */
  async #own(path: string, uid: number | undefined, gid: number | undefined): Promise<boolean> {
    if (uid === undefined || gid === undefined) return false;
    try {
      await this.#pending.ask<void>((done) => this.#sftp.chown(path, uid, gid, done));
      return true;
    } catch (error) {
      if (error instanceof Problem) throw error;
      return false;
    }
  }

  async #readSome(handle: RemoteHandle, memory: Buffer, at: number): Promise<number> {
    try {
      return await this.#pending.ask<number>((done) =>
        this.#sftp.read(handle, memory, 0, memory.length, at, (error, bytes) => done(error, bytes)),
      );
    } catch (error) {
      if ((error as { readonly code?: number }).code === SFTP_STATUS.eof) return 0;
      throw error;
    }
  }

  /** Runs a command in the shell of the account. A null status: it did not end by itself. */
  async #run(command: string): Promise<{ readonly status: number | null; readonly text: string }> {
    const channel = await this.#pending
      .ask<ClientChannel>((done) => this.#client.exec(command, done))
      .catch((error: unknown) => {
        if (error instanceof Problem) throw error;
        throw failed(`no command can be run there (${(error as Error).message}), which says whether all is right`);
      });
    return this.#pending.ask((done) => heard(channel, done));
  }
}

function last(lines: RegExp, text: string): string | undefined {
  return text.match(lines)?.at(-1);
}

/** Hears a command to its end. */
function heard(channel: ClientChannel, done: Done<{ readonly status: number | null; readonly text: string }>): void {
  let status: number | null = null;
  let text = '';
  channel
    .on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-TEXT_BYTES_MAX);
    })
    .once('exit', (code: number | null) => {
      status = code;
    })
    .once('close', () => done(null, { status, text }));
  channel.stderr.resume();
  channel.end();
}
