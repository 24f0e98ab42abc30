/**
 * Tries the corpus of hostile URLs on the agent's proxies, in each way in which a client can ask: what is let through?
 */
import { isIP } from 'node:net';
import { addressKind } from '../../../../transport/net/outbound-guard/policy.ts';
import { zoneAnswer, type HostileUrl } from '../guard/corpus.ts';
import { httpStatus, socks5Reply, type ProxyAddress } from '../../../support/agent/proxies-fixture.ts';

/** The proxies of one agent. */
export interface ProxyAddresses {
  readonly http: ProxyAddress;
  readonly socks5: ProxyAddress;
}

const AT_ONCE = 16;

/**
 * Host of a URL as it is written, and its port. A request through a proxy carries that, and not what a parser makes of
 * it.
 */
const WRITTEN = /^https?:\/\/(?:[^/?#@]*@)?(?<host>\[[^\]]*\]|[^:/?#]*)(?::(?<port>\d+))?/iu;

/**
 * Whether a URL leads where no proxy of an agent goes: its host is an address, or has one, that is neither public nor
 * private.
 */
export function isHostileToAgents({ url, isNever }: HostileUrl): boolean {
  if (isNever || !URL.canParse(url)) return true;
  const host = new URL(url).hostname.replaceAll(/[[\]]/gu, '').replace(/\.$/u, '');
  if (/(?:^|\.)localhost$/u.test(host)) return true;
  const answer = isIP(host) === 0 ? zoneAnswer({ name: host }) : { addresses: [host] };
  return (
    typeof answer === 'string' ||
    answer.addresses.some((address) => !['public', 'private'].includes(addressKind(address)))
  );
}

/**
 * Asks for each URL by GET, by CONNECT and by SOCKS5, as a name and as an address. Returns what was let through, one
 * line each.
 */
export async function letThrough({ http, socks5 }: ProxyAddresses, urls: readonly HostileUrl[]): Promise<string[]> {
  const found: string[] = [];
  const waiting = urls.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const { url } of waiting) {
        const { host = '', port = '80' } = WRITTEN.exec(url)?.groups ?? {};
        const bare = host.replaceAll(/[[\]]/gu, '');
        const parsed = URL.canParse(url) ? new URL(url).hostname.replaceAll(/[[\]]/gu, '') : '';
        if ((await httpStatus(http, `GET ${url.replaceAll(/[\r\n]/gu, '')} HTTP/1.1`)) === 200)
          found.push(`GET ${url}`);
        if ((await httpStatus(http, `CONNECT ${host}:${port} HTTP/1.1`)) === 200) found.push(`CONNECT ${host}:${port}`);
        if ((await socks5Reply(socks5, { name: bare }, Number(port))) === 0) found.push(`SOCKS5 name ${bare}:${port}`);
        if (isIP(parsed) !== 0 && (await socks5Reply(socks5, { address: parsed }, Number(port))) === 0)
          found.push(`SOCKS5 address ${parsed}:${port}`);
      }
    }),
  );
  return found;
}
