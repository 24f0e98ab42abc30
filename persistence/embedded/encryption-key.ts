/** The key under which secrets are stored, for an admin that was given none. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { EmbeddedPostgresError, fileFailure } from './failure.ts';
import { keyFileOf } from './key-file.ts';

/** Length of the key, in bytes: AES-256. */
const KEY_BYTES = 32;

/**
 * The 32 bytes of DATA_DIR/encryption.key, made at random at the first call. Refuses a file that holds anything else:
 * what it sealed would be lost by a new key.
 */
export function encryptionKeyIn(dataDir: string): Uint8Array {
  const file = join(dataDir, 'encryption.key');
  try {
    const key = Buffer.from(
      keyFileOf(file, () => randomBytes(KEY_BYTES).toString('base64')),
      'base64',
    );
    if (key.length === KEY_BYTES) return key;
  } catch (error) {
    throw fileFailure(error, dataDir);
  }
  throw new EmbeddedPostgresError(
    'other',
    `${file} holds no key of ${KEY_BYTES} bytes in base64: bring back the file that belongs to this data, or set ENCRYPTION_KEY.`,
  );
}
