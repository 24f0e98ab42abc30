/** Where the service is and with which key: flags before environment before the file that `edge login` writes. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { EXIT, Problem } from './problem.ts';

/** Where an admin listens when nothing else is said. Source: docs/settings.md. */
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

/**
 * The connection to use. A remembered key goes to the service that it was remembered for, whatever else is named.
 * Throws a Problem for another service without a key of its own, a URL that is none, and a file that cannot be read.
 */
export function connectionFrom(flags: ConnectionFlags, env: Environment): Connection {
  const stored = readStored(connectionFile(env));
  const url = serviceUrl(flags, env);
  const given = flags.key ?? nonEmpty(env['EDGE_API_KEY']);
  if (given !== undefined || stored.key === undefined) return { url, key: given ?? null };
  if (!isSameService(stored.url, url))
    throw new Problem(
      `the key that edge login remembers is that of ${shownUrl(stored.url ?? DEFAULT_URL)} and is not sent to ${url}: edge login --url ${url} signs in there, and EDGE_API_KEY or --key gives a key for now`,
      EXIT.auth,
    );
  return { url, key: stored.key };
}

/** Where the service is: what is named, before what is remembered. Throws a Problem for a URL that is none. */
export function serviceUrl(flags: ConnectionFlags, env: Environment): string {
  const url = (flags.url ?? nonEmpty(env['EDGE_URL']) ?? readStored(connectionFile(env)).url ?? DEFAULT_URL).replace(
    /\/+$/u,
    '',
  );
  const parsed = /^https?:\/\//u.test(url) && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null)
    throw new Problem(`"${shownUrl(url)}" is no URL of a service: it should be like ${DEFAULT_URL}`, EXIT.usage);
  if (parsed.username !== '' || parsed.password !== '')
    throw new Problem(
      'the URL of a service has no user name and no password: give its key as EDGE_API_KEY, or run edge login',
      EXIT.usage,
    );
  return url;
}

/**
 * A URL as it may be shown: what stands before its last @ may be a password, also where no URL parser would find it.
 */
export function shownUrl(text: string): string {
  const at = text.lastIndexOf('@');
  return at === -1 ? text : `${/^[a-z][a-z\d+.-]*:\/\//iu.exec(text)?.[0] ?? ''}***${text.slice(at)}`;
}

function isSameService(stored: string | undefined, url: string): boolean {
  const plain = (text: string): string => new URL(text).href.replace(/\/+$/u, '');
  return URL.canParse(stored ?? DEFAULT_URL) && plain(stored ?? DEFAULT_URL) === plain(url);
}

/** Stores a connection for the next calls, readable for its owner only. Answers where. */
export function storeConnection({ url, key, proxyUrl, proxyKey }: StoredConnection, env: Environment): string {
  const file = connectionFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify({ url, key, proxy_url: proxyUrl, proxy_key: proxyKey }, null, 2)}\n`, {
    mode: 0o600,
  });
  chmodSync(file, 0o600); // an older file keeps its mode when it is written again
  return file;
}

/**
 * What was remembered about the service at this URL and its proxy. Nothing of another one: its keys must not come here.
 */
export function storedProxy(
  url: string,
  env: Environment,
): Pick<StoredConnection, 'proxyUrl' | 'proxyKey'> & { readonly key?: string | undefined } {
  const { url: storedUrl, key, proxyUrl, proxyKey } = readStored(connectionFile(env));
  return isSameService(storedUrl, url) ? { key, proxyUrl, proxyKey } : {};
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
    throw new Problem(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): correct its rights, or remove it`,
    );
  }
  try {
    const {
      url,
      key,
      proxy_url: proxyUrl,
      proxy_key: proxyKey,
    } = JSON.parse(text) as Readonly<Record<string, unknown>>;
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
