/** Who logs in to machines, and with which keys: those of the ssh-agent, and of the files that ssh looks at. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import ssh2, { type AgentAuthMethod, type PublicKeyAuthMethod } from 'ssh2';
import { nonEmpty, type Environment } from '../service/contexts.ts';
import { hiddenLine } from '../hidden-line.ts';
import { EXIT, Problem } from '../problem.ts';

/** Keys that ssh takes when none is named, in its order, as far as they are of a kind that is read here. */
const USUAL_FILES = ['id_rsa', 'id_ecdsa', 'id_ed25519'] as const;

/** A machine refuses who tries more. Source: sshd's MaxAuthTries, less one for the ssh-agent. */
const KEY_FILES_MAX = 5;

/** What a login is made with. */
export interface Login {
  readonly username: string;
  readonly methods: (AgentAuthMethod | PublicKeyAuthMethod)[];
}

/** What was said of it. */
export interface LoginFlags {
  readonly user?: string;
  readonly identity?: readonly string[];
}

/**
 * The login of this call. A key that is named must be usable, and is asked for its passphrase at a terminal; of the
 * usual ones those are left out that are not. Rejects with a Problem when none is left.
 */
export async function loginOf({ user, identity }: LoginFlags, env: Environment): Promise<Login> {
  const username = user ?? userInfo().username;
  if (identity !== undefined) {
    if (identity.length > KEY_FILES_MAX)
      throw new Problem(`at most ${KEY_FILES_MAX} keys can be tried: name fewer with -i`, EXIT.usage);
    const methods: PublicKeyAuthMethod[] = [];
    for (const file of identity) methods.push({ type: 'publickey', username, key: await namedKey(file) });
    return { username, methods };
  }
  const agent = nonEmpty(env['SSH_AUTH_SOCK']);
  const files = USUAL_FILES.map((name) => join(homedir(), '.ssh', name)).filter((file) => existsSync(file));
  const read = files.map((file) => readKey(file));
  const methods = [
    ...(agent !== undefined && existsSync(agent) ? [{ type: 'agent' as const, username, agent }] : []),
    ...read.flatMap((one) => (one.ok ? [{ type: 'publickey' as const, username, key: one.key }] : [])),
  ];
  const unusable = read.find((one) => !one.ok);
  if (methods.length === 0)
    throw new Problem(
      unusable?.problem ?? 'there is no key to log in with: name one with -i, or ssh-keygen -t ed25519 makes one',
      EXIT.usage,
    );
  return { username, methods };
}

async function namedKey(file: string): Promise<ssh2.ParsedKey> {
  const read = readKey(file);
  if (read.ok) return read.key;
  if (!read.isLocked || !process.stdin.isTTY) throw new Problem(read.problem, EXIT.usage);
  const unlocked = readKey(file, await hiddenLine(`Passphrase of ${file}: `, 'passphrase'));
  if (!unlocked.ok) throw new Problem(`this is not the passphrase of ${file}`, EXIT.usage);
  return unlocked.key;
}

/** A key, or why there is none, and whether that is a passphrase. */
type KeyRead =
  | { readonly ok: true; readonly key: ssh2.ParsedKey; readonly problem?: never }
  | { readonly ok: false; readonly problem: string; readonly isLocked: boolean };

function readKey(file: string, passphrase?: string): KeyRead {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const problem = code === 'ENOENT' ? `there is no key ${file}` : `the key ${file} cannot be read (${code})`;
    return { ok: false, problem: `${problem}: ssh-keygen -t ed25519 makes one`, isLocked: false };
  }
  const parsed = ssh2.utils.parseKey(text, passphrase);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  if (key !== undefined && !(key instanceof Error) && key.isPrivateKey()) return { ok: true, key };
  const isLocked = key instanceof Error && /encrypted/iu.test(key.message);
  const problem = isLocked
    ? `the key ${file} has a passphrase: ssh-add ${file} unlocks it for all that follows`
    : `${file} is no private key that can be used here`;
  return { ok: false, problem, isLocked };
}
