/**
 * Names to addresses. By c-ares and the hosts file, not by `dns.lookup`: that one holds a thread for as long as a DNS
 * server stays silent, and two such names would make all others wait (V3). See docs/decisions/ssrf-guard.md.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { DNS_ANSWER_MS_MAX, DNS_TRIES } from './limits.ts';

/** All addresses of a name, IPv4 and IPv6. May reject, and may answer none; gives up when the signal says so. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Where the machine keeps names of its own. */
const HOSTS_FILE = '/etc/hosts';

/** What localhost and all under it mean, whoever is asked. Source: RFC 6761, 6.3. */
const LOCALHOST = /(?:^|\.)localhost$/u;

/** Where names come from, if not from where this machine keeps them. */
export interface SystemNames {
  readonly hostsFile?: string;
  /** DNS servers, as `host:port`. */
  readonly servers?: readonly string[];
}

/**
 * Asks as this machine would: its hosts file first, then the DNS servers of its resolv.conf; without its search
 * domains.
 */
export function systemResolver({ hostsFile = HOSTS_FILE, servers }: SystemNames = {}): Resolve {
  const ask = resolverBy(servers);
  return async (name, signal) => {
    const bare = name.replace(/\.$/u, '');
    if (LOCALHOST.test(bare)) return ['127.0.0.1', '::1'];
    const own = await namedIn(hostsFile, bare);
    return own.length > 0 ? own : ask(name, signal);
  };
}

/**
 * Asks DNS servers (`host:port`), or those of resolv.conf. Each call has sockets of its own, so that its port is hard
 * to guess and its cancellation touches no other. A family that fails while the other answers is left out: it is not
 * dialled either.
 */
export function resolverBy(servers?: readonly string[]): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: DNS_ANSWER_MS_MAX, maxTimeout: DNS_ANSWER_MS_MAX, tries: DNS_TRIES });
    if (servers) resolver.setServers(servers);
    const onAbort = () => {
      resolver.cancel();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
      const failed = families.find((family) => family.status === 'rejected');
      if (addresses.length === 0 && failed) throw failed.reason;
      return addresses;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };
}

/** Read anew each time: it is small, and whoever edits it expects that. Without one there are no names. */
async function namedIn(hostsFile: string, name: string): Promise<string[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address, ...names] = line.replace(/#.*$/u, '').trim().toLowerCase().split(/\s+/u);
    return address !== undefined && names.includes(name) ? [address] : [];
  });
}
