/** Who a user of the fleet becomes on this machine. */
import { readdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { execute } from '../../../../transport/net/execute.ts';

/** How long the database of accounts may take, in ms: it may be in a network. */
const ACCOUNT_MS_MAX = 5_000;

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

/**
 * Names that an account may be looked up by: nothing that a program could take for an option. Source: docs/api.md,
 * Resources.
 */
const ACCOUNT_NAME = /^[a-z_][a-z0-9_-]*$/u;

/** Source: shells of accounts that have none, as sshd does it. */
const DEFAULT_SHELL = '/bin/sh';

/** What becomes of users who are no account of the machine of an agent that runs as root: AGENT_SSH_UNKNOWN_USERS. */
export type UnknownUserRule = 'refuse' | 'agent';

/** Where a machine looks its accounts up, besides its files. Tests have their own. */
export interface NameServices {
  /** Asks all of them. The line of passwd(5), or null when they know of none. Rejects when they do not answer. */
  ask(username: string): Promise<string | null>;
  /** Those that may be away and say of their users, then, that there are none. Rejects when that cannot be told. */
  absentable(): Promise<readonly string[]>;
}

/**
 * A user whose name is an account of this machine gets that account when the agent runs as root. Nobody else gets in,
 * unless the operator wants that they get the agent's own, which is root; and not even then where a name service that
 * is away would make a known user unknown. Rejects for who is refused, and when the accounts cannot be asked:
 * nobody must become root because of that. An agent that is not root lets everybody in as itself.
 */
export function accountsOfMachine(
  unknownUsers: UnknownUserRule = 'refuse',
  services: NameServices = machineServices,
): AccountOf {
  const own = ownAccount();
  return async (username) => {
    if (own.uid !== 0 || username === own.name) return own;
    const line = ACCOUNT_NAME.test(username) ? await lineOf(username, services) : null;
    if (line !== null) return accountIn(line, own);
    if (unknownUsers === 'refuse') throw new Error(`this machine has no account ${username}`);
    const absentable = await services.absentable();
    if (absentable.length > 0)
      throw new Error(`this machine has no account ${username}, as far as ${absentable.join(' and ')} can be asked`);
    return own;
  };
}

/**
 * One line of passwd(5), or null when there is no such account. The file is asked first: it answers without a process.
 */
async function lineOf(username: string, services: NameServices): Promise<string | null> {
  const file = await readFile('/etc/passwd', 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''; // all accounts are elsewhere
    throw new Error('the accounts of this machine cannot be read', { cause: error });
  });
  return file.split('\n').find((line) => line.startsWith(`${username}:`)) ?? (await services.ask(username));
}

/** What the name services say (LDAP, systemd-homed and others). */
async function asked(username: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    execute('getent', ['passwd', username], { timeout: ACCOUNT_MS_MAX, cwd: '/' }, (error, stdout) => {
      const code = (error as { code?: unknown } | null)?.code;
      if (error === null) resolve(stdout.trim());
      else if (code === 2 || code === 'ENOENT') resolve(null); // getent: no such key; or a system without name services
      else reject(new Error('the accounts of this machine cannot be asked', { cause: error }));
    });
  });
}

/**
 * Sources of passwd(5) that are on the machine itself and so never away. Source: nsswitch.conf(5); systemd's own are
 * checked below.
 */
const LOCAL_SOURCES = new Set(['files', 'db', 'altfiles', 'extrausers', 'usrfiles', 'systemd', 'compat']);

/** What a glibc without a line for passwd asks. Source: nsswitch.conf(5). */
const SOURCES_DEFAULT = 'files';

/**
 * By what the machine is told to ask, as an answer shows nothing: glibc and getent say of a user that he is not there
 * also when who knows him is away. systemd counts where it has homes, which its service alone knows; `compat` where the
 * file sends on to NIS.
 */
async function absentableServices(): Promise<readonly string[]> {
  const configuration = await textOf('/etc/nsswitch.conf');
  const sources = (/^\s*passwd:(?<sources>[^#\n]*)/mu.exec(configuration)?.groups?.['sources'] ?? SOURCES_DEFAULT)
    .replaceAll(/\[[^\]]*\]/gu, ' ')
    .trim()
    .split(/\s+/u);
  const isForwarded = sources.includes('compat') && /^[+-]/mu.test(await textOf('/etc/passwd'));
  const hasHomes =
    sources.includes('systemd') && (await readdir('/var/lib/systemd/home').then((names) => names.length > 0, absent));
  return [
    ...sources.filter((source) => !LOCAL_SOURCES.has(source)),
    ...(isForwarded ? ['NIS'] : []),
    ...(hasHomes ? ['systemd-homed'] : []),
  ];
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    absent(error);
    return '';
  });
}

/** What is not there holds nothing; what cannot be read may. */
function absent(error: unknown): false {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
  throw new Error('how this machine looks its accounts up cannot be read', { cause: error });
}

const machineServices: NameServices = { ask: asked, absentable: absentableServices };

function accountIn(line: string, own: Account): Account {
  const [name = '', , uid = '', gid = '', , home = '', shell = ''] = line.split(':');
  if (!/^\d+$/u.test(uid) || !/^\d+$/u.test(gid)) throw new Error(`the account ${name} of this machine is damaged`);
  return {
    name,
    uid: Number(uid),
    gid: Number(gid),
    home: home || '/',
    shell: shell || DEFAULT_SHELL,
    isOther: Number(uid) !== own.uid || name !== own.name,
  };
}

function ownAccount(): Account {
  const { uid, gid, username, homedir, shell } = userInfo();
  return { name: username, uid, gid, home: homedir || '/', shell: shell ?? DEFAULT_SHELL, isOther: false };
}
