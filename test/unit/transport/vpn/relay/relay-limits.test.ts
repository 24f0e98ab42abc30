/** How much of a relay one client may use, over real TLS. */
import test from 'ava';
import { admittedRawClient, rawClient, type RawClient } from '../../../../support/vpn/raw-relay-client.ts';
import { connectedClient, startClient, startRelay } from '../../../../support/vpn/relay.ts';
import { until } from '../../../../support/until.ts';
import { encodeFrame, FRAME, newBoxKeys } from '../../../../../transport/vpn/derp/protocol.ts';
import {
  BYTES_BURST_MAX,
  FRAME_COST_BYTES_MIN,
  WAITING_PACKETS_MAX,
} from '../../../../../transport/vpn/relay/limits.ts';

test('connections with one key are few: the oldest goes', async (t) => {
  const { port, relay } = await startRelay(t);
  const keys = newBoxKeys();

  const clients: RawClient[] = [];
  for (let index = 0; index < 5; index += 1) clients.push(await admittedRawClient(t, port, keys));
  await until('the oldest two are gone', () => clients[0]?.isClosed() === true && clients[1]?.isClosed() === true);

  t.deepEqual([relay.count(), clients.slice(2).map((client) => client.isClosed())], [3, [false, false, false]]);
});

test('a frame that is too large ends its connection, and no other', async (t) => {
  const { port, region, relay } = await startRelay(t);
  const [hostile, unknown, good] = [
    await admittedRawClient(t, port),
    await rawClient(t, port),
    await connectedClient(t, region),
  ];
  const header = (type: number, bytes: number): Buffer => {
    const head = Buffer.alloc(5, type);
    head.writeUInt32BE(bytes, 1);
    return head;
  };

  hostile.write(header(FRAME.sendPacket, 32 + 65_537));
  unknown.write(header(FRAME.clientInfo, 8_193));
  await until('both are cut', () => hostile.isClosed() && unknown.isClosed());

  t.deepEqual([relay.count(), good.connection.isOpen], [1, true]);
});

test('who says nothing is cut when the handshake should be over', async (t) => {
  const { port, relay } = await startRelay(t, { handshakeMsMax: 4_000 }); // it has that long to come, too
  const silent = await rawClient(t, port);

  await until('it is cut', () => silent.isClosed());

  t.is(relay.counters.refused.handshake, 1);
});

test('a client that reads nothing loses its oldest packets, costs bounded memory, and slows no other', async (t) => {
  const { port, region, relay } = await startRelay(t, { bytesPerSecondMax: 1_000_000_000 });
  const [slow, flooder, one, other] = [
    await admittedRawClient(t, port),
    await admittedRawClient(t, port),
    await connectedClient(t, region),
    await connectedClient(t, region),
  ];
  slow.pause();
  const packet = encodeFrame(FRAME.sendPacket, slow.keys.publicKey, Buffer.alloc(16_000, 7));

  const flood = Buffer.concat(Array<Buffer>(64).fill(packet));
  await until('packets are dropped', () => {
    flooder.write(flood);
    return relay.counters.dropped.slow > WAITING_PACKETS_MAX;
  });
  one.connection.send(other.publicKey, Buffer.from('past it'));
  await until('another packet', () => other.packets.length === 1);

  t.pass();
});

test('who sends more than its share is read no faster', async (t) => {
  const bytesPerSecondMax = 100_000;
  const { port, relay } = await startRelay(t, { bytesPerSecondMax });
  const startedMs = performance.now();
  const [flooder, sink] = [await admittedRawClient(t, port), await admittedRawClient(t, port)];
  const packet = encodeFrame(FRAME.sendPacket, sink.keys.publicKey, Buffer.alloc(60_000, 7));

  await until('more than its burst', () => {
    for (let index = 0; index < 20; index += 1) flooder.write(packet);
    return relay.counters.bytes > BYTES_BURST_MAX + 200_000;
  });

  const allowed = BYTES_BURST_MAX + ((performance.now() - startedMs) * bytesPerSecondMax) / 1_000;
  t.true(relay.counters.bytes <= allowed + 131_072, `${relay.counters.bytes} of ${allowed}`); // one read may be over
  t.false(flooder.isClosed());
});

test('the share is that of a key, not of each of its connections', async (t) => {
  const bytesPerSecondMax = 400_000;
  const { port, relay } = await startRelay(t, { bytesPerSecondMax });
  const startedMs = performance.now();
  const keys = newBoxKeys();
  const sink = await admittedRawClient(t, port);
  const flooders = await Promise.all([1, 2, 3].map(() => admittedRawClient(t, port, keys)));
  const packet = encodeFrame(FRAME.sendPacket, sink.keys.publicKey, Buffer.alloc(60_000, 7));

  await until('more than the burst of one', () => {
    for (let index = 0; index < 20; index += 1) for (const flooder of flooders) flooder.write(packet);
    return relay.counters.bytes > BYTES_BURST_MAX + 1_000_000;
  });

  const allowed = BYTES_BURST_MAX + ((performance.now() - startedMs) * bytesPerSecondMax) / 1_000;
  // one read of each may be over
  t.true(relay.counters.bytes <= allowed + 3 * 131_072, `${relay.counters.bytes} of ${allowed}`);
});

test('a flood of small packets costs what they cost to serve', async (t) => {
  const bytesPerSecondMax = 100_000;
  const { port, relay } = await startRelay(t, { bytesPerSecondMax });
  const startedMs = performance.now();
  const [flooder, sink] = [await admittedRawClient(t, port), await admittedRawClient(t, port)];
  const packets = Buffer.concat(
    Array.from({ length: 1_000 }, () => encodeFrame(FRAME.sendPacket, sink.keys.publicKey, Buffer.alloc(1, 7))),
  );

  await until('the burst', () => {
    flooder.write(packets);
    return relay.counters.packets > BYTES_BURST_MAX / FRAME_COST_BYTES_MIN;
  });

  const allowed =
    (BYTES_BURST_MAX + ((performance.now() - startedMs) * bytesPerSecondMax) / 1_000) / FRAME_COST_BYTES_MIN;
  t.true(relay.counters.packets <= allowed + 131_072 / 38, `${relay.counters.packets} of ${allowed}`);
});

test('with no room left the next connection is closed, and there is room again when one leaves', async (t) => {
  const { region, relay } = await startRelay(t, { connectionsMax: 2 });
  const [one] = [await connectedClient(t, region), await connectedClient(t, region)];

  const waiting = startClient(t, region);
  await until('it is turned away', () => relay.counters.refused.crowded > 0);
  t.false(waiting.connection.isOpen);
  one.connection.close();

  await until('there is room', () => waiting.connection.isOpen);
  t.is(relay.count(), 2);
});
