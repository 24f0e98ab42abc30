/**
 * Events by Kafka, end to end: a whole admin, a real server in every way of connecting, and kcat as the independent
 * client.
 */
import ava from 'ava';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Envelope } from '../../../../actors/events.ts';
import {
  KAFKA_LOGIN,
  KAFKA_MODES,
  startKafka,
  takeKafka,
  type KafkaMessage,
  type KafkaServer,
} from '../../../support/brokers/kafka.ts';
import { COMMAND_EVENT_TYPES, startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('kafka', 'kcat');

const scope = createScope();
let kafka: KafkaServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  kafka = await startKafka(scope);
  // as NODE_EXTRA_CA_CERTS does
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(kafka.certificates.ca, 'utf8')]);
});

ava.after.always('the server ends', () => scope.end());

/** Without repeats, as at least once is promised. */
function envelopes(messages: readonly KafkaMessage[]): Envelope[] {
  return [
    ...new Map(
      messages.map(({ text }) => JSON.parse(text) as Envelope).map((envelope) => [envelope.id, envelope]),
    ).values(),
  ];
}

for (const { name, listener, env } of KAFKA_MODES) {
  test.serial(
    `signed in by ${name}, the admin publishes what happens to the topic of its kind, under its entity`,
    async (t) => {
      const admin = await startPublishingAdmin(t, 'kafka', { EVENT_BROKER_KAFKA_URLS: kafka.at(listener), ...env });

      const [event] = await admin.testEvents(1);
      const execution = await admin.command();

      const told = await until('the end of the execution', async () => {
        const seen = (await takeKafka(kafka.at('PLAINTEXT'), 'edge-commands-events', 1)).filter(
          ({ key }) => key === execution.id,
        );
        return envelopes(seen).length >= COMMAND_EVENT_TYPES.length && seen;
      });
      t.deepEqual(
        envelopes(told).map(({ type, data }) => [type, data['command_execution_id']]),
        COMMAND_EVENT_TYPES.map((type) => [type, execution.id]),
      );
      t.is(new Set(told.map(({ partition }) => partition)).size, 1);
      t.deepEqual(
        envelopes(await takeKafka(kafka.at('PLAINTEXT'), 'edge-core-events', 1)).find(({ id }) => id === event?.id),
        event,
      );
      t.true(
        (await takeKafka(kafka.at('PLAINTEXT'), 'edge-nodes-events', 1)).some(({ key }) => key === execution.node_id),
      );
      t.is(await admin.brokerProblem(), null);
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

    await admin.testEvents(1);
    const execution = await admin.command();
    const line = await admin.log.seen(/events cannot be published now/u);

    t.is(execution.status, 'completed');
    t.like(line, {
      level: 'warn',
      fields: {
        error: `Kafka at ${kafka.at('SASL_PLAINTEXT')} (EVENT_BROKER_KAFKA_URLS) cannot be used: it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD.`,
      },
    });
    t.false(JSON.stringify(admin.log.lines).includes(password));
    t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached: \d+ events wait$/u);
  },
);

test.serial(
  'a server that is killed while events flow has them all in its topic afterwards, each partition in order',
  async (t) => {
    const admin = await startPublishingAdmin(t, 'kafka', { EVENT_BROKER_KAFKA_URLS: kafka.at('PLAINTEXT') });
    const events = [...(await admin.testEvents(30))];
    const flowing = admin.testEvents(150);

    kafka.process().kill();
    await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
    await kafka.start();
    events.push(...(await flowing), ...(await admin.testEvents(20)));

    const order = new Map(events.map(({ id }, index) => [id, index]));
    const found = await until('all events', async () => {
      const ours = (await takeKafka(kafka.at('PLAINTEXT'), 'edge-core-events', events.length)).filter(({ text }) =>
        order.has((JSON.parse(text) as Envelope).id),
      );
      return envelopes(ours).length === events.length && ours;
    });
    for (const partition of new Set(found.map((message) => message.partition))) {
      const places = envelopes(found.filter((message) => message.partition === partition)).map(
        ({ id }) => order.get(id) ?? -1,
      );
      t.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
      );
    }
    await until('health', async () => (await admin.brokerProblem()) === null);
  },
);

test('wrong settings stop the start, with a line that names each', (t) => {
  const URLS = { EVENT_BROKER_KAFKA_URLS: '127.0.0.1:9092' };
  const problem = (env: Readonly<Record<string, string>>): string =>
    t.throws(() => brokerSettings('kafka', env)).message;

  t.regex(problem({}), /^EVENT_BROKER_KAFKA_URLS is not set: /u);
  for (const urls of ['127.0.0.1', 'kafka://127.0.0.1:9092', '127.0.0.1:99999', 'edge:word@127.0.0.1:9092'])
    t.regex(
      problem({ EVENT_BROKER_KAFKA_URLS: urls }),
      /^EVENT_BROKER_KAFKA_URLS .*a comma-separated list of host:port/u,
    );
  t.regex(problem({ ...URLS, EVENT_BROKER_KAFKA_USERNAME: 'edge' }), /^EVENT_BROKER_KAFKA_PASSWORD is not set: /u);
  t.regex(problem({ ...URLS, EVENT_BROKER_KAFKA_PASSWORD: 'word' }), /^EVENT_BROKER_KAFKA_USERNAME is not set: /u);
  t.regex(problem({ ...URLS, EVENT_BROKER_KAFKA_SASL_MECHANISM: 'gssapi' }), /^EVENT_BROKER_KAFKA_SASL_MECHANISM /u);
});
