/** A relay and its clients over real TLS. */
import test from 'ava';
import { connectedClient, startRelay } from '../../support/relay.ts';
import { until } from '../../support/until.ts';

test('two clients exchange packets through a relay that is known by the hash of its certificate', async (t) => {
  const { region, relay } = await startRelay(t);
  const [one, other] = await Promise.all([connectedClient(t, region), connectedClient(t, region)]);

  t.true(one.connection.send(other.publicKey, Buffer.from('there')));
  await until('the packet', () => other.packets.length === 1);
  t.true(other.connection.send(one.publicKey, Buffer.from('and back')));
  await until('the answer', () => one.packets.length === 1);

  t.deepEqual(other.packets, [{ from: one.publicKey, packet: Buffer.from('there') }]);
  t.deepEqual(one.packets, [{ from: other.publicKey, packet: Buffer.from('and back') }]);
  t.deepEqual([relay.counters.packets, relay.counters.bytes, relay.count()], [2, 13, 2]);
});
