/** The cookie of a session: how it is set, found and taken back. */
import type { IncomingHttpHeaders } from 'node:http';
import { SESSION_AGE_MS_MAX } from './limits.ts';

/**
 * Over HTTPS. The prefix makes browsers refuse it from other hosts, other paths and plain HTTP. Source: RFC 6265bis,
 * 4.1.3.2.
 */
export const SECURE_COOKIE = '__Host-edge-console';

/** Over plain HTTP, where browsers take neither: from this machine, or where the operator allows it. */
export const PLAIN_COOKIE = 'edge-console';

/** A token as it was made here: 32 bytes in base64url. */
const TOKEN = /^[\w-]{43}$/u;

/** How a page comes in. */
export interface Transport {
  /** The browser speaks HTTPS, to this admin or to a proxy before it. */
  readonly isSecure: boolean;
}

/** `Set-Cookie` of a new session. Scripts never see it, and other sites never make browsers send it. */
export function sessionCookie(token: string, { isSecure }: Transport): string {
  return isSecure
    ? `${SECURE_COOKIE}=${token}; ${ATTRIBUTES}; Secure; Max-Age=${SESSION_AGE_MS_MAX / 1_000}`
    : `${PLAIN_COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${SESSION_AGE_MS_MAX / 1_000}`;
}

/** `Set-Cookie` that takes both away. */
export function noCookies(): readonly string[] {
  return [`${SECURE_COOKIE}=; ${ATTRIBUTES}; Secure; Max-Age=0`, `${PLAIN_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`];
}

/** The tokens that a request shows and that may count, the better cookie first. What is none of ours is left out. */
export function tokensOf(headers: IncomingHttpHeaders, isPlainAllowed: boolean): readonly string[] {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  const names = isPlainAllowed ? [SECURE_COOKIE, PLAIN_COOKIE] : [SECURE_COOKIE];
  return names.flatMap((name) =>
    pairs.flatMap(([given, value = '']) => (given === name && TOKEN.test(value) ? [value] : [])).slice(0, 1),
  );
}

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';
