/**
 * Whether a request that may use a session comes from a page of this admin: cookies go along with whatever any page
 * makes a browser send. Source: Go 1.25, http.CrossOriginProtection; W3C Fetch Metadata.
 */
import type { IncomingMessage } from 'node:http';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { isLoopbackHost } from '../../transport/net/addresses.ts';

/** What is read of a request. */
type Asked = Pick<IncomingMessage, 'method' | 'headers'>;

/** Methods that change nothing. Source: RFC 9110, 9.2.1. */
const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD']);

/**
 * Null: a page of this very origin asked, or, for what only reads, the person did by the address bar. Stricter than
 * api/origins.ts: other names of this admin are other origins here. Where a request says nothing of the page behind it,
 * no browser sent it, and it has no cookie that counts.
 */
export function otherPage({ method, headers }: Asked): Refusal | null {
  const isUpgrade = headers.upgrade !== undefined;
  const site = headers['sec-fetch-site'];
  const isRead = SAFE_METHODS.has(method) && !isUpgrade;
  // browsers say with every upgrade which page asks for it (RFC 6455, 10.2)
  if (isUpgrade || (site === undefined && !isRead)) return isOwnOrigin(headers) ? null : OTHER_PAGE;
  if (site === undefined) return headers.origin === undefined || isOwnOrigin(headers) ? null : OTHER_PAGE;
  return site === 'same-origin' || (isRead && site === 'none') ? null : OTHER_PAGE;
}

function isOwnOrigin({ origin, host }: Asked['headers']): boolean {
  const from = urlOf(origin);
  return from !== null && host !== undefined && from.host === urlOf(`${from.protocol}//${host}`)?.host;
}

/** Whether the browser speaks HTTPS, to this admin or to a proxy before it: its Origin says so, and no page can. */
export function isSecure(headers: Asked['headers']): boolean {
  return urlOf(headers.origin)?.protocol === 'https:';
}

/** Whether it is this machine that the browser asks: what goes there in the clear leaves nothing. */
export function asksThisMachine({ host }: Asked['headers']): boolean {
  const name = urlOf(`http://${host ?? ''}`)?.hostname ?? '';
  return name.endsWith('.localhost') || isLoopbackHost(name.replace(/^\[|\]$/gu, ''));
}

const OTHER_PAGE: Refusal = refuse(
  'forbidden',
  'Only the console itself may use its sessions: open it at this address.',
).refusal;

function urlOf(text: string | undefined): URL | null {
  return text !== undefined && URL.canParse(text) ? new URL(text) : null;
}
