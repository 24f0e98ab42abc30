/**
 * Events by Pub/Sub, end to end: a whole admin, topics with ordered subscriptions, and an independent reader of these.
 */
import ava from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { consumePubSub, PUBSUB_PROJECT, startPubSub, type PubSubServer } from '../../../support/brokers/pubsub.ts';
import { openGate } from '../../../support/net/gate.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { arrivesInTheOrderOfEach, environment, publishesWhatHappens, toldOnce } from './contract.ts';

const test = await peerTest('pubsub');

const file = createScope();
let server: PubSubServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  server = await startPubSub(file);
});

ava.after.always('the server ends', () => file.end());

const settingsOf = (topicIdPrefix: string) => ({
  EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT: PUBSUB_PROJECT,
  EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX: topicIdPrefix,
});

for (const prefix of ['admin-', '']) {
  test.serial(
    `with the prefix "${prefix}", the admin publishes events with their type and the name of the core as attributes`,
    async (t) => {
      environment(t, { PUBSUB_EMULATOR_HOST: server.host });
      const consumer = await consumePubSub(t, server, prefix);
      const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', { ...settingsOf(prefix), CORE_NAME: 'plant-7' });

      await publishesWhatHappens(t, admin, () => consumer.messages().map(({ body }) => body));

      t.deepEqual(
        consumer.messages().map(({ attributes }) => attributes),
        consumer.messages().map(({ body }) => ({ type: (JSON.parse(body) as Envelope).type, corename: 'plant-7' })),
      );
    },
  );
}

test.serial(
  'what happens while the service cannot be reached arrives when it can, in the order of each execution',
  async (t) => {
    const gate = await openGate(t, Number(server.host.split(':')[1]));
    environment(t, { PUBSUB_EMULATOR_HOST: `127.0.0.1:${gate.port}` });
    const consumer = await consumePubSub(t, server, 'outage-');
    const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', settingsOf('outage-'));

    await arrivesInTheOrderOfEach(t, admin, gate, () => consumer.messages().map(({ body }) => body));
  },
);

test.serial('topics that are not there delay no command, and are told once by their name', async (t) => {
  environment(t, { PUBSUB_EMULATOR_HOST: server.host });
  const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', settingsOf('nowhere-'));

  await toldOnce(
    t,
    admin,
    /^Pub\/Sub does not take events for projects\/edge-tests\/topics\/nowhere-edge-[a-z-]+-events: the topic does not exist\.$/u,
    [],
  );
});

test.serial('credentials that are missing are told once, and the admin lives on', async (t) => {
  environment(t, { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file.json', METADATA_SERVER_DETECTION: 'none' });
  const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', settingsOf('any-'));

  await admin.testEvents(1);
  const line = await admin.log.seen(/events cannot be published now/u);

  t.regex(
    (line.fields as { readonly error: string }).error,
    /^There are no credentials for Pub\/Sub in the standard chain .*\/no\/such\/file\.json/u,
  );
  t.is((await admin.command()).status, 'completed');
});
