/**
 * Events by Kafka, end to end: a whole admin, a real server in every way of connecting, and kcat as the independent
 * client.
 */
import ava from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import { KAFKA_LOGIN, KAFKA_MODES, startKafka, takeKafka, type KafkaServer } from '../../../support/brokers/kafka.ts';
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { trust } from '../../../support/net/certificates.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { envelopes, eventsAcross, isWell, publishesWhatHappens, toldOnce } from './contract.ts';

const test = await peerTest('kafka', 'kcat');

const scope = createScope();
let kafka: KafkaServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  kafka = await startKafka(scope);
  trust(kafka.certificates);
});

ava.after.always('the server ends', () => scope.end());

/** What is in a topic. */
const taken = (topic: string) => takeKafka(kafka.at('PLAINTEXT'), topic, 1);

for (const { name, listener, env } of KAFKA_MODES) {
  test.serial(
    `signed in by ${name}, the admin publishes what happens to the topic of its kind, under its entity`,
    async (t) => {
      const admin = await startPublishingAdmin(t, 'kafka', { EVENT_BROKER_KAFKA_URLS: kafka.at(listener), ...env });

      const { execution } = await publishesWhatHappens(t, admin, async () =>
        [...(await taken('edge-commands-events')), ...(await taken('edge-core-events'))].map(({ text }) => text),
      );

      const told = (await taken('edge-commands-events')).filter(
        ({ text }) => (JSON.parse(text) as Envelope).data['command_execution_id'] === execution.id,
      );
      t.deepEqual([...new Set(told.map(({ key }) => key))], [execution.id]);
      t.is(new Set(told.map(({ partition }) => partition)).size, 1);
      t.true((await taken('edge-nodes-events')).some(({ key }) => key === execution.node_id));
    },
  );
}

test.serial(
  'a wrong password delays no command, is told once by the names of the settings, and is in no log line',
  async (t) => {
    const password = `${KAFKA_LOGIN.password}-wrong`;
    const admin = await startPublishingAdmin(t, 'kafka', {
      EVENT_BROKER_KAFKA_URLS: kafka.at('SASL_PLAINTEXT'),
      EVENT_BROKER_KAFKA_USERNAME: KAFKA_LOGIN.username,
      EVENT_BROKER_KAFKA_PASSWORD: password,
    });

    await toldOnce(
      t,
      admin,
      `Kafka at ${kafka.at('SASL_PLAINTEXT')} (EVENT_BROKER_KAFKA_URLS) cannot be used: it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD.`,
      [password],
    );
  },
);

test.serial(
  'a server that is killed while events flow has them all in its topic afterwards, each partition in order',
  async (t) => {
    const admin = await startPublishingAdmin(t, 'kafka', { EVENT_BROKER_KAFKA_URLS: kafka.at('PLAINTEXT') });
    const events = await eventsAcross(admin, { goes: () => kafka.process().kill(), comes: () => kafka.start() });

    const order = new Map(events.map(({ id }, index) => [id, index]));
    const found = await until('all events', async () => {
      const ours = (await takeKafka(kafka.at('PLAINTEXT'), 'edge-core-events', events.length)).filter(({ text }) =>
        order.has((JSON.parse(text) as Envelope).id),
      );
      return envelopes(ours.map(({ text }) => text)).length === events.length && ours;
    });
    for (const partition of new Set(found.map((message) => message.partition))) {
      const places = envelopes(found.filter((message) => message.partition === partition).map(({ text }) => text)).map(
        ({ id }) => order.get(id) ?? -1,
      );
      t.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
      );
    }
    await isWell(admin);
  },
);
