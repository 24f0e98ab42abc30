/**
 * Files of a release as they are downloaded: gzip without a time or a name in it, so that the same file is the same
 * bytes.
 */
import { mkdirSync, renameSync, createReadStream, createWriteStream, existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  fileTarget,
  RELEASE_FILE_BYTES_MAX,
  type ReleaseFile,
  type ReleaseFileName,
} from '../../transport/protocol/releases.ts';
import { Problem } from '../problem.ts';
import { hashOf, type Repository } from './repository.ts';

/** Of zlib: the last level costs twice the time of the default one and takes one percent off Node's runtime. */
const GZIP_LEVEL = 9;

/** Packs a file into a repository, unless it is there, and says what it is. */
export async function packFile(repository: Repository, name: ReleaseFileName, path: string): Promise<ReleaseFile> {
  const { sha256, bytes } = await hashOf(path);
  if (bytes === 0) throw new Problem(`${path} is empty`);
  if (bytes > RELEASE_FILE_BYTES_MAX)
    throw new Problem(`${path} has ${bytes} bytes, and a file of a release may have ${RELEASE_FILE_BYTES_MAX}`);
  const packed = repository.pathOf(fileTarget(sha256));
  if (!existsSync(packed)) await pack(path, packed);
  const { sha256: packedSha256, bytes: packedBytes } = await hashOf(packed);
  return { name, sha256, bytes, packed_sha256: packedSha256, packed_bytes: packedBytes };
}

/** Node writes no time into the header (RFC 1952, 2.3.1: MTIME 0), and a stream has no name. */
async function pack(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true });
  const part = `${to}.part`;
  try {
    await pipeline(createReadStream(from), createGzip({ level: GZIP_LEVEL }), createWriteStream(part, { flush: true }));
    renameSync(part, to);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
