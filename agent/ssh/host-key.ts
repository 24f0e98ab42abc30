/** The key by which clients know this machine again: made once, kept for ever. */
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';
import { fingerprintOf } from '../../transport/protocol/ssh.ts';
import { writeDurably } from '../durable-file.ts';
import { systemProblem } from '../problem.ts';

/** A usable key, or why there is none, in one sentence. */
export type HostKey =
  | { readonly ok: true; readonly privateKey: string; readonly fingerprint: string }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads the key at `path`, or makes it (Ed25519, in OpenSSH's format, 0600) when nothing is there. A damaged one is left as it is: with a new key
 * every client would be told of an attack, so a person has to decide.
 */
export function openHostKey(path: string): HostKey {
  let stored: string;
  try {
    stored = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return refused(path, `cannot be read: ${systemProblem(error)}`);
    try {
      stored = ssh2.utils.generateKeyPairSync('ed25519').private;
      writeDurably(path, stored);
    } catch (failure) {
      return refused(path, `cannot be stored: ${systemProblem(failure)}`);
    }
  }
  const parsed = ssh2.utils.parseKey(stored);
  if (parsed instanceof Error || parsed.type !== 'ssh-ed25519' || !parsed.isPrivateKey()) {
    return refused(path, 'is damaged: restore it, or remove it so that a new one is made, of which every client will warn');
  }
  return { ok: true, privateKey: stored, fingerprint: fingerprintOf(parsed.getPublicSSH()) };
}

function refused(path: string, what: string): HostKey {
  return { ok: false, problem: `the SSH host key ${path} ${what}` };
}
