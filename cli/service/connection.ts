/** Where the service is and with which key: flags before environment before the file that `edge login` writes. */
import {
  chosenContext,
  nonEmpty,
  readContexts,
  storedConnection,
  type Environment,
  type StoredConnection,
} from './contexts.ts';
import { EXIT, Problem } from '../problem.ts';

/** Where an admin listens when nothing else is said. Source: docs/settings.md. */
export const DEFAULT_URL = 'http://127.0.0.1:44000';

/** What may stand behind the URL of a service: slashes, and the path of its REST API, which is what its pages show. */
const API_PATH = /(?:\/api\/v1)?\/*$/u;

/** Where the service is, and with which key it is asked. */
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

/**
 * The connection to use. A remembered key goes to the service that it was remembered for, whatever else is named.
 * Throws a Problem for another service without a key of its own, a URL that is none, and a file that cannot be read.
 */
export function connectionFrom(flags: ConnectionFlags, env: Environment): Connection {
  const context = chosenContext(env);
  if (context !== null && !readContexts(env).connections.has(context))
    throw new Problem(`there is no context "${context}": edge context ls shows all`, EXIT.notFound);
  const stored = storedConnection(env);
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

/** The same for what is told of a failure: never throws, and holds no password. */
export function askedConnection(flags: ConnectionFlags, env: Environment): Connection {
  const named = flags.url ?? nonEmpty(env['EDGE_URL']) ?? DEFAULT_URL;
  try {
    return connectionFrom(flags, env);
  } catch {
    return { url: shownUrl(named), key: flags.key ?? nonEmpty(env['EDGE_API_KEY']) ?? null };
  }
}

/** Where the service is: what is named, before what is remembered. Throws a Problem for a URL that is none. */
export function serviceUrl(flags: ConnectionFlags, env: Environment): string {
  const named = flags.url ?? nonEmpty(env['EDGE_URL']) ?? storedConnection(env).url ?? DEFAULT_URL;
  const url = named.replace(API_PATH, '');
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

/**
 * What was remembered about the service at this URL and its proxy. Nothing of another one: its keys must not come here.
 */
export function storedProxy(
  url: string,
  env: Environment,
): Pick<StoredConnection, 'proxyUrl' | 'proxyKey'> & { readonly key?: string | undefined } {
  const { url: storedUrl, key, proxyUrl, proxyKey } = storedConnection(env);
  return isSameService(storedUrl, url) ? { key, proxyUrl, proxyKey } : {};
}
