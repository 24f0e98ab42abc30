/** Files of a node by SFTP, over a connection that is there. What it says of itself is believed by nobody. */
import { randomBytes } from 'node:crypto';
import type { Client, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { FileEntry, FileReader, FileWriter, RemoteFiles } from '../../api/terminal/ports.ts';
import { codeOf, IS_THERE, NO_SUCH_FILE, openSftp, SftpAsks } from './sftp-asks.ts';

/** Bytes of one request: what every server takes. Source: draft-ietf-secsh-filexfer-02, 3. */
const REQUEST_BYTES = 32_768;

/** Bits of a mode that say what it is. Source: inode(7). */
const KIND = 0o170_000;
const FILE = 0o100_000;
const DIRECTORY = 0o40_000;
const KINDS: Readonly<Record<number, FileEntry['kind']>> = {
  [FILE]: 'file',
  [DIRECTORY]: 'directory',
  0o120_000: 'link',
};

/** Bits of a mode that chmod sets; of these, what has a program run as its owner or group. Source: inode(7). */
const MODE_BITS = 0o7_777;
const SET_ID_BITS = 0o6_000;

/** Of what may become a file that nobody else reads: nobody else reads it meanwhile. */
const PRIVATE_MODE = 0o600;

/** End of a file or directory. */
const END = 1;

/** Characters of a name at most, which has 255 bytes. Source: NAME_MAX of Linux, the same in its usual file systems. */
const NAME_LENGTH_MAX = 255;

/** Names that a directory has besides its entries: itself, and where it is. */
const OWN_NAMES = ['.', '..'];

/** The subsystem is opened when it is wanted first. */
export function createFiles(client: Client): RemoteFiles {
  let opening: Promise<Result<Files>> | null = null;
  const open = async (): Promise<Result<Files>> => {
    opening ??= opened(client);
    const files = await opening;
    if (!files.ok) opening = null;
    return files;
  };
  return {
    async list(path, entriesMax) {
      const files = await open();
      return files.ok ? files.value.list(path, entriesMax) : files;
    },
    async read(path) {
      const files = await open();
      return files.ok ? files.value.read(path) : files;
    },
    async write(path, replaces) {
      const files = await open();
      return files.ok ? files.value.write(path, replaces) : files;
    },
    async makeFolder(path, mayExist) {
      const files = await open();
      return files.ok ? files.value.makeFolder(path, mayExist) : files;
    },
    async rename(path, to) {
      const files = await open();
      return files.ok ? files.value.rename(path, to) : files;
    },
    async remove(path) {
      const files = await open();
      return files.ok ? files.value.remove(path) : files;
    },
  };
}

async function opened(client: Client): Promise<Result<Files>> {
  const sftp = await openSftp(client);
  return sftp.ok ? ok(new Files(sftp.value)) : sftp;
}

class Files implements RemoteFiles {
  readonly #sftp: SFTPWrapper;
  readonly #asks: SftpAsks;

  constructor(sftp: SFTPWrapper) {
    this.#sftp = sftp;
    this.#asks = new SftpAsks(sftp);
  }

  async list(path: string, entriesMax: number): ReturnType<RemoteFiles['list']> {
    const sftp = this.#sftp;
    const real = await this.#realPath(path);
    if (!real.ok) return real;
    const handle = await this.#asks.ask<Buffer>((done) => sftp.opendir(real.value, done));
    if (!handle.ok) return handle;
    const entries: FileEntry[] = [];
    try {
      for (let names = 0; names <= entriesMax + OWN_NAMES.length;) {
        const some = await this.#asks.ask<FileEntryWithStats[]>((done) =>
          sftp.readdir(handle.value, (error, list) => (isEnd(error) ? done(null, []) : done(error, list))),
        );
        if (!some.ok) return some;
        if (some.value.length === 0) break; // OpenSSH's client takes an answer without names for the end, too
        const problem = some.value.map(({ filename }) => nameProblem(filename)).find((one) => one !== null);
        if (problem !== undefined) return problem;
        names += some.value.length;
        entries.push(...some.value.filter(({ filename }) => !OWN_NAMES.includes(filename)).map(entryOf));
      }
    } finally {
      void this.#close(handle.value);
    }
    return ok({ path: real.value, entries: entries.slice(0, entriesMax), isCut: entries.length > entriesMax });
  }

  async read(path: string): Promise<Result<FileReader>> {
    const sftp = this.#sftp;
    const handle = await this.#asks.ask<Buffer>((done) => sftp.open(path, 'r', done));
    if (!handle.ok) return handle;
    const stats = await this.#asks.ask<Stats>((done) => sftp.fstat(handle.value, done));
    const close = async (): Promise<void> => {
      await this.#close(handle.value);
    };
    if (!stats.ok || (stats.value.mode & KIND) !== FILE) {
      await close();
      return stats.ok ? refuse('validation_failed', 'It is no file that can be downloaded.') : stats;
    }
    let at = 0;
    return ok({
      path,
      bytes: stats.value.size,
      close,
      next: async (bytesMax) => {
        const length = Math.min(bytesMax, REQUEST_BYTES);
        const piece = Buffer.alloc(length);
        const read = await this.#asks.ask<number>((done) =>
          sftp.read(handle.value, piece, 0, length, at, (error, bytes) =>
            isEnd(error) ? done(null, 0) : done(error, bytes),
          ),
        );
        if (!read.ok) return read;
        at += read.value;
        return ok(read.value === 0 ? null : piece.subarray(0, read.value));
      },
    });
  }

  async write(path: string, replaces: boolean): Promise<Result<FileWriter>> {
    const sftp = this.#sftp;
    const target = await this.#targetOf(path, replaces);
    if (!target.ok) return target;
    const { place, old } = target.value;
    const slash = place.lastIndexOf('/') + 1;
    const beside = `${place.slice(0, slash)}.${randomBytes(6).toString('hex')}.edge-part`;
    const handle = await this.#asks.ask<Buffer>((done) =>
      sftp.open(beside, 'wx', old === null ? {} : { mode: PRIVATE_MODE }, done),
    );
    if (!handle.ok) return handle;
    let at = 0;
    return ok({
      path,
      abort: async () => {
        await this.#close(handle.value);
        await this.#asks.ask((done) => sftp.unlink(beside, done));
      },
      write: async (bytes) => {
        for (let begin = 0; begin < bytes.length; begin += REQUEST_BYTES) {
          const piece = Buffer.from(bytes.subarray(begin, begin + REQUEST_BYTES));
          const written = await this.#asks.ask((done) => sftp.write(handle.value, piece, 0, piece.length, at, done));
          if (!written.ok) return written;
          at += piece.length;
        }
        return ok(null);
      },
      finish: async () => {
        const kept = old === null ? ok(null) : await this.#keep(handle.value, old);
        if (!kept.ok) return kept;
        const closed = await this.#close(handle.value);
        if (!closed.ok) return closed;
        const renamed = await this.#asks.ask((done) =>
          replaces ? sftp.ext_openssh_rename(beside, place, done) : sftp.rename(beside, place, done),
        );
        return renamed.ok ? ok(null) : renamed;
      },
    });
  }

  /** Where a file comes to stand, and what it replaces there: where that is a link, it stays one. */
  async #targetOf(
    path: string,
    replaces: boolean,
  ): Promise<Result<{ readonly place: string; readonly old: Stats | null }>> {
    const sftp = this.#sftp;
    if (!replaces) {
      const there = await this.#asks.ask<Stats>((done) => sftp.lstat(path, done));
      return there.ok ? IS_THERE : ok({ place: path, old: null });
    }
    const old = await this.#asks.ask<Stats | null>((done) =>
      sftp.stat(path, (error, stats) => (codeOf(error) === NO_SUCH_FILE ? done(null, null) : done(error, stats))),
    );
    if (!old.ok) return old;
    if (old.value === null) return ok({ place: path, old: null });
    if ((old.value.mode & KIND) !== FILE) return refuse('conflict', 'It is no file that can be replaced.');
    const real = await this.#realPath(path);
    return real.ok ? ok({ place: real.value, old: old.value }) : real;
  }

  /** Gives a new file the mode of the old one, and its owner where the user may; what runs as them is theirs alone. */
  async #keep(handle: Buffer, { uid, gid, mode }: Stats): Promise<Result<unknown>> {
    const owned = await this.#asks.ask((done) => this.#sftp.fsetstat(handle, { uid, gid }, done));
    const bits = owned.ok ? MODE_BITS : MODE_BITS & ~SET_ID_BITS;
    return this.#asks.ask((done) => this.#sftp.fsetstat(handle, { mode: mode & bits }, done));
  }

  async makeFolder(path: string, mayExist: boolean): Promise<Result<null>> {
    const made = await this.#asks.ask((done) => this.#sftp.mkdir(path, done));
    if (made.ok) return ok(null);
    const there = await this.#asks.ask<Stats>((done) => this.#sftp.stat(path, done));
    if (!there.ok) return made;
    return mayExist && (there.value.mode & KIND) === DIRECTORY ? ok(null) : IS_THERE;
  }

  async rename(path: string, to: string): Promise<Result<null>> {
    // some servers replace what they find there
    const there = await this.#asks.ask<Stats>((done) => this.#sftp.lstat(to, done));
    if (there.ok) return IS_THERE;
    const renamed = await this.#asks.ask((done) => this.#sftp.rename(path, to, done));
    return renamed.ok ? ok(null) : renamed;
  }

  async remove(path: string): Promise<Result<null>> {
    const found = await this.#asks.ask<Stats>((done) => this.#sftp.lstat(path, done));
    if (!found.ok) return found;
    const isFolder = (found.value.mode & KIND) === DIRECTORY;
    const removed = await this.#asks.ask((done) =>
      isFolder ? this.#sftp.rmdir(path, done) : this.#sftp.unlink(path, done),
    );
    return removed.ok ? ok(null) : removed;
  }

  async #realPath(path: string): Promise<Result<string>> {
    const real = await this.#asks.ask<string | undefined>((done) => this.#sftp.realpath(path, done));
    if (!real.ok) return real;
    return real.value === undefined ? NAMELESS : ok(real.value);
  }

  #close(handle: Buffer): Promise<Result<unknown>> {
    return this.#asks.ask((done) => this.#sftp.close(handle, done));
  }
}

function entryOf({ filename, attrs: { mode, size, mtime } }: FileEntryWithStats): FileEntry {
  return {
    name: filename,
    kind: KINDS[(mode ?? 0) & KIND] ?? 'other',
    bytes: size ?? 0,
    modified_at: mtime ?? 0,
    mode: (mode ?? 0) & MODE_BITS,
  };
}

/** Why this is no name of a file; null: it is one. ssh2 has none where an answer ends before it. */
function nameProblem(name: string | undefined): Result<never> | null {
  if (name === undefined) return NAMELESS;
  return name.length > NAME_LENGTH_MAX ? NO_NAME : null;
}

function isEnd(error: Error | null | undefined): boolean {
  return codeOf(error) === END;
}

const NO_NAME = refuse('service_unavailable', 'The node names a file by more than any file system takes.');
const NAMELESS = refuse('service_unavailable', 'The node speaks of a file without a name.');
