/** Where the service is and with which key: flags before environment before the file that `edge login` writes. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { EXIT, Problem } from './problem.ts';

/** Where an admin listens when nothing else is said. Source: contract.md 1. */
export const DEFAULT_URL = 'http://127.0.0.1:44000';

export interface Connection {
  readonly url: string;
  /** Null: none is known; a service without enforcement needs none. */
  readonly key: string | null;
}

/** What was given on the command line. */
export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
}

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What `edge login` remembers: a connection, and where the proxy of that service is when that cannot be guessed. */
export interface StoredConnection extends Connection {
  readonly proxyUrl?: string | undefined;
  readonly proxyKey?: string | undefined;
}

/** The connection to use. Throws a Problem for a URL that is none, and a file that cannot be read. */
export function connectionFrom(flags: ConnectionFlags, env: Environment): Connection {
  const stored = readStored(connectionFile(env));
  const url = (flags.url ?? nonEmpty(env['EDGE_URL']) ?? stored.url ?? DEFAULT_URL).replace(/\/+$/u, '');
  if (!/^https?:\/\//u.test(url) || !URL.canParse(url)) throw new Problem(`"${url}" is no URL of a service: it should be like ${DEFAULT_URL}`, EXIT.usage);
  return { url, key: flags.key ?? nonEmpty(env['EDGE_API_KEY']) ?? stored.key ?? null };
}

/** Stores a connection for the next calls, readable for its owner only. Answers where. */
export function storeConnection({ url, key, proxyUrl, proxyKey }: StoredConnection, env: Environment): string {
  const file = connectionFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify({ url, key, proxy_url: proxyUrl, proxy_key: proxyKey }, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600); // an older file keeps its mode when it is written again
  return file;
}

/** What was remembered about the proxy of the service at this URL. Nothing of another one: its key must not come here. */
export function storedProxy(url: string, env: Environment): Pick<StoredConnection, 'proxyUrl' | 'proxyKey'> {
  const { url: storedUrl, proxyUrl, proxyKey } = readStored(connectionFile(env));
  return storedUrl === url ? { proxyUrl, proxyKey } : {};
}

/** A file of that name where `edge` keeps what is its own. */
export function ownFile(name: string, env: Environment): string {
  return join(nonEmpty(env['XDG_CONFIG_HOME']) ?? join(homedir(), '.config'), 'edge', name);
}

function connectionFile(env: Environment): string {
  return ownFile('config.json', env);
}

function readStored(file: string): { readonly [Field in keyof StoredConnection]?: string | undefined } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Problem(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): correct its rights, or remove it`);
  }
  try {
    const { url, key, proxy_url: proxyUrl, proxy_key: proxyKey } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { url: textOr(url), key: textOr(key), proxyUrl: textOr(proxyUrl), proxyKey: textOr(proxyKey) };
  } catch {
    throw new Problem(`${file} is damaged: run edge login again, or remove it`);
  }
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An empty variable is none. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
