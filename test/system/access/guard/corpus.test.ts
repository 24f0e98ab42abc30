/** The corpus of hostile URLs, with tripwires: not one packet may go where the guard lets nobody. */
import test from 'ava';
import { runSealed } from '../../../support/net/sealed-network.ts';
import { createGuard } from '../../../../transport/net/outbound-guard/guard.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { attack, unguarded } from './attack.ts';
import { hostileUrls, zoneAnswer } from './corpus.ts';
import { startDnsServer } from '../../../support/net/dns-server.ts';
import type { SealedOutcome } from './sealed-guard.ts';
import { startTripwire } from './tripwire.ts';

/** How many hostile URLs there are at least. */
const URLS_MIN = 500;

test.serial(
  'every hostile URL is refused when it is given and again when it is dialled, and nobody is called',
  async (t) => {
    const [dns, tripwire] = await Promise.all([startDnsServer(t, zoneAnswer), startTripwire(t)]);
    const urls = hostileUrls(tripwire.port);

    const found = await attack(createGuard({ allowPrivate: false, resolve: resolverBy([dns.server]) }), urls);

    t.true(new Set(urls.map((entry) => entry.url)).size >= URLS_MIN);
    t.log(
      `${new Set(urls.map((entry) => entry.url)).size} hostile URLs, ${urls.filter((entry) => entry.isDialled).length} of them dialled`,
    );
    t.deepEqual(
      { ...found, tries: tripwire.dialled(), arrived: tripwire.arrived },
      { taken: [], dialled: [], tries: [], arrived: [] },
    );
  },
);

test.serial('with private networks open, what is never reached still is not', async (t) => {
  const [dns, tripwire] = await Promise.all([startDnsServer(t, zoneAnswer), startTripwire(t)]);

  const found = await attack(
    createGuard({ allowPrivate: true, resolve: resolverBy([dns.server]) }),
    hostileUrls(tripwire.port).filter((entry) => entry.isNever),
  );

  t.deepEqual(
    { ...found, tries: tripwire.dialled(), arrived: tripwire.arrived },
    { taken: [], dialled: [], tries: [], arrived: [] },
  );
});

test.serial('the tripwire sees what comes of no guard', async (t) => {
  const [dns, tripwire] = await Promise.all([startDnsServer(t, zoneAnswer), startTripwire(t)]);
  const hosts = [
    '127.0.0.1',
    '0x7f.1',
    '127.1.2.3',
    '[::1]',
    'plain.7f000001.corpus.test',
    'alias.7f000001.corpus.test',
  ];

  const found = await attack(
    unguarded(resolverBy([dns.server])),
    hosts.map((host) => ({ url: `http://${host}:${tripwire.port}/`, isDialled: true, isNever: false })),
  );

  t.deepEqual(
    [found.taken.length, found.dialled.filter((line) => line.endsWith(': 200')).length],
    [hosts.length, hosts.length],
  );
  t.deepEqual([...new Set(tripwire.dialled())].toSorted(), ['127.0.0.1', '127.1.2.3', '::1']);
  t.deepEqual([tripwire.dialled().length, tripwire.arrived.length], [hosts.length, hosts.length]);
});

test.serial('in a network where every address answers, the kernel counts no packet to a forbidden one', (t) => {
  const ran = runSealed(`${import.meta.dirname}/sealed-guard.ts`);
  if (!ran.ok) {
    t.pass();
    t.log(ran.problem);
    return;
  }
  t.is(ran.status, 0, ran.stderr);
  const seen = JSON.parse(ran.stdout) as SealedOutcome;
  const nothing = { taken: [], dialled: [], connects: 0, packets: 0, arrived: 0 };

  t.deepEqual(
    [seen.closed, seen.open],
    [
      { ...nothing, urls: seen.closed.urls },
      { ...nothing, urls: seen.open.urls },
    ],
  );
  t.deepEqual(
    { taken: seen.good.taken.length, connects: seen.good.connects, arrived: seen.good.arrived },
    { taken: 3, connects: 3, arrived: 3 },
  );
  t.true(
    seen.unguarded.connects > seen.unguarded.urls * 0.7,
    `${seen.unguarded.connects} connections to ${seen.unguarded.urls} URLs: the tripwire is dead`,
  );
  t.log(
    `without a guard: ${seen.unguarded.connects} connections and ${seen.unguarded.packets} packets for ${seen.unguarded.urls} URLs; with it none for ${seen.closed.urls}`,
  );
});
