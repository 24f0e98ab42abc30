/**
 * Which admins are reached without encryption over a network, where whoever listens has the node's token and can say
 * what is run.
 */
import { isLoopbackHost } from '../../transport/net/addresses.ts';
import { originOf } from '../observability/doctor/admin-answers.ts';

/** What to do about one. */
export const CLEAR_TEXT_HINT =
  'Put TLS before the admin, and name it by https:// in its ADMIN_URLS, and in that of this machine where it is set.';

/** Names that stand for loopback as well, as `URL` writes them. Source: RFC 6761, 6.3. */
const BELOW_LOCALHOST = /\.localhost\.?$/u;

/** Scheme, host and port of those URLs that are `http://` and lead beyond this machine's loopback, each once. */
export function clearTextAdmins(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.filter(isClearText).map(originOf))];
}

function isClearText(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopbackHost(hostname) && !BELOW_LOCALHOST.test(hostname);
}
