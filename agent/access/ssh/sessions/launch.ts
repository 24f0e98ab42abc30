/** How a program is started as an account: its arguments, directory and environment. */
import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Account } from '../login/accounts.ts';

/** What is to run. */
export type Program =
  | { readonly type: 'shell' }
  | { readonly type: 'command'; readonly command: string }
  /**
   * The agent's own program for the file transfer, which becomes an account by itself: the account may not be able to
   * read it.
   */
  | { readonly type: 'own'; readonly wordsFor: SftpCommand };

/**
 * Program and arguments of the SFTP server for an account that it has to become, or null: it stays with the agent's
 * own.
 */
export type SftpCommand = (
  account: { readonly name: string; readonly uid: number; readonly gid: number } | null,
) => readonly string[];

/** A process to be. */
export interface Launch {
  readonly file: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What the person should know beforehand, or null. */
  readonly notice: string | null;
}

/** About the connection, for the environment. */
export interface Origin {
  readonly clientAddress: string;
  readonly clientPort: number;
  readonly serverAddress: string;
  readonly serverPort: number;
}

/**
 * Where setpriv may be, which becomes another account (user, group and all supplementary groups) and then the program.
 */
export const SETPRIV_PATHS = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv'];

/** Shells that can give a program another name, as a login shell has it. */
const NAMING_SHELLS = ['/bin/bash', '/usr/bin/bash'];

/** Shells that let nobody in, and say so. */
const REFUSING_SHELL = /^(?:nologin|false)$/u;

/**
 * What node-pty does not do: text is UTF-8, and the name of the terminal is known only when there is one (sshd sets
 * it).
 */
const SET_TERMINAL = 'stty iutf8 -ixany 2>/dev/null; SSH_TTY=$(tty) && export SSH_TTY';

/** Source: what sshd of Debian gives. */
const PATH_OF_USERS = '/usr/local/bin:/usr/bin:/bin:/usr/games';
const PATH_OF_ROOT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What makes launches. */
export interface LauncherOptions {
  /** The agent's own environment: of it PATH and LANG pass, for sessions that stay with the agent's account (E4). */
  readonly environment: NodeJS.ProcessEnv;
}

/** Makes launches, or says why none can be made for an account: one sentence. */
export type Launcher = (
  account: Account,
  program: Program,
  origin: Origin,
  variables: Readonly<Record<string, string>>,
  hasTerminal: boolean,
) => Launch | string;

/**
 * Everything that becomes another account is started by setpriv of util-linux: libuv drops all supplementary groups,
 * node-pty keeps those of root, and setpriv takes 2 ms where a Node program that does the same takes 45 ms (measured).
 * It replaces itself by the program, so that process id and exit status are the program's own.
 */
export function createLauncher(options: LauncherOptions): Launcher {
  const setpriv = SETPRIV_PATHS.find((path) => existsSync(path)) ?? null;
  const naming = NAMING_SHELLS.find((path) => existsSync(path)) ?? null;
  return (account, program, origin, variables, hasTerminal) => {
    if (account.isOther && setpriv === null)
      return `this machine cannot start programs as ${account.name}: setpriv of util-linux is not installed`;
    const isOwn = program.type === 'own' && !refusesLogins(account);
    const [file, ...words] = [
      ...(account.isOther && setpriv !== null && !isOwn
        ? [setpriv, `--reuid=${account.uid}`, `--regid=${account.gid}`, '--init-groups', '--']
        : []),
      ...wordsOf(account, program, naming, hasTerminal),
    ];
    const hasHome = isDirectory(account.home);
    return {
      file: file ?? account.shell,
      words,
      directory: hasHome ? account.home : '/',
      environment: { ...accountEnvironment(account, options.environment), ...originEnvironment(origin), ...variables },
      notice: hasHome ? null : `Could not change to the home directory ${account.home}: it does not exist\n`,
    };
  };
}

/** True when this account lets nobody in; its shell says so itself. */
export function refusesLogins(account: Account): boolean {
  return REFUSING_SHELL.test(basename(account.shell));
}

function wordsOf(account: Account, program: Program, naming: string | null, hasTerminal: boolean): readonly string[] {
  const { shell } = account;
  const setTerminal = hasTerminal ? `${SET_TERMINAL}; ` : '';
  if (program.type === 'command')
    return [...(hasTerminal ? ['/bin/sh', '-c', `${setTerminal}exec "$@"`, 'sh'] : []), shell, '-c', program.command];
  // what it says would be taken for SFTP
  if (program.type === 'own' && refusesLogins(account)) return ['/bin/sh', '-c', 'exec "$0" >&2', shell];
  if (refusesLogins(account)) return [shell];
  if (program.type === 'own') return program.wordsFor(account.isOther ? account : null);
  if (naming === null) return ['/bin/sh', '-c', `${setTerminal}exec "$@"`, 'sh', shell, '-l'];
  // --norc: bash reads the account's own file when it takes itself to be run by sshd.
  return [naming, '--norc', '--noprofile', '-c', `${setTerminal}exec -a "$0" "$1"`, `-${basename(shell)}`, shell];
}

function accountEnvironment(account: Account, own: NodeJS.ProcessEnv): Record<string, string> {
  const fallback = account.uid === 0 ? PATH_OF_ROOT : PATH_OF_USERS;
  return {
    USER: account.name,
    LOGNAME: account.name,
    HOME: account.home,
    SHELL: account.shell,
    PATH: account.isOther ? fallback : (own['PATH'] ?? fallback),
    MAIL: `/var/mail/${account.name}`,
    ...(own['LANG'] !== undefined && { LANG: own['LANG'] }),
    ...(own['TZ'] !== undefined && { TZ: own['TZ'] }),
  };
}

function originEnvironment(origin: Origin): Record<string, string> {
  const { clientAddress, clientPort, serverAddress, serverPort } = origin;
  return {
    SSH_CLIENT: `${clientAddress} ${clientPort} ${serverPort}`,
    SSH_CONNECTION: `${clientAddress} ${clientPort} ${serverAddress} ${serverPort}`,
  };
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
