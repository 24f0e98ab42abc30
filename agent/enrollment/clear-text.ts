/**
 * Which admins are reached without encryption over a network, where whoever listens has the node's token and can say
 * what is run.
 */
import { originOf } from '../observability/doctor/admin-answers.ts';

/** What to do about one. */
export const CLEAR_TEXT_HINT =
  'Put TLS before the admin, and name it by https:// in its ADMIN_URLS, and in that of this machine where it is set.';

/** Scheme, host and port of those URLs that are `http://` and lead beyond this machine's loopback, each once. */
export function clearTextAdmins(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.filter(isClearText).map(originOf))];
}

function isClearText(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}

/**
 * As `URL` writes hosts: addresses in their one form, IPv6 in brackets. Names below localhost are loopback. Source: RFC
 * 6761, 6.3.
 */
function isLoopback(hostname: string): boolean {
  return /^127(?:\.\d+){3}$|^(?:.+\.)?localhost\.?$|^\[::1\]$|^\[::ffff:7f[\da-f]{2}:/u.test(hostname);
}
