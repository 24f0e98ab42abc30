/** A relay and its clients over real TLS: who gets in, who reaches whom, and what nobody gets away with. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:tls';
import test from 'ava';
import { BUSY_MS, patient } from '../../../../support/busy.ts';
import { startPickyProxy } from '../../../../support/picky-proxy.ts';
import { admittedRawClient, rawClient, type RawClient } from '../../../../support/raw-relay-client.ts';
import { connectedClient, openAdmission, startClient, startRelay } from '../../../../support/relay.ts';
import { until } from '../../../../support/until.ts';
import { newBoxKeys, openJson, sealJson } from '../../../../../transport/vpn/derp/box.ts';
import { encodeFrame, FRAME } from '../../../../../transport/vpn/derp/frames.ts';
import {
  BYTES_BURST_MAX,
  FRAME_COST_BYTES_MIN,
  WAITING_PACKETS_MAX,
} from '../../../../../transport/vpn/relay/limits.ts';
import type { Admitted } from '../../../../../transport/vpn/relay/admission.ts';

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

test('packets come whole and in order, of any size up to the largest', async (t) => {
  const { region } = await startRelay(t);
  const [one, other] = await Promise.all([connectedClient(t, region), connectedClient(t, region)]);
  const packets = [0, 1, 31, 1_420, 16_384, 65_535, 65_536].map((bytes) => randomBytes(bytes));

  for (const packet of packets) t.true(one.connection.send(other.publicKey, packet));
  await until('all packets', () => other.packets.length === packets.length);

  t.deepEqual(
    other.packets.map(({ packet }) => packet),
    packets,
  );
  t.false(one.connection.send(other.publicKey, Buffer.alloc(65_537)));
  t.false(one.connection.send('no key', Buffer.alloc(1)));
});

test('a proxy that passes no upgrade but a WebSocket is passed as a WebSocket, and asked for that first the next time', async (t) => {
  const started = await startRelay(t);
  const proxy = await startPickyProxy(t, started.port);
  const [one, other] = [await connectedClient(t, proxy.region), await connectedClient(t, started.region)];

  one.connection.send(other.publicKey, Buffer.from('through'));
  await until('the packet', () => other.packets.length === 1);
  started.relay.forget(one.publicKey);
  await until('the second connection', () => one.opened === 2);

  t.deepEqual(proxy.upgrades, ['DERP', 'websocket', 'websocket']);
});

test('a client that does not own the key that it shows is cut before it is anybody', async (t) => {
  const { port, relay } = await startRelay(t);
  const [victim, own] = [newBoxKeys(), newBoxKeys()];
  const forger = await rawClient(t, port);
  const replayer = await rawClient(t, port);
  const other = await rawClient(t, port);

  forger.write(
    encodeFrame(FRAME.clientInfo, victim.publicKey, sealJson({ version: 2 }, forger.serverKey, own.privateKey)),
  );
  replayer.write(encodeFrame(FRAME.clientInfo, victim.publicKey, randomBytes(200)));
  other.write(encodeFrame(FRAME.sendPacket, victim.publicKey, Buffer.from('before any introduction')));
  await until('all are cut', () => forger.isClosed() && replayer.isClosed() && other.isClosed());

  t.deepEqual([relay.count(), relay.counters.opened, relay.counters.refused.handshake], [0, 0, 3]);
});

test('a proof that is for another relay opens nothing here', async (t) => {
  const [here, there] = await Promise.all([startRelay(t), startRelay(t)]);
  const keys = newBoxKeys();
  const [client, elsewhere] = [await rawClient(t, here.port, keys), await rawClient(t, there.port, keys)];

  client.write(
    encodeFrame(FRAME.clientInfo, keys.publicKey, sealJson({ version: 2 }, elsewhere.serverKey, keys.privateKey)),
  );

  await until('it is cut', () => client.isClosed());
  t.is(here.relay.counters.opened, 0);
});

test('the relay proves its key, too', async (t) => {
  const { port } = await startRelay(t);
  const client = await admittedRawClient(t, port);

  const info = openJson(await client.seen(FRAME.serverInfo), client.serverKey, client.keys.privateKey);

  t.is((info as { readonly value: { readonly version: number } } | null)?.value.version, 2);
});

test('a stranger gets in nowhere, and one whose rows cannot be read does not either, until they can', async (t) => {
  let answer: Admitted | null | Error = null;
  const { region, relay } = await startRelay(t, {
    admission: { forget: () => {}, admit: async () => (answer instanceof Error ? Promise.reject(answer) : answer) },
  });
  const knocking = startClient(t, region);

  await until('a refusal', () => relay.counters.refused.unknown > 0);
  answer = new Error('away');
  await until('another one', () => relay.counters.refused.unavailable > 0);
  t.false(knocking.connection.isOpen);
  answer = { clusters: new Set(['one']) };

  await until('it is let in', () => knocking.connection.isOpen);
  t.is(relay.count(), 1);
});

test('a packet passes only between members of one cluster; a gateway of several reaches the members of each', async (t) => {
  const clusters = new Map<string, Set<string>>();
  const { region, relay } = await startRelay(t, {
    admission: { forget: () => {}, admit: async (key) => ({ clusters: clusters.get(key) ?? new Set() }) },
  });
  const keys = [['red'], ['red'], ['blue'], ['red', 'blue']].map((names) => {
    const pair = newBoxKeys();
    clusters.set(pair.publicKey.toString('base64'), new Set(names));
    return pair.privateKey.toString('base64');
  });
  const [red, alsoRed, blue, gateway] = await Promise.all(
    keys.map((privateKey) => connectedClient(t, region, { privateKey })),
  );
  if (!red || !alsoRed || !blue || !gateway) throw new Error('four clients');

  red.connection.send(blue.publicKey, Buffer.from('foreign'));
  blue.connection.send(red.publicKey, Buffer.from('foreign'));
  red.connection.send(alsoRed.publicKey, Buffer.from('own'));
  gateway.connection.send(red.publicKey, Buffer.from('from the gateway'));
  blue.connection.send(gateway.publicKey, Buffer.from('to the gateway'));
  await until(
    'what may pass',
    () => alsoRed.packets.length === 1 && red.packets.length === 1 && gateway.packets.length === 1,
  );

  t.deepEqual(
    [red, alsoRed, blue, gateway].map(({ packets }) => packets.map(({ packet }) => packet.toString())),
    [['from the gateway'], ['own'], [], ['to the gateway']],
  );
  t.deepEqual(relay.counters.dropped, { absent: 0, foreign: 2, slow: 0 });
});

test('a key that is forgotten is out at once, and what it may is asked anew', async (t) => {
  const known = new Set<string>();
  const { region, relay } = await startRelay(t, {
    admission: { forget: () => {}, admit: async (key) => (known.has(key) ? { clusters: new Set(['one']) } : null) },
  });
  const pair = newBoxKeys();
  known.add(pair.publicKey.toString('base64'));
  const client = await connectedClient(t, region, { privateKey: pair.privateKey.toString('base64') });

  known.clear();
  const startedMs = performance.now();
  relay.forget(client.publicKey);
  await until('it is out', () => !client.connection.isOpen);

  t.true(performance.now() - startedMs < patient(1_000 + BUSY_MS)); // E5
  await until('it is refused', () => relay.counters.refused.unknown > 0);
  t.is(relay.count(), 0);
});

test('who leaves a cluster is out of the relay, or in its new cluster, soon after the cluster changed', async (t) => {
  const clusters = new Map<string, string[]>();
  const { region, relay } = await startRelay(t, {
    admission: {
      forget: () => {},
      admit: async (key) => (clusters.has(key) ? { clusters: new Set(clusters.get(key)) } : null),
    },
  });
  const [gone, moved, stays] = await Promise.all(
    [0, 1, 2].map(async () => {
      const pair = newBoxKeys();
      clusters.set(pair.publicKey.toString('base64'), ['red']);
      return connectedClient(t, region, { privateKey: pair.privateKey.toString('base64') });
    }),
  );
  if (!gone || !moved || !stays) throw new Error('three clients');

  clusters.delete(gone.publicKey);
  clusters.set(moved.publicKey, ['blue']);
  relay.changed('red');
  await until('one is out', () => relay.count() === 2);
  stays.connection.send(moved.publicKey, Buffer.from('to its old cluster'));
  await until('it is dropped', () => relay.counters.dropped.foreign === 1);

  t.deepEqual([moved.packets, moved.opened, stays.opened], [[], 1, 1]);
});

test('of two connections with one key the last to send gets the packets, and both are told', async (t) => {
  const { region } = await startRelay(t);
  const privateKey = newBoxKeys().privateKey.toString('base64');
  const [first, peer] = [await connectedClient(t, region, { privateKey }), await connectedClient(t, region)];
  const second = await connectedClient(t, region, { privateKey });
  await until('both are told', () => first.warnings.length === 1 && second.warnings.length === 1);

  peer.connection.send(first.publicKey, Buffer.from('to the newer'));
  await until('the newer has it', () => second.packets.length === 1);
  first.connection.send(peer.publicKey, Buffer.from('I am here'));
  await until('that', () => peer.packets.length === 1);
  peer.connection.send(first.publicKey, Buffer.from('to the active'));
  await until('the active has it', () => first.packets.length === 1);
  second.connection.close();
  await until('all is well', () => first.warnings.at(-1) === '');

  t.deepEqual(
    [first.packets, second.packets].map((packets) => packets.map(({ packet }) => packet.toString())),
    [['to the active'], ['to the newer']],
  );
  t.regex(first.warnings[0] ?? '', /same key/u);
});

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
  const [hostile, stranger, good] = [
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
  stranger.write(header(FRAME.clientInfo, 8_193));
  await until('both are cut', () => hostile.isClosed() && stranger.isClosed());

  t.deepEqual([relay.count(), good.connection.isOpen], [1, true]);
});

test('frames of unknown types, and of a mesh of relays, are passed over', async (t) => {
  const { port } = await startRelay(t);
  const [one, other] = [await admittedRawClient(t, port), await admittedRawClient(t, port)];

  for (const type of [0x00, 0x0a, 0x10, 0x11, 0x7f, 0xff, FRAME.serverKey, FRAME.receivedPacket, FRAME.clientInfo])
    one.write(encodeFrame(type, randomBytes(64)));
  one.write(encodeFrame(FRAME.ping, Buffer.from('12345678')));
  one.write(encodeFrame(FRAME.sendPacket, other.keys.publicKey, Buffer.from('still here')));

  t.deepEqual(await other.seen(FRAME.receivedPacket), Buffer.concat([one.keys.publicKey, Buffer.from('still here')]));
  t.deepEqual(await one.seen(FRAME.pong), Buffer.from('12345678'));
});

test('who says nothing is cut when the handshake should be over', async (t) => {
  const { port, relay } = await startRelay(t, { handshakeMsMax: 300 });
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

test('a probe gets its answer, and everything else that is no upgrade to DERP a status', async (t) => {
  const { port } = await startRelay(t, { admission: openAdmission });
  const ask = async (request: string): Promise<string> =>
    await new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () =>
        socket.write(`${request}\r\nHost: relay\r\nConnection: close\r\n\r\n`),
      );
      let text = '';
      socket
        .on('data', (chunk: Buffer) => {
          text += chunk.toString();
        })
        .on('close', () => resolve(text))
        .on('error', reject);
    });
  const upgrade = async (path: string, protocol: string): Promise<string> =>
    (await ask(`GET ${path} HTTP/1.1\r\nUpgrade: ${protocol}\r\nConnection: Upgrade`)).split('\r\n')[0] ?? '';

  const answers = await Promise.all(
    [
      'GET /derp/probe',
      'HEAD /derp/latency-check',
      'GET /generate_204',
      'GET /derp',
      'POST /derp/probe',
      'GET /x',
      'GET /derp-map.json',
    ].map((line) => ask(`${line} HTTP/1.1`)),
  );
  const upgrades = [await upgrade('/x', 'DERP'), await upgrade('/derp', 'h2c'), await upgrade('/derp', 'websocket')];

  t.deepEqual(
    answers.map((text) => text.slice(9, 12)),
    ['200', '200', '204', '426', '405', '404', '200'],
  );
  t.regex(answers[1] ?? '', /access-control-allow-origin: \*/iu);
  t.deepEqual(upgrades, ['HTTP/1.1 404 Not Found', 'HTTP/1.1 426 Upgrade Required', 'HTTP/1.1 426 Upgrade Required']);
});
