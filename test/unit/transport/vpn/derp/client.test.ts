/** A client of relays that come and go, lie, or say nothing. */
import test from 'ava';
import { openGate } from '../../../../support/net/gate.ts';
import { connectedClient, lyingRelay, startClient, startRelay } from '../../../../support/vpn/relay.ts';
import { until } from '../../../../support/until.ts';
import { encodeFrame, FRAME, MAGIC, newBoxKeys, sealJson } from '../../../../../transport/vpn/derp/protocol.ts';
import type { RelayNode, RelayRegion } from '../../../../../transport/vpn/relay-map/map.ts';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';

const withPort = (node: RelayNode, port: number): RelayNode => ({ ...node, port });

test('a client that lost its relay comes back by itself, as often as it is lost', async (t) => {
  const { region, port } = await startRelay(t);
  const gate = await openGate(t, port);
  const [one, other] = [
    await connectedClient(t, { nodes: [withPort(region.nodes[0], gate.port)] }),
    await connectedClient(t, region),
  ];

  for (let round = 1; round <= 3; round += 1) {
    gate.shut();
    await until('it is lost', () => !one.connection.isOpen);
    t.false(one.connection.send(other.publicKey, Buffer.from('lost')));
    gate.open();
    await until('it is back', () => one.opened === round + 1);
  }
  one.connection.send(other.publicKey, Buffer.from('back'));

  await until('the packet', () => other.packets.length === 1);
  t.true(one.problems.length >= 3);
});

test('when a relay is killed, the next relay of its region takes its clients', async (t) => {
  const [first, second] = await Promise.all([startRelay(t, { regionId: 920 }), startRelay(t, { regionId: 921 })]);
  const region = { nodes: [first.region.nodes[0], second.region.nodes[0]] as const };
  const [one, other] = await Promise.all([connectedClient(t, region), connectedClient(t, region)]);
  t.deepEqual([first.relay.count(), second.relay.count()], [2, 0]);

  await first.stop();
  await until(
    'both are at the other one',
    () => second.relay.count() === 2 && one.connection.isOpen && other.connection.isOpen,
  );
  one.connection.send(other.publicKey, Buffer.from('by the second'));

  await until('the packet', () => other.packets.length === 1);
  t.deepEqual(other.packets, [{ from: one.publicKey, packet: Buffer.from('by the second') }]);
});

test('two regions are two connections: the end of one relay touches only those who wait there', async (t) => {
  const [here, there] = await Promise.all([startRelay(t, { regionId: 930 }), startRelay(t, { regionId: 931 })]);
  const privateKey = newBoxKeys().privateKey.toString('base64');
  const [mine, mineThere] = await Promise.all([
    connectedClient(t, here.region, { privateKey, isHome: true }),
    connectedClient(t, there.region, { privateKey }),
  ]);
  const [neighbour, stranger] = await Promise.all([connectedClient(t, here.region), connectedClient(t, there.region)]);

  await there.stop();
  await until('that one is lost', () => !mineThere.connection.isOpen && mineThere.problems.length > 0);
  t.false(mineThere.connection.send(stranger.publicKey, Buffer.from('nobody')));
  mine.connection.send(neighbour.publicKey, Buffer.from('as before'));

  await until('the packet', () => neighbour.packets.length === 1);
  t.deepEqual([mine.opened, mine.problems], [1, []]);
});

test('a relay whose certificate is not the pinned one, or that nobody vouches for, is spoken to by nobody', async (t) => {
  const { region, relay, certificate } = await startRelay(t);
  const [node] = region.nodes;
  const other = startClient(t, { nodes: [{ ...node, identity: { kind: 'pin', sha256: '00'.repeat(32) } }] });
  const unknown = startClient(t, { nodes: [{ ...node, identity: { kind: 'name', name: '127.0.0.1' } }] });
  const misnamed = startClient(
    t,
    { nodes: [{ ...node, identity: { kind: 'name', name: 'relay.example.com' } }] },
    { reach: { ca: certificate } },
  );

  await until('problems of all', () => [other, unknown, misnamed].every(({ problems }) => problems.length > 0));

  t.regex(other.problems[0] ?? '', /not the one of the relay map/u);
  t.regex(unknown.problems[0] ?? '', /TLS with 127\.0\.0\.1 failed: DEPTH_ZERO_SELF_SIGNED_CERT/u);
  t.regex(misnamed.problems[0] ?? '', /ERR_TLS_CERT_ALTNAME_INVALID/u);
  t.is(relay.counters.opened, 0);
  await t.notThrowsAsync(connectedClient(t, { nodes: [{ ...node, identity: { kind: 'unverified' } }] }));
});

test('a map leads nobody to a metadata service, and to no host that the guard refuses', async (t) => {
  const { region } = await startRelay(t);
  const [node] = region.nodes;
  const metadata = startClient(t, { nodes: [{ ...node, addresses: ['169.254.169.254'] }] });
  const refused = startClient(t, region, { reach: { vet: createVet({ allowPrivate: false }) } });

  await until('both problems', () => metadata.problems.length > 0 && refused.problems.length > 0);

  t.regex(metadata.problems[0] ?? '', /must not be reached/u);
  t.regex(refused.problems[0] ?? '', /must not be reached/u);
});

test('a relay that does not own its key, speaks something else, or announces too much, is left', async (t) => {
  const pair = newBoxKeys();
  const liars = await Promise.all([
    lyingRelay(t, (socket) => socket.write(encodeFrame(FRAME.serverKey, Buffer.from('SMTP...!'), pair.publicKey))),
    lyingRelay(t, (socket) => {
      socket.write(encodeFrame(FRAME.serverKey, MAGIC, pair.publicKey));
      socket.once('data', (chunk: Buffer) =>
        socket.write(
          encodeFrame(FRAME.serverInfo, sealJson({ version: 2 }, chunk.subarray(5, 37), newBoxKeys().privateKey)),
        ),
      );
    }),
    lyingRelay(t, (socket) => socket.write(Buffer.from([1, 0xff, 0, 0, 0]))),
  ]);
  const clients = liars.map((region) => startClient(t, region));

  await until('all are left', () => clients.every(({ problems }) => problems.length > 0));

  t.deepEqual(
    clients.map(({ opened }) => opened),
    [0, 0, 0],
  );
  t.regex(clients[0]?.problems[0] ?? '', /does not speak DERP/u);
  t.regex(clients[2]?.problems[0] ?? '', /above the 1048576/u);
});

test('a relay that falls silent is left, and one that only lives is not', async (t) => {
  const silent = await lyingRelay(t, (socket) => {
    const pair = newBoxKeys();
    socket.write(encodeFrame(FRAME.serverKey, MAGIC, pair.publicKey));
    socket.once('data', (chunk: Buffer) =>
      socket.write(encodeFrame(FRAME.serverInfo, sealJson({ version: 2 }, chunk.subarray(5, 37), pair.privateKey))),
    );
  });
  const { region } = await startRelay(t);
  const [left, kept] = [
    startClient(t, silent, { pingMs: 50, silenceMsMax: 1_000 }),
    await connectedClient(t, region, { pingMs: 50, silenceMsMax: 20_000 }),
  ];

  // before it is open a busy machine may be silent for as long, and is tried again
  await until(
    'it is left, and was open',
    () => left.opened >= 1 && left.problems.some((problem) => problem.includes('silent for 1000 ms')),
  );
  t.deepEqual([kept.opened, kept.problems], [1, []]); // its pings are answered
});

test('nothing is queued for a relay that reads nothing: what is too much is dropped, and said so', async (t) => {
  const stuck = await lyingRelay(t, (socket) => {
    const pair = newBoxKeys();
    socket.write(encodeFrame(FRAME.serverKey, MAGIC, pair.publicKey));
    socket.once('data', (chunk: Buffer) => {
      socket.write(encodeFrame(FRAME.serverInfo, sealJson({ version: 2 }, chunk.subarray(5, 37), pair.privateKey)));
      socket.pause();
    });
  });
  const client = await connectedClient(t, stuck);
  const peer = newBoxKeys().publicKey.toString('base64');
  const packet = Buffer.alloc(60_000);

  t.deepEqual(
    [0, 1, 2, 3, 4].map(() => client.connection.send(peer, packet)),
    [true, true, true, true, false],
  ); // 256 KiB in one turn
  let taken = 0;
  await until('nothing goes any more', async () => {
    let isTaken = false;
    for (let index = 0; index < 20; index += 1) isTaken = client.connection.send(peer, packet) || isTaken;
    if (isTaken) taken += 1;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    return !isTaken && taken > 0;
  });

  t.true(client.connection.isOpen);
});

test('a closed client never connects again', async (t) => {
  const { region, relay } = await startRelay(t);
  const client = await connectedClient(t, region);

  client.connection.close();
  await until('it is gone', () => relay.count() === 0);

  t.deepEqual(
    [
      client.connection.isOpen,
      client.connection.send(client.publicKey, Buffer.alloc(1)),
      client.opened,
      client.problems,
    ],
    [false, false, 1, []],
  );
});

test('a private key that is none is refused at once', (t) => {
  t.throws(() => startClient(t, { nodes: [] as unknown as RelayRegion['nodes'] }, { privateKey: 'none' }), {
    message: /32 bytes in base64/u,
  });
});
