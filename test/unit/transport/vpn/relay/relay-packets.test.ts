/** What a relay carries between its clients, over real TLS, and what it answers to everybody else. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:tls';
import test from 'ava';
import { startPickyProxy } from '../../../../support/vpn/picky-proxy.ts';
import { admittedRawClient } from '../../../../support/vpn/raw-relay-client.ts';
import { connectedClient, openAdmission, startRelay } from '../../../../support/vpn/relay.ts';
import { until } from '../../../../support/until.ts';
import { encodeFrame, FRAME, newBoxKeys } from '../../../../../transport/vpn/derp/protocol.ts';

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
  const upgrades = [
    await upgrade('/x', 'DERP'),
    await upgrade('/derp', 'h2c'),
    await upgrade('/derp', 'websocket'),
    await upgrade('/derp/probe', 'h2c'),
  ];

  t.deepEqual(
    answers.map((text) => text.slice(9, 12)),
    ['200', '200', '204', '426', '405', '404', '200'],
  );
  t.regex(answers[1] ?? '', /access-control-allow-origin: \*/iu);
  t.deepEqual(upgrades, [
    'HTTP/1.1 404 Not Found',
    'HTTP/1.1 426 Upgrade Required',
    'HTTP/1.1 426 Upgrade Required',
    'HTTP/1.1 200 OK',
  ]);
});
