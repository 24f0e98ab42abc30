/** The keys under which secrets are stored, for an admin that was given none. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedPostgresError, fileFailure } from './failure.ts';
import { hasCode, keyFileOf, replaceKeyFile } from './key-file.ts';

/** Length of a key, in bytes: AES-256. */
const KEY_BYTES = 32;

/** Former keys that are kept at once, as ENCRYPTION_KEYS_OLD takes them. */
const FORMER_KEYS_MAX = 4;

/** Files of DATA_DIR: the key, and former ones, one a line. */
export const KEY_FILE = 'encryption.key';
const FORMER_FILE = 'encryption-old.keys';

/**
 * The 32 bytes of DATA_DIR/encryption.key, made at random at the first call. Refuses a file that holds anything else:
 * what it sealed would be lost by a new key.
 */
export function encryptionKeyIn(dataDir: string): Uint8Array {
  const file = join(dataDir, KEY_FILE);
  try {
    return keyOf(
      keyFileOf(file, () => randomBytes(KEY_BYTES).toString('base64')),
      file,
      'bring back the file that belongs to this data, or set ENCRYPTION_KEY',
    );
  } catch (error) {
    throw error instanceof EmbeddedPostgresError ? error : fileFailure(error, dataDir);
  }
}

/** Paths of those of these files that are there: all of them belong to a backup. */
export function keyFilesIn(dataDir: string): readonly string[] {
  return [KEY_FILE, FORMER_FILE].map((name) => join(dataDir, name)).filter((path) => existsSync(path));
}

/** That key, and the former ones of DATA_DIR/encryption-old.keys while it is rotated. */
export function encryptionKeysIn(dataDir: string): {
  readonly key: Uint8Array;
  readonly former: readonly Uint8Array[];
} {
  const key = encryptionKeyIn(dataDir);
  // of a rotation that was cut off, the key that is to be replaced stands in both
  return { key, former: formerIn(dataDir).filter((one) => Buffer.compare(one, key) !== 0) };
}

/**
 * Makes another key in DATA_DIR, and keeps the former one beside it: the next start of the admin changes to it.
 * Whatever it is cut off by, both files are whole, and no key is lost. Answers what to tell the operator. Throws an
 * EmbeddedPostgresError, where nothing was changed.
 */
export function rotateEncryptionKeyIn(dataDir: string): string {
  const [file, formerFile] = [join(dataDir, KEY_FILE), join(dataDir, FORMER_FILE)];
  try {
    readFileSync(file); // a directory without one is no admin's
    const { key, former } = encryptionKeysIn(dataDir);
    if (former.length >= FORMER_KEYS_MAX)
      throw new EmbeddedPostgresError(
        'other',
        `${formerFile} holds ${former.length} keys: remove those of which the log of the admin said that they are not needed any more.`,
      );
    const lines = [key, ...former].map((one) => `${Buffer.from(one).toString('base64')}\n`);
    replaceKeyFile(formerFile, lines.join(''), file);
    replaceKeyFile(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`, file);
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    throw hasCode(error, 'ENOENT')
      ? new EmbeddedPostgresError('other', `${file} is not there: set DATA_DIR as the admin has it.`)
      : fileFailure(error, dataDir);
  }
  return `${file} holds a new key, and ${formerFile} the former one. Start the admin again: it seals all secrets anew, and its log says when the former key is not needed any more.`;
}

function formerIn(dataDir: string): readonly Uint8Array[] {
  const file = join(dataDir, FORMER_FILE);
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines
      .filter((line) => line.trim() !== '')
      .map((line) => keyOf(line.trim(), file, 'bring back what stood there, or remove it if the log said so'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error instanceof EmbeddedPostgresError ? error : fileFailure(error, dataDir);
  }
}

function keyOf(text: string, file: string, help: string): Uint8Array {
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new EmbeddedPostgresError('other', `${file} holds no key of ${KEY_BYTES} bytes in base64: ${help}.`);
}
