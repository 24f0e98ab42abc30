/** The map of the relays inside admins, as the rows come and go. */
import test from 'ava';
import { LiveRelays } from '../../../../../transport/vpn/relay/live-relays.ts';
import type { OwnRegion } from '../../../../../transport/vpn/relay/map.ts';
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
