/**
 * Events by NATS, end to end: a whole admin, a real server in every way of signing in, and a reader in the raw
 * protocol.
 */
import type { Envelope } from '../../../../actors/events.ts';
import { NATS_MODES, startNats } from '../../../support/brokers/nats.ts';
import { storedIn, type NatsReader } from '../../../support/brokers/nats-reader.ts';
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { trust } from '../../../support/net/certificates.ts';
import { openGate } from '../../../support/net/gate.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { arrivesLater, eventsAcross, isWell, publishesWhatHappens, toldOnce } from './contract.ts';

const { serial: test } = await peerTest('nats-server'); // serial: an admin each

/** What a reader got. */
const textsOf = (reader: NatsReader) => () => reader.messages.map(({ text }) => text);

for (const mode of NATS_MODES) {
  test(`signed in by ${mode}, the admin publishes what happens under its type`, async (t) => {
    const server = await startNats(t, mode);
    const reader = await server.read('edge.>');
    trust(server.certificates);
    const admin = await startPublishingAdmin(t, 'nats', {
      ...server.env,
      EVENT_BROKER_NATS_JETSTREAM: String(mode !== 'none'),
    });

    await publishesWhatHappens(t, admin, textsOf(reader));

    t.deepEqual(
      reader.messages.map(({ subject }) => subject),
      reader.messages.map(({ text }) => (JSON.parse(text) as Envelope).type),
    );
  });
}

test('a server that is killed while events flow has them all in its stream afterwards, once each and in order', async (t) => {
  const server = await startNats(t, 'token');
  const admin = await startPublishingAdmin(t, 'nats', { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  const events = await eventsAcross(admin, { goes: () => server.kill(), comes: () => server.start() });

  const reader = await server.read();
  await until('all events', async () => (await storedIn(reader, 'EDGE_CORE_EVENTS')).length >= events.length);
  t.deepEqual(
    (await storedIn(reader, 'EDGE_CORE_EVENTS')).map((text) => (JSON.parse(text) as Envelope).id),
    events.map(({ id }) => id),
  );
  await isWell(admin);
});

test('without JetStream, what happens while the server is away reaches who is there when it is back, in order', async (t) => {
  const server = await startNats(t, 'user');
  const gate = await openGate(t, server.port);
  const admin = await startPublishingAdmin(t, 'nats', {
    ...server.env,
    EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${gate.port}`,
  });
  const before = await server.read('edge.>');

  await arrivesLater(t, admin, {
    gate,
    before: textsOf(before),
    goes: () => server.kill(),
    comes: async () => {
      await server.start();
      return textsOf(await server.read('edge.>'));
    },
  });
});

test('a wrong credential delays no command, is told once by the name of its setting, and is in no log line', async (t) => {
  const server = await startNats(t, 'token');
  const admin = await startPublishingAdmin(t, 'nats', { ...server.env, ...server.wrong?.env });

  await toldOnce(t, admin, `NATS at 127.0.0.1:${server.port} cannot be used: it refuses EVENT_BROKER_NATS_TOKEN.`, [
    server.wrong?.secret ?? '',
  ]);
});
