/** The key by which clients know this machine again: made once, kept for ever. */
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';
import { fingerprintOf } from '../../../transport/protocol/ssh.ts';
import { writeDurably } from '../../durable-file.ts';
import { systemProblem } from '../../problem.ts';

/** New keys tried: that so many begin with a zero byte does not happen. */
const HOST_KEY_TRIES_MAX = 16;

/** What a key has to sign before it is used. */
const SIGNED = Buffer.from('a host key');

/** A usable key, or why there is none, in one sentence. */
export type HostKey =
  | {
      readonly ok: true;
      readonly privateKey: string;
      /** A line of OpenSSH without a comment. */
      readonly publicKey: string;
      readonly fingerprint: string;
    }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads the key at `path`, or makes it (Ed25519, in OpenSSH's format, 0600) when nothing is there. A damaged one is
 * left as it is: with a new key every client would be told of an attack, so a person has to decide.
 */
export function openHostKey(path: string): HostKey {
  let stored: string;
  try {
    stored = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      return refused(path, `cannot be read: ${systemProblem(error)}`);
    try {
      stored = createHostKey();
      writeDurably(path, stored);
    } catch (failure) {
      return refused(path, `cannot be stored: ${systemProblem(failure)}`);
    }
  }
  const parsed = hostKeyIn(stored);
  if (parsed === null) {
    return refused(
      path,
      'is damaged: restore it, or remove it so that a new one is made, of which every client will warn',
    );
  }
  const blob = parsed.getPublicSSH();
  const publicKey = `${parsed.type} ${blob.toString('base64')}`;
  return { ok: true, privateKey: stored, publicKey, fingerprint: fingerprintOf(blob) };
}

/** The public half of the key at `path`, which is made when nothing is there; null where there can be none. */
export function publicHostKey(path: string): string | null {
  const key = openHostKey(path);
  return key.ok ? key.publicKey : null;
}

/**
 * A new key. ssh2 1.17.0 strips zero bytes that a public key begins with, so that one of 256 has a byte too few and
 * nobody can read it: such a one is thrown away.
 */
export function createHostKey(): string {
  for (let tries = 0; tries < HOST_KEY_TRIES_MAX; tries += 1) {
    const { private: key } = ssh2.utils.generateKeyPairSync('ed25519');
    if (hostKeyIn(key) !== null) return key;
  }
  throw new Error(`${HOST_KEY_TRIES_MAX} keys in turn were unusable`);
}

/** Null: it is none, or its halves do not belong together, with which no client would get in. */
function hostKeyIn(text: string): ssh2.ParsedKey | null {
  try {
    // of some damage ssh2 makes neither a key nor an error
    const parsed = ssh2.utils.parseKey(text) as ReturnType<typeof ssh2.utils.parseKey> | undefined;
    if (parsed === undefined || parsed instanceof Error) return null;
    return parsed.type === 'ssh-ed25519' && parsed.isPrivateKey() && isWhole(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Whether what the private half signs is what the public half knows. */
function isWhole(key: ssh2.ParsedKey): boolean {
  const signature = key.sign(SIGNED) as Buffer | Error;
  if (signature instanceof Error) return false;
  const isVerified: unknown = key.verify(SIGNED, signature); // or an error, whatever the types say
  return isVerified === true;
}

function refused(path: string, what: string): HostKey {
  return { ok: false, problem: `the SSH host key ${path} ${what}` };
}
