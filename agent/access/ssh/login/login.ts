/**
 * The login of one connection. Nothing is decided here but the signature: who may come in, the admin says, every time
 * anew.
 */
import ssh2 from 'ssh2';
import type { AuthContext, AuthenticationType, Connection, PublicKeyAuthContext } from 'ssh2';
import {
  SSH_KEY_CHARS_MAX,
  SSH_PASSWORD_CHARS_MAX,
  SSH_USERNAME_CHARS_MAX,
} from '../../../../transport/protocol/limits.ts';
import type { SshCredential, SshGrant, SshVerdict } from '../../../../transport/protocol/ssh.ts';
import type { Log } from '../../../../transport/net/log.ts';
import type { Account, AccountOf } from './accounts.ts';
import { KEY_TYPES, RSA_HASHES } from './algorithms.ts';
import { DISCONNECT, disconnect, isOpen, isTold } from '../library.ts';

/** What may be tried. */
const METHODS: AuthenticationType[] = ['publickey', 'password'];

/** Questions for the methods that one connection may ask. A client asks once. */
const QUESTIONS_MAX = 3;

/**
 * Asks the admin about a login. Null: no admin could be asked in time, which is a no that nobody remembers (never a
 * cached yes). Never rejects.
 */
export type VerifySsh = (username: string, credential: SshCredential) => Promise<SshVerdict | null>;

/** What a login needs. */
export interface LoginOptions {
  readonly client: Connection;
  readonly log: Log;
  readonly verify: VerifySsh;
  readonly triesMax: number;
  /** A password or a signature was shown, and is judged. */
  readonly counted: () => void;
  /** A password or a signature was wrong: how long the answer has to wait, in ms. */
  readonly failed: () => number;
  /**
   * Whom this user becomes. Rejects with one sentence when that is nobody: then he does not get in, whatever the admin
   * says.
   */
  readonly accountOf: AccountOf;
  /** The admin said yes. Takes the connection in; or one sentence why it cannot be, which is told to the client. */
  readonly accepted: (username: string, account: Account, grant: SshGrant, ended: ReadonlySet<string>) => string | null;
  /** Called with each attempt that is under way: ids that end meanwhile are put into the set. The answer stops that. */
  readonly watchEnds: (ended: Set<string>) => () => void;
}

/** Answers every attempt of a client to log in. */
export function answerLogins(options: LoginOptions): void {
  let tries = 0;
  let questions = 0;
  options.client.on('authentication', (context) => {
    if (context.method === 'none') {
      if (++questions > QUESTIONS_MAX) return tooMany(options.client);
      return context.reject(METHODS);
    }
    tries += 1;
    const isLast = tries >= options.triesMax;
    void answer(options, context, isLast).catch(() => tooMany(options.client)); // the connection went away under it
  });
}

async function answer(options: LoginOptions, context: AuthContext, isLast: boolean): Promise<void> {
  const { client } = options;
  const ended = new Set<string>();
  const unwatch = options.watchEnds(ended);
  const { isUnanswered, grant, account } = await judged(options, context).finally(unwatch);
  if (isTry(context)) options.counted();
  const isWrong = isTry(context) && grant === null && !isUnanswered;
  const delayMs = isWrong ? options.failed() : 0; // also of who went away before the answer
  if (!isOpen(client)) return;
  if (grant !== null) {
    if (typeof account === 'string') return refused(options, context.username, account);
    const problem = account === null ? null : options.accepted(context.username, account, grant, ended);
    if (problem === null) return context.accept();
    return disconnect(client, DISCONNECT.tooManyConnections, problem);
  }
  if (delayMs > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, delayMs);
    });
  if (!isOpen(client)) return;
  if (isLast) tooMany(client);
  else context.reject(METHODS);
}

/** What the admin said, and whom this user becomes. Who shows nothing that could be right is not asked about. */
async function judged({ verify, accountOf }: LoginOptions, context: AuthContext) {
  const credential = credentialOf(context);
  const isAsked = isTold(context.username) && context.username.length <= SSH_USERNAME_CHARS_MAX;
  const verdict = credential === null || !isAsked ? null : await verify(context.username, credential);
  const isWrong = credential?.method === 'public_key' && credential.signature === 'wrong';
  const grant = verdict?.accepted === true && !isWrong ? verdict.grant : null;
  const account =
    grant !== null && isTry(context)
      ? await accountOf(context.username).catch((error: unknown) => (error as Error).message)
      : null; // asked only now: it tells an unknown user nothing
  const isUnanswered = credential !== null && verdict === null; // nobody said that it was wrong
  return { isUnanswered, grant, account };
}

/**
 * Whether a password or a signature was shown. A client that offers a key of any kind only asks whether it would do,
 * and one that names another method shows nothing that could let it in.
 */
function isTry(context: AuthContext): boolean {
  return context.method === 'password' || (context.method === 'publickey' && context.signature !== undefined);
}

/**
 * What a client shows, or null when it is nothing that could ever be right. The signature of a key is verified here
 * (E6).
 */
function credentialOf(context: AuthContext): SshCredential | null {
  if (context.method === 'password') {
    const password: unknown = context.password; // an object when it is to be changed, which is not done here
    return typeof password === 'string' && password.length <= SSH_PASSWORD_CHARS_MAX
      ? { method: 'password', password }
      : null;
  }
  if (context.method !== 'publickey' || !isKeyUsable(context)) return null;
  const blob = context.key.data.toString('base64');
  return blob.length <= SSH_KEY_CHARS_MAX ? { method: 'public_key', blob, signature: signatureOf(context) } : null;
}

function isKeyUsable({ key, hashAlgo }: PublicKeyAuthContext): boolean {
  return (
    KEY_TYPES.includes(key.algo) &&
    (key.algo !== 'ssh-rsa' || (hashAlgo !== undefined && RSA_HASHES.includes(hashAlgo)))
  );
}

function signatureOf({ key, signature, blob, hashAlgo }: PublicKeyAuthContext): 'none' | 'verified' | 'wrong' {
  if (signature === undefined) return 'none';
  const parsed = ssh2.utils.parseKey(`${key.algo} ${key.data.toString('base64')}`);
  if (parsed instanceof Error || blob === undefined || !parsed.getPublicSSH().equals(key.data)) return 'wrong';
  // an Error for a signature that is none
  const isVerified = parsed.verify(blob, signature, hashAlgo) as boolean | Error;
  return isVerified === true ? 'verified' : 'wrong';
}

function refused({ client, log }: LoginOptions, username: string, problem: string): void {
  log.warn({ username, problem }, 'An SSH user was refused');
  disconnect(client, DISCONNECT.byApplication, problem);
}

function tooMany(client: Connection): void {
  disconnect(client, DISCONNECT.noMoreAuthMethods, 'Too many authentication failures');
}
