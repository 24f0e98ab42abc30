/**
 * Host keys of nodes as the service tells them, in files that ssh reads: one a node, made anew whenever it is reached.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownFile, type Environment } from '../service/contexts.ts';
import { tell } from '../output/output.ts';
import { Problem } from '../problem.ts';
import { checkedHostName, SSH_PORT } from './host-names.ts';

/** A line of OpenSSH without a comment: what agents have. Source: RFC 8709, 4. */
const HOST_KEY = /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[\d+/A-Za-z]{43}$/u;

/** Where they are. */
export function hostKeysDirectory(env: Environment): string {
  return ownFile('host_keys', env);
}

/**
 * The key, as the service said it; null: it says none. Throws a Problem for what is no key: it could hold lines of a
 * file of ssh.
 */
export function checkedHostKey(key: unknown): string | null {
  if (key === null || key === undefined) return null;
  if (typeof key === 'string' && HOST_KEY.test(key)) return key;
  throw new Problem('the service says a host key that is none: nothing was written or started');
}

/** What a node is called where its key is wanted, and its key; null: the service knows none. */
export interface KnownHost {
  /** For people. */
  readonly name: string;
  readonly ownHost: string;
  readonly hostKey: string | null;
}

/**
 * Keeps the key of a node in a file for `edge ssh`, which calls it by the host name that is its own. Answers the file;
 * null: there is no key, so that the first use is trusted. A key that is another one than before is told.
 */
export function keepHostKey(host: KnownHost, env: Environment, say = tell): string | null {
  return keep({ fileName: host.ownHost, called: host.ownHost }, host, env, say);
}

/** The same for plain ssh, by the configuration of `edge ssh-config`, which calls the node as it was called. */
export function keepCalledHostKey(called: string, host: KnownHost, env: Environment): void {
  const checked = checkedHostName(called);
  keep({ fileName: `${checked}.${SSH_PORT}`, called: `[${checked}]:${SSH_PORT}` }, host, env, tell);
}

/** The fingerprint of a key, as ssh-keygen -l shows it. */
export function hostKeyFingerprint(key: string): string {
  const blob = Buffer.from(key.split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/u, '')}`;
}

function keep(
  { fileName, called }: { readonly fileName: string; readonly called: string },
  { name, hostKey }: KnownHost,
  env: Environment,
  say: (line: string) => void,
): string | null {
  const file = join(hostKeysDirectory(env), fileName);
  try {
    const before = keyIn(file);
    if (hostKey === null) {
      if (before !== null) rmSync(file, { force: true });
      return null;
    }
    if (before === hostKey) return file;
    write(file, `${called} ${hostKey}\n`);
    if (before !== null)
      say(
        `the host key of ${name} is another one than before, as the service says: ${hostKeyFingerprint(hostKey)}, and no longer ${hostKeyFingerprint(before)}`,
      );
    return file;
  } catch (error) {
    say(
      `the host key of ${name} cannot be kept in ${file} (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): ssh decides by what it saw first`,
    );
    return null;
  }
}

/** The key that stands there; null: none. */
function keyIn(file: string): string | null {
  try {
    const [, ...key] = readFileSync(file, 'utf8').trim().split(' ');
    return key.join(' ');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** At once and whole: others read it at the same time. */
function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, text, { mode: 0o600 });
  renameSync(beside, file);
}
