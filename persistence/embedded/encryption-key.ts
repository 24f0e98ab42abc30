/** The key under which secrets are stored, for an admin that was given none. */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgresError, fileFailure } from './failure.ts';

/** Length of the key, in bytes: AES-256. */
const KEY_BYTES = 32;

/**
 * The 32 bytes of DATA_DIR/encryption.key, made at random and synced at the first call. The file appears whole or not
 * at all, and only its owner can read it. Refuses a file that holds anything else: what it sealed would be lost by a
 * new key.
 */
export async function encryptionKeyIn(dataDir: string): Promise<Uint8Array> {
  const file = join(dataDir, 'encryption.key');
  try {
    return keyOf(file, (await readFile(file, 'utf8').catch(notThere)) ?? (await make(file)));
  } catch (error) {
    throw fileFailure(error, dataDir);
  }
}

function keyOf(file: string, text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new EmbeddedPostgresError(
    'other',
    `${file} holds no key of ${KEY_BYTES} bytes in base64: bring back the file that belongs to this data, or set ENCRYPTION_KEY.`,
  );
}

async function make(file: string): Promise<string> {
  const unfinished = `${file}.new-${randomBytes(6).toString('hex')}`;
  const handle = await open(unfinished, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(KEY_BYTES).toString('base64')}\n`);
    await handle.sync();
    await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // else another start was faster, and its key counts
    });
  } finally {
    await handle.close();
    await rm(unfinished, { force: true });
  }
  return readFile(file, 'utf8');
}

/** A file that is not there reads as undefined; any other trouble stays an error. */
function notThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
