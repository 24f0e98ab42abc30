/** One file to one machine: beside its place under another name, and into its place once its digest is right. */
import { open } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Stats } from 'ssh2';
import { eachOf } from './at-once.ts';
import { localDigest } from './bytes.ts';
import type { FileEnd } from './ends.ts';
import type { LocalFile } from './local-files.ts';
import { lengthOf, type Machine } from './machine.ts';
import { keptBytes, PIECES_AT_ONCE_MAX, piecesOf } from './pieces.ts';
import { failed, isFull, localProblem, remoteProblem } from './problems.ts';

/** Where a file goes. */
export interface PushTarget {
  /** An absolute path: of the file, or of a directory where there is one, or it ends with a slash. */
  readonly path: string;
  /** Whether it must be a directory: several files go there. */
  readonly isDirectory: boolean;
  /** The machine has its directories with others, perhaps: what is beside is told apart by this. */
  readonly node: string;
}

/** Told of bytes that arrived, or that need not be sent. */
export type Moved = (bytes: number) => void;

/**
 * Sends a file. Goes on with what is there of it from before, where that is right, and sends nothing where the file is
 * there already. What is in its place stays until then, and gives the new one its mode, and its owner where the user
 * may.
 * Rejects with a Problem.
 */
export async function pushFile(machine: Machine, file: LocalFile, target: PushTarget, moved: Moved): Promise<FileEnd> {
  const { path, old } = await placeOf(machine, file, target);
  const end = { path, bytes: file.bytes, sha256: file.sha256 };
  if (old !== null && (await isThere(machine, path, file))) {
    moved(file.bytes);
    return { ...end, wentOnAt: 0, wasThere: true };
  }
  const beside = `${posix.dirname(path)}/.${posix.basename(path)}.${target.node.slice(0, 8)}.edge-part`;
  try {
    const wentOnAt = await keptOf(machine, beside, file);
    moved(wentOnAt);
    await send(machine, file, beside, wentOnAt, moved);
    if ((await machine.digest(beside, file.bytes)) !== file.sha256) {
      await machine.remove(beside);
      throw failed(`what arrived of ${file.path} is not what it was: it changed meanwhile, so push it again`);
    }
    await (old === null ? machine.setMode(beside, file.mode) : machine.keep(beside, old));
    await machine.rename(beside, path);
    return { ...end, wentOnAt, wasThere: false };
  } catch (error) {
    if (isFull(error)) await machine.remove(beside).catch(() => {}); // others need the room
    throw remoteProblem(error, 'write', path);
  }
}

/** The path of the file itself, and what is there; null: nothing. */
async function placeOf(
  machine: Machine,
  { name }: LocalFile,
  { path, isDirectory }: PushTarget,
): Promise<{ readonly path: string; readonly old: Stats | null }> {
  try {
    const there = await machine.stat(path);
    if (there?.isDirectory() === true) return await fileAt(machine, posix.join(path, name));
    if (isDirectory || path.endsWith('/'))
      throw failed(there === null ? `there is no directory ${path}` : `${path} is no directory`);
    return await fileAt(machine, path);
  } catch (error) {
    throw remoteProblem(error, 'write', path);
  }
}

async function fileAt(machine: Machine, path: string): Promise<{ readonly path: string; readonly old: Stats | null }> {
  const there = await machine.stat(path);
  if (there === null) return { path, old: null };
  if (!there.isFile()) throw failed(`${path} is ${there.isDirectory() ? 'a directory' : 'no file'}`);
  return { path: await machine.realPath(path), old: there }; // a link stays one
}

async function isThere(machine: Machine, path: string, { bytes, sha256 }: LocalFile): Promise<boolean> {
  const there = await machine.stat(path).catch(() => null);
  return there !== null && lengthOf(there) === bytes && (await machine.digest(path, bytes)) === sha256;
}

/**
 * How much of the file is there from before and right, in bytes; 0 too where its length is not told, or where somebody
 * else put it there, as in a directory for all: the new file would be theirs.
 */
async function keptOf(machine: Machine, beside: string, { path, bytes }: LocalFile): Promise<number> {
  const part = await machine.ownFile(beside);
  const kept = part === null ? 0 : keptBytes(lengthOf(part) ?? 0, bytes);
  if (kept === 0) return 0;
  const digests = await Promise.all([machine.digest(beside, kept), localDigest(path, kept)]);
  return digests[0] === digests[1] ? kept : 0;
}

async function send(machine: Machine, file: LocalFile, beside: string, from: number, moved: Moved): Promise<void> {
  const source = await open(file.path).catch((error: unknown) => {
    throw localProblem(error, 'read', file.path);
  });
  try {
    const handle = await (from > 0 ? machine.open(beside, 'r+') : machine.make(beside));
    await eachOf(piecesOf(from, file.bytes), PIECES_AT_ONCE_MAX, async ({ at, length }) => {
      const { bytesRead, buffer } = await source.read(Buffer.allocUnsafe(length), 0, length, at);
      if (bytesRead < length) throw failed(`${file.path} became shorter meanwhile: push it again`);
      await machine.write(handle, buffer, at);
      moved(length);
    });
    await machine.synchronize(handle);
    await machine.closeFile(handle);
  } finally {
    await source.close();
  }
}
