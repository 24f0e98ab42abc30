/** Connections of a member to real relays. */
import test, { type ExecutionContext } from 'ava';
import { connect } from 'node:net';
import type { RelayMap } from '../../../../../transport/vpn/relay-map/map.ts';
import { MEASURE_AGAIN_MS, MEASURE_MS_MAX, RELAY_IDLE_MS } from '../../../../../transport/vpn/member/limits.ts';
import { Relays } from '../../../../../transport/vpn/member/relays.ts';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import { target } from '../../../../support/net/listening.ts';
import { mapOf, startRelay, type StartedRelay } from '../../../../support/vpn/relay.ts';
import { until } from '../../../../support/until.ts';

/** The regions of all these relays, by their ids. */
function regionsOf(relays: readonly StartedRelay[]): Readonly<Record<string, object>> {
  return Object.assign({}, ...relays.map(({ derpMap }) => (derpMap as { readonly Regions: object }).Regions)) as Record<
    string,
    object
  >;
}

/** One map of all these relays. `scores`: by region. */
function mapOfAll(relays: readonly StartedRelay[], scores: Readonly<Record<number, number>> = {}): RelayMap {
  return mapOf({ Regions: regionsOf(relays), HomeParams: { RegionScore: scores } });
}

/** The same, where one region alone may be the own one: there is nothing to measure, which takes its time. */
function mapWithHome(relays: readonly StartedRelay[], home: number): RelayMap {
  const regions = Object.entries(regionsOf(relays)).map(([id, region]) => [
    id,
    Number(id) === home ? region : { ...region, NoMeasureNoHome: true },
  ]);
  return mapOf({ Regions: Object.fromEntries(regions) as object });
}

/** The same relay at the end of a way that takes so long, in ms, each way. */
async function far(t: ExecutionContext, started: StartedRelay, ms: number): Promise<StartedRelay> {
  const port = await target(t, (near) => {
    const behind = connect({ host: '127.0.0.1', port: started.port, noDelay: true });
    for (const [from, to] of [
      [near, behind],
      [behind, near],
    ] as const)
      from
        .on('data', (bytes) => setTimeout(() => void to.write(bytes), ms))
        .on('error', () => {})
        .on('close', () => to.destroy());
  });
  const text = JSON.stringify(started.derpMap).replace(`"DERPPort":${started.port}`, `"DERPPort":${port}`);
  return { ...started, derpMap: JSON.parse(text) as unknown };
}

/** The relays of a member that hears nobody; they are closed with the test. */
function open(t: ExecutionContext): { readonly relays: Relays; readonly privateKey: string } {
  const relays = new Relays({ received: () => {}, changed: () => {} });
  t.teardown(() => relays.close());
  return { relays, privateKey: makeKeyPair().privateKey };
}

test('what was connected before an address went, or a sleep, is connected again at once, and carries packets', async (t) => {
  const { map, region, relay } = await startRelay(t);
  const [one, other] = [makeKeyPair(), makeKeyPair()];
  const heard: string[] = [];
  const [from, to] = [
    { received: () => {} },
    {
      received: (publicKey: string, packet: Uint8Array) => {
        heard.push(`${publicKey} ${Buffer.from(packet).toString()}`);
      },
    },
  ].map((ports) => new Relays({ ...ports, changed: () => {} })) as [Relays, Relays];
  t.teardown(() => {
    from.close();
    to.close();
  });
  from.become(map, one.privateKey);
  to.become(map, other.privateKey);
  await until('both', () => relay.count() === 2 && !from.isSearching && !to.isSearching);

  to.renew();
  t.true(to.isSearching);
  await until('the relay again', () => !to.isSearching && relay.count() === 2);
  await until('a packet', () => {
    from.send(region.id, other.publicKey, Buffer.from('hello'));
    return heard.length > 0;
  });

  t.is(heard[0], `${one.publicKey} hello`);
  t.true(to.carries(region.id));
});

test('a map with one more relay leaves the own one as it is: its connection, and all that goes by it', async (t) => {
  const own = await startRelay(t, { regionId: 901 });
  const other = await startRelay(t, { regionId: 902 });
  const { relays, privateKey } = open(t);
  relays.become(mapOfAll([own]), privateKey);
  await until('the own relay', () => relays.home() === 901);

  relays.become(mapOfAll([own, other], { 901: 0.01 }), privateKey);

  t.deepEqual([relays.home(), relays.carries(901), relays.isSearching], [901, true, false]);
  relays.become(mapOfAll([own]), privateKey);
  t.deepEqual([relays.home(), relays.isSearching, own.relay.counters.opened], [901, false, 1]);
});

test('a relay with another certificate in its region, and a new key, reconnect, while peers see the same region', async (t) => {
  const first = await startRelay(t, { regionId: 901 });
  const second = await startRelay(t, { regionId: 901 });
  const { relays, privateKey } = open(t);
  relays.become(first.map, privateKey);
  await until('the own relay', () => relays.home() === 901);

  relays.become(second.map, privateKey);
  t.deepEqual([relays.home(), relays.carries(901), relays.isSearching], [901, true, true]);
  await until('the relay with the other certificate', () => second.relay.count() === 1 && first.relay.count() === 0);

  const { opened } = second.relay.counters;
  relays.become(second.map, makeKeyPair().privateKey);
  t.deepEqual([relays.home(), relays.carries(901), relays.isSearching], [901, true, true]);
  await until('the new key', () => second.relay.counters.opened > opened && !relays.isSearching);
});

test('a home that is in the map no more is told to nobody', async (t) => {
  const own = await startRelay(t, { regionId: 901 });
  const other = await startRelay(t, { regionId: 902 });
  const { relays, privateKey } = open(t);
  relays.become(own.map, privateKey);
  await until('the own relay', () => relays.home() === 901);

  relays.become(other.map, privateKey);

  t.deepEqual([relays.home(), relays.carries(901)], [null, false]);
  await until('the other relay', () => relays.home() === 902 && own.relay.count() === 0);
});

test('a relay that answers and lets nobody in is left for one that does, and not chosen again for its answers', async (t) => {
  const refusing = await startRelay(t, {
    regionId: 901,
    admission: { admit: () => Promise.reject(new Error('its admin is away')), forget: () => {} },
  });
  const other = await startRelay(t, { regionId: 902 });
  const { relays, privateKey } = open(t);
  relays.become(mapOfAll([refusing, other], { 902: 1_000_000 }), privateKey);
  await until('it to be refused', () => refusing.relay.counters.refused.unavailable > 0);

  await until('the other relay', () => {
    relays.sweep(performance.now());
    return relays.home() === 902;
  });

  t.deepEqual([relays.problem(), relays.carries(902)], [null, true]);
  let laterMs = 0;
  await until('the relay that refuses to be tried again', () => {
    if (relays.isSearching) return true;
    laterMs += MEASURE_AGAIN_MS; // where its answers were late it was not chosen
    relays.sweep(performance.now() + laterMs);
    return false;
  });
  t.deepEqual([relays.home(), relays.problem(), relays.carries(902)], [902, null, true]);
});

test('a relay that answers and lets nobody in is also left for one that is too slow to say in time how far it is', async (t) => {
  const refusing = await startRelay(t, {
    regionId: 901,
    admission: { admit: () => Promise.reject(new Error('its admin is away')), forget: () => {} },
  });
  const slow = await far(t, await startRelay(t, { regionId: 902 }), MEASURE_MS_MAX / 3);
  const { relays, privateKey } = open(t);
  relays.become(mapOfAll([refusing, slow]), privateKey);

  await until('the slow relay', () => {
    relays.sweep(performance.now());
    return relays.home() === 902;
  });

  t.deepEqual([relays.problem(), relays.carries(902)], [null, true]);
});

test('the relay where others look for a member stays connected until they were told of another, and a minute longer', async (t) => {
  const before = await startRelay(t, { regionId: 901 });
  const after = await startRelay(t, { regionId: 902 });
  const { relays, privateKey } = open(t);
  relays.become(mapWithHome([before, after], 901), privateKey);
  await until('the first home', () => relays.home() === 901);
  relays.told(901);

  relays.become(mapWithHome([before, after], 902), privateKey);
  await until('the other home', () => relays.home() === 902);
  relays.sweep(performance.now() + RELAY_IDLE_MS);
  const { opened } = before.relay.counters;
  relays.become(mapWithHome([before, after], 902), makeKeyPair().privateKey);
  await until('both, with the new key', () => !relays.isSearching && before.relay.counters.opened > opened);
  t.is(before.relay.count(), 1);

  relays.told(902);
  relays.sweep(performance.now() + RELAY_IDLE_MS / 2);
  t.is(before.relay.count(), 1);
  relays.sweep(performance.now() + RELAY_IDLE_MS);
  await until('the first relay to be left', () => before.relay.count() === 0);
  t.is(relays.home(), 902);
});
