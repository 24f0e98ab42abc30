/**
 * Keys that sign releases: Ed25519, PKCS 8 in PEM, one file each, with a passphrase or without. They belong on a
 * machine that is no admin.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, createHash, sign, type KeyObject } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Key, Signature } from '@tufjs/models';
import { EXIT, Problem } from '../problem.ts';

/**
 * What a key is for. The roots say which keys sign; `release` says what a release is and where channels point;
 * `timestamp` only says that this is still so, and can lie where a timer may use it.
 */
export const KEY_ROLES = ['root', 'release', 'timestamp'] as const;
/** One of them. */
export type KeyRole = (typeof KEY_ROLES)[number];

/** Root keys of one repository. */
export const ROOT_KEYS_MAX = 16;

/** One key that can sign. */
export interface SigningKey {
  readonly role: KeyRole;
  readonly file: string;
  /** As metadata names it. */
  readonly key: Key;
  sign(bytes: Buffer): Signature;
}

/** How many root keys there are to be, and how many of them must sign together. */
export interface KeyPlan {
  readonly rootKeys: number;
  readonly threshold: number;
  /** Null: the files are not encrypted. */
  readonly passphrase: string | null;
}

const FILE_NAME = /^(?<role>root|release|timestamp)(?:-[\w-]{1,32})?\.pem$/u;

/**
 * Makes the keys that a directory lacks, each file with mode 0600. Answers the names of the new files. Never replaces
 * a key.
 */
export function makeKeys(directory: string, { rootKeys, passphrase }: Omit<KeyPlan, 'threshold'>): readonly string[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const there = readdirSync(directory);
  const roots = rootKeys === 1 ? ['root.pem'] : Array.from({ length: rootKeys }, (_, index) => `root-${index + 1}.pem`);
  const hasRole = (role: KeyRole) => there.some((file) => FILE_NAME.exec(file)?.groups?.['role'] === role);
  const wanted = [
    ...(hasRole('root') ? [] : roots),
    ...(hasRole('release') ? [] : ['release.pem']),
    ...(hasRole('timestamp') ? [] : ['timestamp.pem']),
  ];
  for (const file of wanted) generateKey(directory, file).save(passphrase);
  return wanted;
}

/** A key that is not in its file yet. */
export interface NewKey extends SigningKey {
  /** Writes the file; a passphrase of null leaves it plain. Refuses one that is there. */
  save(passphrase: string | null): void;
}

/** One more key, under a name such as `release-2.pem`. */
export function generateKey(directory: string, file: string): NewKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const path = join(directory, file);
  return {
    ...signingKey(path, roleOf(file), privateKey),
    save: (passphrase) => writeKey(path, privateKey, passphrase),
  };
}

function writeKey(path: string, privateKey: KeyObject, passphrase: string | null): void {
  const pem = privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    ...(passphrase !== null && { cipher: 'aes-256-cbc', passphrase }),
  });
  try {
    writeFileSync(path, pem, { mode: 0o600, flag: 'wx', flush: true }); // a root that names it is on the disk
  } catch (error) {
    throw new Problem(
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} is there already, and a key is never replaced: give another name`
        : `${path} cannot be written: ${(error as Error).message}`,
    );
  }
}

/**
 * The keys of a directory, which may hold some of them only: the root keys need not lie where releases are signed.
 * `passphrase` is asked for once, when a file is encrypted. Throws a Problem for a directory without keys and for a
 * file that is no key.
 */
export async function readKeys(directory: string, passphrase: () => Promise<string>): Promise<readonly SigningKey[]> {
  const files = keyFiles(directory);
  if (files.length === 0)
    throw new Problem(
      `${directory} has no keys (${KEY_ROLES.map((role) => `${role}*.pem`).join(', ')}): edge release keygen makes them`,
      EXIT.notFound,
    );
  let given: string | null = null;
  const keys: SigningKey[] = [];
  for (const file of files) {
    const path = join(directory, file);
    const pem = readFileSync(path, 'utf8');
    if (pem.includes('ENCRYPTED')) given ??= await passphrase();
    keys.push(signingKey(path, roleOf(file), privateKeyIn(path, pem, given)));
  }
  return keys;
}

function keyFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => FILE_NAME.test(file))
      .toSorted();
  } catch (error) {
    throw new Problem(
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? `there is no directory ${directory} with keys: edge release keygen makes one, and --keys names another`
        : `the keys in ${directory} cannot be read: ${(error as Error).message}`,
      EXIT.notFound,
    );
  }
}

function roleOf(file: string): KeyRole {
  return (FILE_NAME.exec(file)?.groups?.['role'] ?? 'release') as KeyRole;
}

function privateKeyIn(path: string, pem: string, passphrase: string | null): KeyObject {
  let key;
  try {
    key = createPrivateKey({ key: pem, ...(passphrase !== null && { passphrase }) });
  } catch {
    throw new Problem(
      pem.includes('ENCRYPTED') ? `the passphrase does not open ${path}` : `${path} is no private key in PEM`,
    );
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Problem(`${path} is no Ed25519 key: edge release keygen makes them`);
  return key;
}

/** A private key with its name in metadata. */
export function signingKey(file: string, role: KeyRole, privateKey: KeyObject): SigningKey {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const key = publicKeyOf(Buffer.from(x, 'base64url').toString('hex'));
  return {
    role,
    file,
    key,
    sign: (bytes) => new Signature({ keyID: key.keyID, sig: sign(null, bytes, privateKey).toString('hex') }),
  };
}

/** The id of a key is the SHA-256 of its canonical JSON. Source: TUF specification, 4.2. */
function publicKeyOf(hex: string): Key {
  const canonical = JSON.stringify({ keytype: 'ed25519', keyval: { public: hex }, scheme: 'ed25519' });
  return new Key({
    keyID: createHash('sha256').update(canonical).digest('hex'),
    keyType: 'ed25519',
    scheme: 'ed25519',
    keyVal: { public: hex },
  });
}
