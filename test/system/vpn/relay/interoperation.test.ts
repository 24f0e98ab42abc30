/**
 * Our client through the real derper, and a client of its Go module through our relay. Both over TLS, to certificates
 * that relay maps pin.
 */
import { peerTest } from '../../../support/run/peer-test.ts';
import { startDerper, startGoClient } from '../../../support/vpn/derper.ts';
import { startPickyProxy } from '../../../support/vpn/picky-proxy.ts';
import { connectedClient, startRelay } from '../../../support/vpn/relay.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('derper');

test('our clients exchange packets through derper, among themselves and with one of its module', async (t) => {
  const { region, derpMap } = await startDerper(t);
  const [one, other] = await Promise.all([connectedClient(t, region, { isHome: true }), connectedClient(t, region)]);
  const theirs = await startGoClient(t, derpMap, region.id);

  one.connection.send(other.publicKey, Buffer.alloc(1_400, 1));
  one.connection.send(theirs.publicKey, Buffer.alloc(60_000, 2));
  await until('both packets', () => other.packets.length === 1 && theirs.packets.length === 1);
  theirs.send(one.publicKey, Buffer.from('from Go'));
  await until('the answer', () => one.packets.length === 1);

  t.deepEqual(other.packets, [{ from: one.publicKey, packet: Buffer.alloc(1_400, 1) }]);
  t.deepEqual(theirs.packets, [{ from: one.publicKey, packet: Buffer.alloc(60_000, 2) }]);
  t.deepEqual(one.packets, [{ from: theirs.publicKey, packet: Buffer.from('from Go') }]);
});

test('clients of the Go module exchange packets through our relay, among themselves and with one of ours', async (t) => {
  const { region, derpMap } = await startRelay(t);
  const [one, other, ours] = await Promise.all([
    startGoClient(t, derpMap, region.id),
    startGoClient(t, derpMap, region.id),
    connectedClient(t, region),
  ]);

  one.send(other.publicKey, Buffer.alloc(60_000, 3));
  one.send(ours.publicKey, Buffer.from('to ours'));
  await until('both packets', () => other.packets.length === 1 && ours.packets.length === 1);
  ours.connection.send(one.publicKey, Buffer.from('from ours'));
  await until('the answer', () => one.packets.length === 1);

  t.deepEqual(other.packets, [{ from: one.publicKey, packet: Buffer.alloc(60_000, 3) }]);
  t.deepEqual(ours.packets, [{ from: one.publicKey, packet: Buffer.from('to ours') }]);
  t.deepEqual(one.packets, [{ from: ours.publicKey, packet: Buffer.from('from ours') }]);
});

test('our client reaches derper as a WebSocket through a proxy that passes no other upgrade', async (t) => {
  const { region } = await startDerper(t);
  const proxy = await startPickyProxy(t, region.nodes[0].port, 'relay.test');
  const [one, other] = await Promise.all([connectedClient(t, proxy.region), connectedClient(t, region)]);

  for (let index = 0; index < 20; index += 1) one.connection.send(other.publicKey, Buffer.alloc(1_000 + index, index));
  await until('all packets', () => other.packets.length === 20);
  other.connection.send(one.publicKey, Buffer.from('back'));
  await until('the answer', () => one.packets.length === 1);

  t.deepEqual(
    other.packets.map(({ packet }) => [packet.length, packet[0]]),
    Array.from({ length: 20 }, (_, index) => [1_000 + index, index]),
  );
  t.deepEqual(proxy.upgrades, ['DERP', 'websocket']);
});
