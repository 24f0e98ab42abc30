/** One file from one machine: beside its place under another name, and into its place once its digest is right. */
import { lstat, mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { eachOf } from './at-once.ts';
import { localDigest } from './bytes.ts';
import type { FileEnd } from './ends.ts';
import { lengthOf, type Machine } from './machine.ts';
import { keptBytes, PIECES_AT_ONCE_MAX, piecesOf } from './pieces.ts';
import { failed, isFull, localProblem, remoteProblem } from './problems.ts';

/** Bits of a mode that say who may read, write and run it. */
const RIGHTS = 0o777;

/** Whoever fetches a file can go on with it. */
const OWN_RIGHTS = 0o600;

/** Told how many bytes are to come, and of those that came or need not come. */
interface Progress {
  wanted(bytes: number): void;
  moved(bytes: number): void;
}

/** A file of a machine that is fetched: as much of it as there was when it was looked at. */
interface Source {
  readonly remote: string;
  readonly bytes: number;
}

/**
 * Fetches a file into a directory, which is made. Goes on with what is there of it from before, where that is right,
 * and fetches nothing where the file is there already. One that grows meanwhile is fetched as long as it was. Rejects
 * with a Problem.
 */
export async function pullFile(
  machine: Machine,
  remote: string,
  directory: string,
  progress: Progress,
): Promise<FileEnd> {
  const { mode: rights, bytes } = await remoteFile(machine, remote);
  const source = { remote, bytes };
  progress.wanted(source.bytes);
  const path = join(directory, posix.basename(remote));
  const sha256 = await there(machine, source, path);
  if (sha256 !== null) {
    progress.moved(source.bytes);
    return { path, bytes: source.bytes, sha256, wentOnAt: 0, wasThere: true };
  }
  const beside = join(directory, `.${posix.basename(remote)}.edge-part`);
  try {
    await mkdir(directory, { recursive: true });
    const wentOnAt = await keptOf(machine, source, beside);
    progress.moved(wentOnAt);
    const mode = (rights & RIGHTS) | OWN_RIGHTS;
    await fetchInto(machine, source, { beside, from: wentOnAt, mode }, progress);
    const [here, away] = await Promise.all([localDigest(beside, source.bytes), machine.digest(remote, source.bytes)]);
    if (here !== away) {
      await rm(beside, { force: true });
      throw failed(`what arrived of ${remote} is not what is there: it changed meanwhile, so pull it again`);
    }
    await rename(beside, path);
    return { path, bytes: source.bytes, sha256: here, wentOnAt, wasThere: false };
  } catch (error) {
    if (isFull(error)) await rm(beside, { force: true }).catch(() => {}); // others need the room
    throw localProblem(error, 'write', path);
  }
}

async function remoteFile(
  machine: Machine,
  remote: string,
): Promise<{ readonly mode: number; readonly bytes: number }> {
  try {
    const stats = await machine.stat(remote);
    if (stats === null) throw failed(`there is no file ${remote}`);
    if (stats.isDirectory()) throw failed(`${remote} is a directory: pack it with tar, or copy it with edge cp -r`);
    if (!stats.isFile()) throw failed(`${remote} is no file that could be copied`);
    const bytes = lengthOf(stats);
    if (bytes === null) throw failed(`the machine does not say how long ${remote} is`);
    return { mode: stats.mode, bytes };
  } catch (error) {
    throw remoteProblem(error, 'read', remote);
  }
}

/** The digest of what is in its place, if it is the same; else null. */
async function there(machine: Machine, { remote, bytes }: Source, path: string): Promise<string | null> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size !== bytes) return null;
  const [here, away] = await Promise.all([localDigest(path, bytes), machine.digest(remote, bytes)]).catch(
    (error: unknown) => {
      throw localProblem(error, 'read', path);
    },
  );
  return here === away ? here : null;
}

/** How much of the file is here from before and right, in bytes. A link, or a file of somebody else, is nothing. */
async function keptOf(machine: Machine, { remote, bytes }: Source, beside: string): Promise<number> {
  const size = await lstat(beside).then(
    (part) => (part.isFile() && part.uid === (process.getuid?.() ?? part.uid) ? part.size : 0),
    () => 0,
  );
  const kept = keptBytes(size, bytes);
  if (kept === 0) return 0;
  const digests = await Promise.all([machine.digest(remote, kept), localDigest(beside, kept)]);
  return digests[0] === digests[1] ? kept : 0;
}

async function fetchInto(
  machine: Machine,
  source: Source,
  { beside, from, mode }: { readonly beside: string; readonly from: number; readonly mode: number },
  progress: Progress,
): Promise<void> {
  if (from === 0) await rm(beside, { force: true });
  const target = await open(beside, from > 0 ? 'r+' : 'wx', mode);
  try {
    await readInto(machine, source, target, from, progress);
    await target.sync();
  } finally {
    await target.close();
  }
}

async function readInto(
  machine: Machine,
  { remote, bytes }: Source,
  target: FileHandle,
  from: number,
  progress: Progress,
): Promise<void> {
  const handle = await machine.open(remote, 'r').catch((error: unknown) => {
    throw remoteProblem(error, 'read', remote);
  });
  const read = (memory: Buffer, at: number): Promise<number> =>
    machine.read(handle, memory, at).catch((error: unknown) => {
      throw remoteProblem(error, 'read', remote);
    });
  // the kernel says 0 of what it makes up as it is read
  if (bytes === 0 && (await read(Buffer.alloc(1), 0)) > 0)
    throw failed(`${remote} has no length: edge run -- cat ${remote} shows it`);
  await eachOf(piecesOf(from, bytes), PIECES_AT_ONCE_MAX, async ({ at, length }) => {
    const memory = Buffer.allocUnsafe(length);
    if ((await read(memory, at)) < length) throw failed(`${remote} became shorter meanwhile: pull it again`);
    await target.write(memory, 0, length, at);
    progress.moved(length);
  });
  await machine.closeFile(handle).catch(() => {}); // it was only read
}
