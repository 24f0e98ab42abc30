/** Who a user of the fleet becomes on this machine. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { ACCOUNT_MS_MAX } from './limits.ts';

/** An account of this machine. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
  /** Another than the agent's own: processes have to become it. */
  readonly isOther: boolean;
}

/** A user's account. */
export type AccountOf = (username: string) => Promise<Account>;

/** Names that an account may be looked up by: nothing that a program could take for an option. Source: contract.md, SSH usernames. */
const ACCOUNT_NAME = /^[a-z_][a-z0-9_-]*$/u;

/** Source: shells of accounts that have none, as sshd does it. */
const DEFAULT_SHELL = '/bin/sh';

/** What becomes of users who are no account of the machine of an agent that runs as root. */
export type StrangerRule = 'agent' | 'refuse';

/**
 * A user whose name is an account of this machine gets that account when the agent runs as root. Everybody else gets the agent's own,
 * unless strangers are refused: name services that are away say of their users, too, that there are none. Rejects then, and when the
 * accounts cannot be asked: nobody must become root because of that.
 */
export function accountsOfMachine(strangers: StrangerRule = 'agent'): AccountOf {
  const own = ownAccount();
  return async (username) => {
    if (own.uid !== 0 || username === own.name || !ACCOUNT_NAME.test(username)) return own;
    const line = await lineOf(username);
    if (line !== null) return accountIn(line, own);
    if (strangers === 'refuse') throw new Error(`this machine has no account ${username}`);
    return own;
  };
}

/** One line of passwd(5), or null when there is no such account. The file is asked first: it answers without a process. */
async function lineOf(username: string): Promise<string | null> {
  const file = await readFile('/etc/passwd', 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''; // all accounts are elsewhere
    throw new Error('the accounts of this machine cannot be read', { cause: error });
  });
  return file.split('\n').find((line) => line.startsWith(`${username}:`)) ?? await asked(username);
}

/** What the name services say (LDAP, systemd-homed and others). */
async function asked(username: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execFile('getent', ['passwd', username], { timeout: ACCOUNT_MS_MAX, cwd: '/' }, (error, stdout) => {
      const code = (error as { code?: unknown } | null)?.code;
      if (error === null) resolve(stdout.trim());
      else if (code === 2 || code === 'ENOENT') resolve(null); // getent: no such key; or a system without name services
      else reject(new Error('the accounts of this machine cannot be asked', { cause: error }));
    });
  });
}

function accountIn(line: string, own: Account): Account {
  const [name = '', , uid = '', gid = '', , home = '', shell = ''] = line.split(':');
  if (!/^\d+$/u.test(uid) || !/^\d+$/u.test(gid)) throw new Error(`the account ${name} of this machine is damaged`);
  return { name, uid: Number(uid), gid: Number(gid), home: home || '/', shell: shell || DEFAULT_SHELL, isOther: Number(uid) !== own.uid || name !== own.name };
}

function ownAccount(): Account {
  const { uid, gid, username, homedir, shell } = userInfo();
  return { name: username, uid, gid, home: homedir || '/', shell: shell ?? DEFAULT_SHELL, isOther: false };
}
