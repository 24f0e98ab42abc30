/**
 * Which web pages may call: browsers say from where by Origin and Host, and send what any page asks them to. What
 * uses a session of the console is held to more behind this: api/console/same-origin.ts.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { refuse, type Refusal } from '../actors/refusal.ts';

/** What this admin is called. */
export interface OwnNames {
  /** Its URLs: ADMIN_URLS, ADMIN_OWN_URL, METRICS_BASE_URL. They may become known only once it listens. */
  readonly urls: readonly string[];
  /** Further host names: ADMIN_ALLOWED_HOSTS. */
  readonly hosts: readonly string[];
}

/** What a request says of the page behind it. */
export interface WebPages {
  /**
   * Why a request that changes something, or takes a socket over, is refused; null: no page of another origin asked for
   * it.
   * Programs send no Origin. Browsers do with every such request (WHATWG Fetch, 3.2), also with those that no preflight
   * asks for.
   */
  readonly foreignOrigin: (request: IncomingMessage) => Refusal | null;
  /**
   * Whether Host is what this admin is called: its own names, those of this machine, or an address. A stranger's page
   * whose name was made to point here (DNS rebinding) has the same origin as its Host, and only the name gives it away.
   */
  readonly isOwnHost: (host: string | undefined) => boolean;
}

/** Methods that change nothing. Source: RFC 9110, 9.2.1. */
const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `Sec-Fetch-Site` of requests that a page of another origin started. Source: W3C Fetch Metadata. */
const OTHER_SITES: ReadonlySet<unknown> = new Set(['cross-site', 'same-site']);

/** Why a request is refused whose Host cannot be read. Source: RFC 9112, 3.2. */
export const NO_HOST: Refusal = refuse('bad_request', 'The Host of the request is no host.', {
  Host: ['must be a host, or a host and its port'],
}).refusal;

/** Whether Host can be read, or there is none: libraries make a URL of it, and throw where it is none. */
export function hasReadableHost({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.host === undefined || URL.canParse(`http://${headers.host}`);
}

/** The judge of pages for an admin of these names. */
export function createWebPages(own: OwnNames): WebPages {
  const named = new Set(own.hosts);

  return {
    foreignOrigin({ method, headers }) {
      if (SAFE_METHODS.has(method) && headers.upgrade === undefined) return null;
      const { origin } = headers;
      if (origin === undefined) return OTHER_SITES.has(headers['sec-fetch-site']) ? FOREIGN : null;
      const from = urlOf(origin);
      if (from === null) return FOREIGN; // "null": a sandboxed frame, a file
      const isOwn =
        from.host === urlOf(`${from.protocol}//${headers.host ?? ''}`)?.host ||
        named.has(from.hostname) ||
        own.urls.some((url) => urlOf(url)?.origin === from.origin);
      return isOwn ? null : FOREIGN;
    },
    isOwnHost(host) {
      if (host === undefined) return true; // HTTP/1.0, which no browser speaks
      const name = urlOf(`http://${host}`)?.hostname.replace(/\.$/u, '');
      if (name === undefined) return false;
      return (
        isIP(name.replace(/^\[|\]$/gu, '')) > 0 ||
        name === 'localhost' ||
        name.endsWith('.localhost') ||
        named.has(name) ||
        own.urls.some((url) => urlOf(url)?.hostname === name)
      );
    },
  };
}

const FOREIGN = refuse(
  'forbidden',
  'Web pages of other origins may not call this admin. ADMIN_ALLOWED_HOSTS names hosts whose pages may.',
).refusal;

/** For callers without a key under another name. */
export const FOREIGN_HOST = refuse(
  'forbidden',
  'No key is asked for here, so this admin answers to its own names only. ADMIN_ALLOWED_HOSTS adds others.',
);

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
