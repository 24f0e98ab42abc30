/** The one line that makes a machine a node, as `edge node add` prints it. Pure. */
import { quoted } from '../shell-words.ts';

/** Names of this machine: no other one gets here by them. */
const LOOPBACK = /^https?:\/\/(?:localhost|[^/:]*\.localhost|127(?:\.\d+){3}|\[::1\])(?::|\/|$)/u;

/** Whether a machine still joins with it. */
export function letsIn(
  key: { readonly uses_remaining: number | null; readonly expired_at: string | null },
  nowMs: number,
): boolean {
  return key.uses_remaining !== 0 && (key.expired_at === null || Date.parse(key.expired_at) > nowMs);
}

/** Admins that a key names; none where it cannot be read. */
export function adminUrlsOf(key: string): readonly string[] {
  try {
    const blob = JSON.parse(atob(key.replaceAll('-', '+').replaceAll('_', '/'))) as { readonly admin_urls?: unknown };
    const urls: unknown = blob.admin_urls;
    return Array.isArray(urls) ? urls.filter((url): url is string => typeof url === 'string') : [];
  } catch {
    return [];
  }
}

/**
 * The line, and by which URL the machine gets its script: an admin that the key names, but none of this machine alone
 * as long as the page itself came from elsewhere.
 */
export function installLine(key: string, origin: string): { readonly line: string; readonly url: string } {
  const named = adminUrlsOf(key);
  const found = named.find((url) => url === origin) ?? named.find((url) => !LOOPBACK.test(url));
  const url = found ?? (LOOPBACK.test(origin) ? (named[0] ?? origin) : origin);
  const admin = named.includes(url) ? [] : ['--admin', quoted(url)];
  return {
    url,
    line: ['curl -fsSL', quoted(`${url}/install.sh`), '| sudo sh -s -- --key', quoted(key), ...admin].join(' '),
  };
}
