/** Layers of an image: archives that are the same bytes whenever they are made of the same files. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';

const run = promisify(execFile);

/** Whose the files of a directory are in an image, by number: nobody's in particular where it is not root. */
export interface Owner {
  readonly user: number;
  readonly group: number;
}

/** A layer that lies among the blobs of a layout. */
export interface Layer {
  /** Of the compressed bytes, as `sha256:…`. */
  readonly digest: string;
  readonly bytes: number;
  /** Of the archive before compression. */
  readonly diffId: string;
  /** What it is, for the history of the image. */
  readonly what: string;
}

/** What goes into an archive. */
export interface Archived {
  readonly directory: string;
  /** Paths in it. Directories on the way there are not in the archive, so that they stay as they are below. */
  readonly entries: readonly string[];
  readonly owner: Owner;
}

/** An archive that is the same bytes for the same files: in order, of one time (Unix, s), and of one owner. */
export async function archive({ directory, entries, owner }: Archived, file: string, timeS: number): Promise<void> {
  await run('tar', [
    '--create',
    `--file=${file}`,
    `--directory=${directory}`,
    '--sort=name',
    '--format=gnu',
    '--numeric-owner',
    `--owner=:${owner.user}`,
    `--group=:${owner.group}`,
    `--mtime=@${timeS}`,
    '--mode=u=rwX,go=rX',
    ...entries,
  ]);
}

/** Compresses an archive into the blobs of a layout; quickly for trying out. */
export async function layer(
  tarFile: string,
  { blobs, what, isQuick }: { readonly blobs: string; readonly what: string; readonly isQuick: boolean },
): Promise<Layer> {
  const [plain, compressed] = [createHash('sha256'), createHash('sha256')];
  const work = join(blobs, `.layer-${process.pid}-${what.replaceAll(/\W+/gu, '-')}`);
  await pipeline(
    createReadStream(tarFile).on('data', (piece) => plain.update(piece)),
    createGzip({ level: isQuick ? 1 : 9 }), // its header holds no time
    async function* hashed(pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        compressed.update(piece);
        yield piece;
      }
    },
    createWriteStream(work),
  );
  const hex = compressed.digest('hex');
  await rename(work, join(blobs, hex));
  const { size } = await stat(join(blobs, hex));
  return { digest: `sha256:${hex}`, bytes: size, diffId: `sha256:${plain.digest('hex')}`, what };
}
