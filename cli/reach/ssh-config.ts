/** What `ssh` is told by its configuration, so that plain ssh, scp, sftp, rsync, git and editors get to nodes. */
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { chosenContext, nonEmpty, type Environment } from '../service/contexts.ts';
import { Problem } from '../problem.ts';
import { hostKeysDirectory } from './host-keys.ts';
import { SSH_PORT } from './host-names.ts';
import { configWord, knownHostsFile, proxyCommand, SERVER_ALIVE_SECONDS, shellWord } from './openssh.ts';

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
  ServerAliveInterval ${SERVER_ALIVE_SECONDS}
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

/** A block of `sshConfigText` in a file, with its domain. */
const BLOCK = /^# Nodes of (\S+), by edge ssh-config:.*\nHost .*\n(?:[ \t]+\S.*\n)*/gmu;

/**
 * Writes the block of a domain into a file, in place of the one that it has there; all else in it stays. Throws a
 * Problem when that cannot be done.
 */
export function writeBlock(file: string, domain: string, block: string): void {
  const before = contentOf(file);
  const lines = before === '' || before.endsWith('\n') ? before : `${before}\n`;
  const others = lines.replaceAll(BLOCK, (one, of: string) => (of === domain ? '' : one));
  const at = placeOf(domain, others);
  replaceFile(file, others.slice(0, at) + block + others.slice(at));
}

/** Behind the blocks for fewer of its hosts, as ssh takes what it sees first, and before all others. */
function placeOf(domain: string, text: string): number {
  const blocks = [...text.matchAll(BLOCK)];
  const narrower = blocks.findLast(([, of]) => of?.endsWith(`.${domain}`));
  return narrower === undefined ? (blocks[0]?.index ?? text.length) : narrower.index + narrower[0].length;
}

/** What is in a file; nothing when there is none. Throws a Problem when it cannot be read. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw problemOf(file, 'read', error);
  }
}

/**
 * Makes this the content of a file, for its owner only: beside it first, as a full disk must not take what is there.
 * Throws a Problem when it cannot be written.
 */
function replaceFile(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const target = existsSync(file) ? realpathSync(file) : file; // where configurations are kept elsewhere it is a link
    writeFileSync(`${target}.new`, text, { mode: 0o600 });
    chmodSync(`${target}.new`, 0o600); // one that was left there keeps its mode
    renameSync(`${target}.new`, target);
  } catch (error) {
    throw problemOf(file, 'written', error);
  }
}

function problemOf(file: string, what: string, error: unknown): Problem {
  return new Problem(`${file} cannot be ${what} (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
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
  const before = contentOf(main);
  if (before.split('\n').some((one) => one.trim() === line)) return null;
  replaceFile(main, `${line}\n${before === '' ? '' : `\n${before}`}`);
  return main;
}
