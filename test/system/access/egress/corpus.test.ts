/**
 * The corpus of hostile URLs against the agent's proxies, by real requests, with tripwires: nobody is called where
 * nobody may come.
 */
import test from 'ava';
import { runSealed } from '../../../support/net/sealed-network.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { hostileUrls, zoneAnswer } from '../guard/corpus.ts';
import { startDnsServer } from '../../../support/net/dns-server.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { startFixture } from '../../../support/agent/proxies-fixture.ts';
import { isHostileToAgents, letThrough } from './hostile-targets.ts';
import type { SealedProxies } from './sealed-proxies.ts';

/**
 * Where the proxies listen: an address that no URL of the corpus has, so that connections of the clients are told
 * apart.
 */
const PROXY_HOST = '127.0.0.99';

test.serial('no hostile URL leads through the proxies of an agent to anybody', async (t) => {
  const [dns, tripwire] = await Promise.all([startDnsServer(t, zoneAnswer), startTripwire(t)]);
  const fixture = await startFixture(t, { AGENT_PROXY_HOST: PROXY_HOST }, resolverBy([dns.server]));
  const urls = hostileUrls(tripwire.port).filter((entry) => entry.isDialled && isHostileToAgents(entry));

  const found = await letThrough(
    { http: { host: PROXY_HOST, port: fixture.httpPort }, socks5: { host: PROXY_HOST, port: fixture.socks5Port } },
    urls,
  );

  t.deepEqual(
    {
      found,
      dialled: tripwire.dialled().filter((address) => address !== PROXY_HOST),
      arrived: tripwire.arrived,
      opened: fixture.egress.counts().opened,
    },
    { found: [], dialled: [], arrived: [], opened: 0 },
  );
  const { blocked } = fixture.egress.counts();
  t.true(urls.length > 1_000 && blocked.host > 1_000, `${urls.length} URLs, ${blocked.host} refused by the exit`);
  t.log(
    `${urls.length} hostile URLs, ${fixture.egress.counts().blocked.host} dials refused by egress, the others by the proxies`,
  );
});

test.serial('the tripwire sees what comes of an operator who opens loopback', async (t) => {
  const [dns, tripwire] = await Promise.all([startDnsServer(t, zoneAnswer), startTripwire(t)]);
  const fixture = await startFixture(
    t,
    { AGENT_PROXY_HOST: PROXY_HOST, PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.0/8,::1' },
    resolverBy([dns.server]),
  );
  const urls = ['127.0.0.1', '[::1]', 'plain.7f000001.corpus.test'].map((host) => ({
    url: `http://${host}:${tripwire.port}/`,
    isDialled: true,
    isNever: false,
  }));

  const found = await letThrough(
    { http: { host: PROXY_HOST, port: fixture.httpPort }, socks5: { host: PROXY_HOST, port: fixture.socks5Port } },
    urls,
  );

  t.deepEqual([found.length, tripwire.arrived.length, fixture.egress.counts().opened], [11, 11, 11]);
});

test.serial(
  'in a network where every address answers, the proxies dial what is public or in the LAN and nothing else',
  (t) => {
    const ran = runSealed(`${import.meta.dirname}/sealed-proxies.ts`);
    if (!ran.ok) {
      t.pass();
      t.log(ran.problem);
      return;
    }
    t.is(ran.status, 0, ran.stderr);
    const seen = JSON.parse(ran.stdout) as SealedProxies;

    t.deepEqual(seen.hostile, { ...seen.hostile, found: [], opened: 0, connects: 0 });
    t.deepEqual(seen.forbidden, []);
    t.deepEqual(seen.lan, { ...seen.lan, opened: seen.lan.asked, connects: seen.lan.asked });
    t.true(seen.hostile.urls > 1_000 && seen.lan.asked > 20);
    t.log(
      `${seen.hostile.urls} hostile URLs and no connection; ${seen.lan.asked} connections to addresses of LANs and of the internet`,
    );
  },
);
