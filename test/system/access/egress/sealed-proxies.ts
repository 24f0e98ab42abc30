/**
 * A program for a network of its own, in which every address is this machine: whatever the proxies dial arrives, and
 * the kernel counts each connection. Prints what came through, as JSON.
 */
import { readFileSync } from 'node:fs';
import { addressKind } from '../../../../transport/net/outbound-guard/policy.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { createScope } from '../../../support/scope.ts';
import { GOOD, hostileUrls, zoneAnswer, type HostileUrl } from '../guard/corpus.ts';
import { startDnsServer } from '../../../support/net/dns-server.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { startFixture } from '../../../support/agent/proxies-fixture.ts';
import { isHostileToAgents, letThrough } from './hostile-targets.ts';

/**
 * What one round came to. `connects`: connections that the kernel opened beyond those of the clients to the proxies.
 */
export interface Round {
  readonly urls: number;
  readonly found: readonly string[];
  readonly opened: number;
  readonly connects: number;
}

/** What this program prints. */
export interface SealedProxies {
  readonly hostile: Round;
  /** Good targets; `asked`: how often, in all ways. */
  readonly lan: Round & { readonly asked: number };
  /** Addresses that were dialled and are neither public nor private. */
  readonly forbidden: readonly string[];
}

const PROXY_HOST = '127.0.0.99';

const scope = createScope();
const dns = await startDnsServer(scope, zoneAnswer);
const tripwire = await startTripwire(scope);
const fixture = await startFixture(
  scope,
  { AGENT_PROXY_HOST: PROXY_HOST, PROXY_BLOCKED_PORTS: 'none' },
  resolverBy([dns.server]),
);
const proxies = {
  http: { host: PROXY_HOST, port: fixture.httpPort },
  socks5: { host: PROXY_HOST, port: fixture.socks5Port },
};

const good = [
  GOOD.address,
  `[${GOOD.address6}]`,
  GOOD.name,
  '10.0.0.1',
  '100.64.0.1',
  '172.16.0.1',
  '192.168.255.254',
  '[fd12:3456:789a::1]',
  'plain.0a000001.corpus.test',
  'last.c0a80001.corpus.test',
].map((host): HostileUrl => ({ url: `http://${host}:${tripwire.port}/`, isDialled: true, isNever: false }));
const hostile = await round(hostileUrls(tripwire.port).filter((entry) => entry.isDialled && isHostileToAgents(entry)));
const lan = await round(good);
const seen: SealedProxies = {
  hostile,
  lan: { ...lan, asked: lan.found.length },
  forbidden: tripwire
    .dialled()
    .filter((address) => address !== PROXY_HOST && !['public', 'private'].includes(addressKind(address))),
};
process.stdout.write(JSON.stringify(seen));
await scope.end();

async function round(urls: readonly HostileUrl[]): Promise<Round> {
  const before = { opened: fixture.egress.counts().opened, connects: connects() };
  const found = await letThrough(proxies, urls);
  return {
    urls: urls.length,
    found,
    opened: fixture.egress.counts().opened - before.opened,
    connects: connects() - before.connects,
  };
}

/** Connections that were begun and are not those of the clients. Source: proc_net(5), RFC 4022. */
function connects(): number {
  const [names = [], values = []] = readFileSync('/proc/self/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(/\s+/u));
  return (
    Number(values[names.indexOf('ActiveOpens')]) - tripwire.dialled().filter((address) => address === PROXY_HOST).length
  );
}
