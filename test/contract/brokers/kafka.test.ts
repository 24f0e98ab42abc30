import ava, { type ExecutionContext } from 'ava';
import { openKafka } from '../../../transport/events/brokers/kafka.ts';
import { brokerEvent, numberedEvents } from '../../support/brokers/events.ts';
import {
  KAFKA_LOGIN,
  KAFKA_MODES,
  KAFKA_PARTITIONS,
  startKafka,
  takeKafka,
  type KafkaListener,
  type KafkaServer,
} from '../../support/brokers/kafka.ts';
import { trust } from '../../support/net/certificates.ts';
import { freeze } from '../../support/frozen.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import {
  areAll,
  connectionsOf,
  givesUpSilence,
  outlivesDamage,
  publishAll,
  publishUntilKilled,
  refusalOf,
  toldTooLarge,
  type Env,
} from './contract.ts';

const test = await peerTest('kafka', 'kcat');

/** One of each topic. */
const ONE_OF_EACH = [
  'edge.node.registered',
  'edge.command_execution.created',
  'edge.self_update_request.completed',
  'edge.ssh_username.verified',
  'edge.core.test',
] as const;

const LOGIN = { EVENT_BROKER_KAFKA_USERNAME: KAFKA_LOGIN.username, EVENT_BROKER_KAFKA_PASSWORD: KAFKA_LOGIN.password };

const scope = createScope();
let kafka: KafkaServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  kafka = await startKafka(scope);
});

ava.after.always('the server ends', () => scope.end());

const connected = connectionsOf('kafka', openKafka);
const opened = (t: ExecutionContext, listener: KafkaListener, env: Env = {}, log = silentLog) =>
  connected(t, { EVENT_BROKER_KAFKA_URLS: kafka.at(listener), ...env }, log);

const refusal = (t: ExecutionContext, listener: KafkaListener, env: Env) =>
  refusalOf(t, opened(t, listener, env), KAFKA_LOGIN.password);

/** A topic as if nobody had written to it. */
async function emptied(topic: string, messageBytesMax?: number): Promise<void> {
  await kafka.deleteTopics([topic]);
  await until('the topic to be made again', async () => {
    await kafka.createTopics([topic], messageBytesMax);
    return true;
  });
}

test.serial('a server whose certificate nobody here trusts is refused', async (t) => {
  t.is(
    await refusal(t, 'SSL', { EVENT_BROKER_KAFKA_SSL: 'true' }),
    `Kafka at ${kafka.at('SSL')} (EVENT_BROKER_KAFKA_URLS) cannot be used: its certificate is signed by nobody who is trusted here.`,
  );
});

for (const { name, listener, env } of KAFKA_MODES) {
  test.serial(`signing in by ${name}, each event comes to its topic under its subject, as a CloudEvent`, async (t) => {
    trust(kafka.certificates);
    const broker = await opened(t, listener, env);
    const events = ONE_OF_EACH.map((type) => brokerEvent(type, `subject of ${name}`, { name: 'Größe "1"' }));

    await broker.publish(events);

    // Each at least once: a server that is slow to confirm is asked again.
    const found = await Promise.all(
      events.map(async ({ topic, text }) =>
        (await takeKafka(kafka.at('PLAINTEXT'), topic, 1)).filter((message) => message.text === text).slice(0, 1),
      ),
    );
    t.deepEqual(
      found.flat().map(({ topic, key, headers, text }) => ({ topic, key, headers, text })),
      events.map(({ topic, subject, text }) => ({
        topic,
        key: subject,
        headers: 'content-type=application/cloudevents+json; charset=utf-8',
        text,
      })),
    );
  });
}

for (const mechanism of ['plain', 'scram_sha_256', 'scram_sha_512']) {
  test.serial(`a wrong password by ${mechanism} is refused with the names of the settings`, async (t) => {
    t.is(
      await refusal(t, 'SASL_PLAINTEXT', {
        ...LOGIN,
        EVENT_BROKER_KAFKA_PASSWORD: `${KAFKA_LOGIN.password}!`,
        EVENT_BROKER_KAFKA_SASL_MECHANISM: mechanism,
      }),
      `Kafka at ${kafka.at('SASL_PLAINTEXT')} (EVENT_BROKER_KAFKA_URLS) cannot be used: it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD.`,
    );
  });
}

test.serial('what is wrong with the settings is said in one line that names the setting', async (t) => {
  const reasonOf = async (listener: KafkaListener, env: Env) =>
    (await refusal(t, listener, env)).replace(/^.*cannot be used: /u, '');

  t.is(await reasonOf('SASL_PLAINTEXT', {}), 'it closed the connection; EVENT_BROKER_KAFKA_USERNAME may be missing.');
  t.is(
    await reasonOf('PLAINTEXT', LOGIN),
    'it wants no user name there: EVENT_BROKER_KAFKA_USERNAME should not be set.',
  );
  t.is(
    await reasonOf('PLAINTEXT', { EVENT_BROKER_KAFKA_SSL: 'true' }),
    'it does not speak TLS there, which EVENT_BROKER_KAFKA_SSL asks for.',
  );
  t.is(await reasonOf('SSL', {}), 'it speaks TLS there: EVENT_BROKER_KAFKA_SSL should be true.');
  t.is(await reasonOf('SASL_SSL', LOGIN), 'it closed the connection; EVENT_BROKER_KAFKA_SSL may have to be true.');
  t.is(
    await refusal(t, 'PLAINTEXT', { EVENT_BROKER_KAFKA_URLS: '127.0.0.1:1,127.0.0.1:2' }),
    'Kafka at 127.0.0.1:1, 127.0.0.1:2 (EVENT_BROKER_KAFKA_URLS) cannot be used: nobody listens there.',
  );
  await t.notThrowsAsync(opened(t, 'PLAINTEXT', { EVENT_BROKER_KAFKA_URLS: `127.0.0.1:1,${kafka.at('PLAINTEXT')}` }));
});

test.serial('a topic that is missing, where the server creates none, is named', async (t) => {
  await kafka.deleteTopics(['edge-ssh-events']);
  t.teardown(() => kafka.createTopics(['edge-ssh-events']));

  t.regex(
    await refusal(t, 'PLAINTEXT', {}),
    /cannot be used: it has no topic edge-ssh-events, and does not create it\.$/u,
  );
});

test.serial('10,000 events arrive once each, those of one subject in one partition and in order', async (t) => {
  await emptied('edge-commands-events');
  const broker = await opened(t, 'PLAINTEXT');
  const events = numberedEvents(10_000, 100);

  await publishAll(broker, events);

  const messages = await takeKafka(kafka.at('PLAINTEXT'), 'edge-commands-events', events.length);
  t.is(messages.length, events.length);
  areAll(
    t,
    messages.map(({ text }) => text),
    events,
  );
  t.is(new Set(messages.map(({ partition, key }) => `${partition} ${key}`)).size, 100);
  t.is(new Set(messages.map(({ partition }) => partition)).size, KAFKA_PARTITIONS);
});

test.serial('a batch of more than the server takes in one request goes in several', async (t) => {
  const events = Array.from({ length: 60 }, () =>
    brokerEvent('edge.core.test', 'one subject', { text: 'x'.repeat(100_000) }),
  );

  await until('a topic that has found its leader', async () => {
    await emptied('edge-core-events');
    await (await opened(t, 'PLAINTEXT')).publish(events);
    return true;
  });

  t.is((await takeKafka(kafka.at('PLAINTEXT'), 'edge-core-events', 60)).length, 60);
});

test.serial('what is larger than the server takes is left out and told, and holds up nothing', async (t) => {
  await emptied('edge-core-events', 4_096);
  t.teardown(() => emptied('edge-core-events'));
  const log = recordingLog();
  const broker = await opened(t, 'PLAINTEXT', {}, log);
  const [a, large, b, c] = [
    brokerEvent('edge.core.test', 'core'),
    brokerEvent('edge.core.test', 'core', { text: 'x'.repeat(5_000) }),
    brokerEvent('edge.core.test', 'core', { text: 'x'.repeat(3_000) }),
    brokerEvent('edge.core.test', 'core'),
  ];

  await broker.publish([a, large, b, c]);

  t.deepEqual(
    (await takeKafka(kafka.at('PLAINTEXT'), 'edge-core-events', 3)).map(({ text }) => text),
    [a.text, b.text, c.text],
  );
  toldTooLarge(t, log, large);
});

test.serial('a server that hangs up on a quiet client is not lost: another connection is made', async (t) => {
  const log = recordingLog();
  const broker = await opened(t, 'PLAINTEXT', {}, log);
  await log.seen(/^a connection to Kafka ended, and another one was made$/u);

  await t.notThrowsAsync(broker.publish([brokerEvent('edge.core.test', 'core')]));
  t.is(await Promise.race([broker.lost, Promise.resolve('not lost')]), 'not lost');
});

test.serial('a server that stops answering fails the publish in time, and is left at once', async (t) => {
  const broker = await opened(t, 'PLAINTEXT');
  t.teardown(() => kafka.process().resume());
  await freeze(kafka.process());

  await t.throwsAsync(broker.publish([brokerEvent('edge.core.test', 'core')]), {
    message: /did not take the events: it has not confirmed 1 events within 10000 ms\.$/u,
  });

  await t.notThrowsAsync(broker.close());
});

test('a server that accepts and says nothing is given up in time', async (t) => {
  t.regex(
    await givesUpSilence(t, (port) => opened(t, 'PLAINTEXT', { EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${port}` })),
    /cannot be used: it does not answer within 10000 ms\.$/u,
  );
});

test.serial(
  'a server that dies is lost at once; it is used again when it is back, and what it confirmed is there in order',
  async (t) => {
    await emptied('edge-commands-events');
    const broker = await opened(t, 'PLAINTEXT');
    const events = numberedEvents(30_000, 50);

    const { problem, taken } = await publishUntilKilled(t, broker, events, {
      after: 10_000,
      kill: () => kafka.process().kill(),
    });

    t.regex(
      problem,
      /did not take the events: (?:it closed the connection|the connection was cut|nobody listens there)/u,
    );
    t.regex(
      (await broker.lost).message,
      /^The connection to Kafka at .* is lost: (?:nobody listens there|it closed the connection|the connection was cut)\.$/u,
    );
    await kafka.process().ended();
    t.regex(await refusal(t, 'PLAINTEXT', {}), /nobody listens there\.$/u);
    await kafka.start();
    const again = await until('the server to take a client', () => opened(t, 'PLAINTEXT'));
    await publishAll(again, events.slice(taken));

    const messages = await takeKafka(kafka.at('PLAINTEXT'), 'edge-commands-events', events.length);
    areAll(
      t,
      messages.map(({ text }) => text),
      events,
    );
  },
);

test.serial(
  '500 connections damaged after their first bytes, while opening or publishing, end by themselves',
  async (t) => {
    const [host = '', port = ''] = kafka.at('PLAINTEXT').split(':');
    // a server says where it is: as a port in binary behind the host
    const place = (at: number): Buffer => {
      const number = Buffer.alloc(4);
      number.writeUInt32BE(at);
      return Buffer.concat([Buffer.from(host), number]);
    };

    await outlivesDamage(t, {
      port: Number(port),
      connections: 500,
      pieces: 8,
      opened: (scope, at) => connected(scope, { EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${at}` }),
      passed(bytes, at) {
        for (let found = -1; (found = bytes.indexOf(place(Number(port)), found + 1)) !== -1;)
          place(at).copy(bytes, found);
        return bytes;
      },
    });
  },
);
