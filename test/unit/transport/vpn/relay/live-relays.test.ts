/** The map of the relays inside admins, as the rows come and go. */
import test from 'ava';
import { LiveRelays } from '../../../../../transport/vpn/relay/live-relays.ts';
import { relayMapOf, type OwnRegion } from '../../../../../transport/vpn/relay/map.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { silentLog } from '../../../../support/log.ts';

const region = (id: number): OwnRegion => ({ id, code: `a${id}`, hostName: 'relay.test', port: 44_443, pin: null });

test('after an outage a relay whose admin has not checked in yet stays for one look, and then leaves the map', async (t) => {
  const clock = createFakeClock();
  let rows: readonly OwnRegion[] | null = [region(901), region(902), region(903)];
  const relays = new LiveRelays({
    read: async () => {
      if (rows === null) throw new Error('away');
      return rows;
    },
    clock,
    log: silentLog,
  });
  t.teardown(() => relays.stop());
  const look = async (found: readonly OwnRegion[] | null): Promise<readonly string[]> => {
    rows = found;
    clock.pass(5_000);
    await new Promise(setImmediate);
    return Object.keys((relays.map() as { readonly Regions: object } | null)?.Regions ?? {});
  };
  await relays.start();
  const whole = relays.version();

  t.deepEqual(await look(null), ['901', '902', '903']);
  t.deepEqual(await look([region(902)]), ['901', '902', '903']);
  t.is(relays.version(), whole);
  t.deepEqual(await look([region(901), region(902)]), ['901', '902']);
  t.deepEqual(await look([region(902)]), ['902']);
});

test('a map that is another one is told of once other admins have it too, who look at other times', async (t) => {
  const clock = createFakeClock();
  let rows = [region(901)];
  const [one, other] = [1, 2].map(() => {
    const relays = new LiveRelays({ read: async () => rows, clock, log: silentLog });
    t.teardown(() => relays.stop());
    return relays;
  }) as [LiveRelays, LiveRelays];
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    await new Promise(setImmediate);
  };
  await one.start();
  const before = one.version();
  t.not(before, '');
  await pass(2_000);
  await other.start();

  rows = [region(901), region(902)];
  const published = JSON.stringify(relayMapOf(rows));
  const has = (relays: LiveRelays): boolean => JSON.stringify(relays.map()) === published;
  await pass(3_000);
  t.deepEqual([has(one), has(other), one.version()], [true, false, before]);
  await pass(2_000);
  t.deepEqual([has(one), has(other), one.version()], [true, true, before]);
  await pass(3_000);
  t.not(one.version(), before);
  await pass(2_000);
  t.is(other.version(), one.version());
});
