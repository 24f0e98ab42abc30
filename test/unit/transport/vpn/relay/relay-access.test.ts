/** Who gets into a relay, and who reaches whom, over real TLS. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { BUSY_MS, scaled } from '../../../../support/busy.ts';
import { admittedRawClient, rawClient } from '../../../../support/vpn/raw-relay-client.ts';
import { connectedClient, startClient, startRelay } from '../../../../support/vpn/relay.ts';
import { until } from '../../../../support/until.ts';
import { encodeFrame, FRAME, newBoxKeys, openJson, sealJson } from '../../../../../transport/vpn/derp/protocol.ts';
import type { Admitted } from '../../../../../transport/vpn/relay/admission.ts';

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

test('an unknown key gets in nowhere, and one whose rows cannot be read does not either, until they can', async (t) => {
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

  t.true(performance.now() - startedMs < scaled(1_000 + BUSY_MS)); // E5
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
