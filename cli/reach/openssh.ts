/** OpenSSH of this machine, told how to get to nodes. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { ConnectionFlags } from '../service/connection.ts';
import { ownFile, type Environment } from '../service/contexts.ts';
import { EXIT, Problem } from '../problem.ts';
import { keepHostKey } from './host-keys.ts';
import type { NodePlace } from './places.ts';

/**
 * Silence after which ssh asks the machine whether it is there, in s; three questions without an answer end it. Its own
 * TCPKeepAlive asks nobody behind a ProxyCommand.
 */
export const SERVER_ALIVE_SECONDS = 15;

/** The file in which host keys of nodes are remembered; its directory is made. */
export function knownHostsFile(env: Environment): string {
  const file = ownFile('known_hosts', env);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch {
    // ssh says so itself when it cannot write there, and goes on
  }
  return file;
}

/** The command that ssh starts for a stream to a node, for its shell. No key is in it: it finds them as `edge` does. */
export function proxyCommand(words: readonly string[]): string {
  return `${[...ownWords(), 'connect'].map((word) => shellWord(word).replaceAll('%', '%%')).join(' ')} ${words.join(' ')}`;
}

/**
 * Options with which ssh and scp reach a node. The first that is given wins, so a person's own go before. Its host key
 * is the one that the service tells; where that knows none, or another server is meant, the first use is trusted.
 */
export function nodeOptions(place: NodePlace, env: Environment, isOtherServer: boolean): readonly string[] {
  const keyFile = isOtherServer ? null : keepHostKey(place, env);
  return [
    `ProxyCommand=${proxyCommand(['%h', '%p'])}`,
    `Port=${place.sshPort}`,
    `HostKeyAlias=${place.ownHost}`,
    `UserKnownHostsFile=${configWord(keyFile ?? knownHostsFile(env))}`,
    `StrictHostKeyChecking=${keyFile === null ? 'accept-new' : 'yes'}`,
    `ServerAliveInterval=${SERVER_ALIVE_SECONDS}`,
  ].flatMap((option) => ['-o', option]);
}

/**
 * Becomes this program: its terminal, signals and exit status are those of this process from then on. Throws a Problem
 * when it is not there.
 */
export function become(
  program: string,
  words: readonly string[],
  flags: ConnectionFlags & { readonly proxyUrl: string },
): never {
  const file = fileOf(program);
  // What was given by flags goes to the `edge connect` that it starts, by the environment: words of a command are in
  // the list of processes.
  const given = {
    ...(flags.url !== undefined && { EDGE_URL: flags.url }),
    ...(flags.key !== undefined && { EDGE_API_KEY: flags.key }),
    EDGE_PROXY_URL: flags.proxyUrl, // or each of them would ask the service
  };
  process.execve?.(file, [program, ...words], { ...process.env, ...given });
  throw new Problem(`${program} cannot be started from here on ${process.platform}: see edge ssh-config --help`);
}

/**
 * A word of a line in the configuration of ssh, in its own quotes. Throws a Problem for what cannot be written there.
 */
export function configWord(text: string): string {
  return `"${checked(text).replaceAll(/["\\]/gu, '\\$&').replaceAll('%', '%%')}"`;
}

/** This program, as it was started. */
export function ownWords(): readonly string[] {
  return [process.execPath, process.argv[1] ?? ''];
}

/** A word for any shell, which ssh reads as balanced quotes too: it looks for them before it starts the shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : `'${checked(text).replaceAll(/['\\]/gu, "'\\$&'")}'`;
}

function checked(path: string): string {
  if (/[\n\r\0]/u.test(path))
    throw new Problem(`${JSON.stringify(path)} cannot be written into a configuration of ssh`, EXIT.usage);
  return path;
}

/** Where a program of OpenSSH is. Throws a Problem when this machine has none. */
export function fileOf(program: string): string {
  const file = pathOf(program);
  if (file === null) throw new Problem(`there is no ${program} on this machine's PATH: install the OpenSSH client`);
  return file;
}

function pathOf(program: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // the next one
    }
  }
  return null;
}
