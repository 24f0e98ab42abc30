/** Files of a release, fetched so that an interrupted fetch goes on where it was, from any mirror. */
import { createReadStream, mkdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { StatusProblem, stream, type MirrorOptions } from './mirror.ts';
import { inTurn, isBusy, whileBusy, type Waiting } from './mirror-retry.ts';
import { reasonOf, UpdateProblem } from './problem.ts';
import { fileTarget, RELEASES_TARGETS_PATH, type ReleaseFile } from '../../transport/protocol/releases.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Trusted } from './trust.ts';

/** A mirror whose connection breaks is asked to go on so often. */
export const BROKEN_TRIES_MAX = 5;

/** What a download needs. */
export interface DownloadOptions extends MirrorOptions, Waiting {
  readonly downloads: string;
  readonly log: Log;
}

/** Where the packed file of a release is while it is not unpacked. */
export function partOf(downloads: string, file: ReleaseFile): string {
  return join(downloads, `${file.packed_sha256}.part`);
}

/** Bytes of it that are here already. */
export function bytesHere(downloads: string, file: ReleaseFile): number {
  return sizeOf(partOf(downloads, file));
}

/**
 * Has the packed file here whole and as it was signed. Mirrors are asked in turn; what one sent is gone on with at the
 * next, and thrown away when it turns out to be something else. Rejects with what each of them did wrong.
 */
export async function download(
  file: ReleaseFile,
  mirrors: readonly Trusted[],
  options: DownloadOptions,
): Promise<void> {
  mkdirSync(options.downloads, { recursive: true, mode: 0o700 });
  const part = partOf(options.downloads, file);
  if (await isWhole(part, file)) return;
  try {
    await inTurn(mirrors, (mirror) => fromMirror(file, mirror, part, options), options);
  } catch (error) {
    if (!(error instanceof UpdateProblem) || options.signal.aborted) throw error;
    throw new UpdateProblem(`${file.name} could not be fetched: ${error.message}`, { cause: error });
  }
}

/** Unpacks the packed file to `path`, whole, synced and with the hash that was signed; its directory is not synced. */
export async function unpack(
  file: ReleaseFile,
  { downloads }: { readonly downloads: string },
  path: string,
  mode: number,
): Promise<void> {
  const temporary = `${path}.new`;
  const handle = await open(temporary, 'w', mode);
  const sum = createHash('sha256');
  let bytes = 0;
  try {
    const packed = createReadStream(partOf(downloads, file));
    const unpacked = packed.pipe(createGunzip());
    packed.on('error', (error) => unpacked.destroy(error));
    for await (const piece of unpacked as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > file.bytes)
        throw new UpdateProblem(`${file.name} unpacks to more than the ${file.bytes} bytes it should`);
      sum.update(piece);
      for (let rest = piece; rest.length > 0;) rest = rest.subarray((await handle.write(rest)).bytesWritten);
    }
    if (bytes !== file.bytes || sum.digest('hex') !== file.sha256)
      throw new UpdateProblem(`${file.name} does not unpack to what was signed`);
    await handle.sync();
  } catch (error) {
    rmSync(temporary, { force: true });
    throw zlibProblem(file, error);
  } finally {
    await handle.close();
  }
  renameSync(temporary, path);
}

/** The SHA-256 of a file, in hex; null where it cannot be read. */
export async function sha256Of(path: string): Promise<string | null> {
  const sum = createHash('sha256');
  try {
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) sum.update(piece);
    return sum.digest('hex');
  } catch {
    return null;
  }
}

async function fromMirror(file: ReleaseFile, mirror: Trusted, part: string, options: DownloadOptions): Promise<void> {
  const path = await signedPath(file, mirror);
  const url = `${mirror.mirror}${RELEASES_TARGETS_PATH}${path}`;
  let broken = 0;
  for (;;) {
    const from = sizeOf(part);
    try {
      if (from < file.packed_bytes) await whileBusy(() => append(url, file, part, from, options), options);
      if (await isWhole(part, file)) return;
      rmSync(part, { force: true });
      // What was here before may be at fault: once more, and all of it from here.
      if (from === 0) throw new UpdateProblem(`${url} is not what was signed`);
    } catch (error) {
      if (options.signal.aborted || isBusy(error)) throw error;
      if (error instanceof StatusProblem && error.status === 416 && from > 0) rmSync(part, { force: true });
      // It goes on where the connection broke, as long as it comes forward.
      else if (!isBroken(error) || sizeOf(part) === from || ++broken >= BROKEN_TRIES_MAX) throw error;
    }
  }
}

/** The path under which the file is signed, and that what is signed is what the release names. */
async function signedPath(file: ReleaseFile, trusted: Trusted): Promise<string> {
  const path = fileTarget(file.sha256);
  const { mirror } = trusted;
  const signed = await trusted.target(path);
  if (signed === null)
    throw new UpdateProblem(`${mirror}: nobody signed ${path}, which the release names as ${file.name}`);
  if (signed.length !== file.packed_bytes || signed.hashes['sha256'] !== file.packed_sha256)
    throw new UpdateProblem(`${mirror}: ${path} is signed as another file than the release names`);
  return path;
}

async function append(
  url: string,
  file: ReleaseFile,
  part: string,
  from: number,
  options: DownloadOptions,
): Promise<void> {
  const handle = await open(part, 'a', 0o600);
  try {
    await stream(
      url,
      {
        ...options,
        from,
        bytesMax: file.packed_bytes, // more than what is missing only from a server that sends it all again
        began: (begin) => {
          if (begin === 0 && from > 0) truncateSync(part, 0);
        },
      },
      async (piece) => {
        for (let rest = piece; rest.length > 0;) rest = rest.subarray((await handle.write(rest)).bytesWritten);
      },
    );
  } finally {
    await handle.close();
  }
}

async function isWhole(part: string, file: ReleaseFile): Promise<boolean> {
  return sizeOf(part) === file.packed_bytes && (await sha256Of(part)) === file.packed_sha256;
}

function isBroken(error: unknown): boolean {
  return error instanceof UpdateProblem && error.cause !== undefined;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function zlibProblem(file: ReleaseFile, error: unknown): Error {
  const isZlib = ((error as NodeJS.ErrnoException).code ?? '').startsWith('Z_');
  return isZlib
    ? new UpdateProblem(`${file.name} does not unpack: ${reasonOf(error)}`, { cause: error })
    : (error as Error);
}
