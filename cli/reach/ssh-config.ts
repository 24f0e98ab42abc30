/** What `ssh` is told by its configuration, so that plain ssh, scp, sftp, rsync, git and editors get to nodes. */
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { chosenContext, nonEmpty, type Environment } from '../contexts.ts';
import { Problem } from '../problem.ts';
import { hostKeysDirectory } from './host-keys.ts';
import { SSH_PORT } from './host-names.ts';
import { configWord, knownHostsFile, proxyCommand, shellWord } from './openssh.ts';

/**
 * The block for all nodes whose host names end so, which must be a checked host name. It holds no key, and no port that
 * could change: `edge connect` asks for it, and keeps the host key that the service tells before ssh looks for it. What
 * ssh sees first goes to the first of the files; a version before 8.4 finds no other.
 */
export function sshConfigText(domain: string, env: Environment): string {
  return `# Nodes of ${domain}, by edge ssh-config: run it again rather than edit this. ssh -p 22 leads to the machine's own sshd.
Host *.${domain}
  Port ${SSH_PORT}
  ProxyCommand ${proxyCommand([...contextWords(env), '--ssh', '%h', '%p'])}
  UserKnownHostsFile ${configWord(knownHostsFile(env))} ${keysWord(env)}
  StrictHostKeyChecking accept-new
`;
}

/** Which service it is for, where one was named: ssh may be started where nothing says so, or another one. */
function contextWords(env: Environment): readonly string[] {
  const context = nonEmpty(env['EDGE_URL']) === undefined ? chosenContext(env) : null;
  return context === null ? [] : ['--context', shellWord(context).replaceAll('%', '%%')];
}

/** Files of keys by the host name and the port that ssh was told. */
function keysWord(env: Environment): string {
  return `${configWord(join(hostKeysDirectory(env), 'x')).slice(0, -2)}%h.%p"`;
}

/** Where it is written when nothing else is said. */
export function defaultConfigFile(): string {
  return join(homedir(), '.ssh', 'edge_config');
}

/** Writes a file of ssh for its owner only. Throws a Problem when it cannot be written. */
export function writeConfig(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
    chmodSync(file, 0o600); // an older file keeps its mode when it is written again
  } catch (error) {
    throw new Problem(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

/**
 * The line that makes ssh read a file. It belongs before every Host of a configuration: below one it would count for
 * that only.
 */
export function includeLine(file: string): string {
  return `Include ${configWord(file).replaceAll('%%', '%')}`; // no tokens here
}

/**
 * Puts that line at the top of the person's configuration of ssh. Answers where that is; null: it was there already.
 */
export function includeConfig(file: string): string | null {
  const main = join(homedir(), '.ssh', 'config');
  const line = includeLine(file);
  const before = existsSync(main) ? readFileSync(main, 'utf8') : '';
  if (before.split('\n').some((one) => one.trim() === line)) return null;
  const target = existsSync(main) ? realpathSync(main) : main; // where configurations are kept elsewhere it is a link
  writeConfig(`${target}.new`, `${line}\n${before === '' ? '' : `\n${before}`}`);
  renameSync(`${target}.new`, target); // a full disk must not take what is there
  return main;
}
