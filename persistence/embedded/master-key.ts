/** The key that opens an admin with a database of its own, for one that was given none. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileFailure } from './failure.ts';
import { keyFileOf } from './key-file.ts';

/** Random bytes of a key; it is written in hex. Source: `openssl rand -hex 32`, which people are told to use. */
const KEY_BYTES = 32;

/**
 * What DATA_DIR/master.key holds, made at random at the first call. What somebody else wrote there is not judged here.
 * Throws an EmbeddedPostgresError where that directory cannot be used.
 */
export function masterKeyIn(dataDir: string): { readonly file: string; readonly key: string } {
  const directory = resolve(dataDir);
  const file = join(directory, 'master.key');
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 }); // as PostgreSQL wants it, which may be another user's
    return { file, key: keyFileOf(file, () => randomBytes(KEY_BYTES).toString('hex')) };
  } catch (error) {
    throw fileFailure(error, directory);
  }
}
