import { registerCompletionHandler } from 'ava';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { openPubSub } from '../../../transport/events/brokers/pubsub.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { brokerEvent, numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import {
  consumePubSub,
  mindsFilters,
  providePubSub,
  PUBSUB_PROJECT,
  startPubSub,
  type PubSubServer,
} from '../../support/brokers/pubsub.ts';
import { freePort } from '../../support/free-ports.ts';
import { silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';
import { silentPort } from '../../support/listening.ts';

const test = await peerTest('pubsub');

/** The server of this file, on which each test has topics of its own. Another for tests that end it. */
const file = createScope();
let server: PubSubServer;
test.before(async (t) => {
  server = await startPubSub(file);
  t.pass();
});
registerCompletionHandler(() => {
  void file.end();
});

/** The environment is that of the process, so these tests run one after another. */
function environment(scope: Scope, names: Readonly<Record<string, string>>): void {
  Object.assign(process.env, names);
  scope.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name];
  });
}

const settingsOf = (topicIdPrefix: string) =>
  ({ adapter: 'cloud_b_pubsub', project: PUBSUB_PROJECT, topicIdPrefix }) as const;

async function opened(scope: Scope, topicIdPrefix: string, host = server.host): Promise<Broker> {
  environment(scope, { PUBSUB_EMULATOR_HOST: host });
  const broker = await openPubSub(settingsOf(topicIdPrefix), silentLog);
  scope.teardown(() => broker.close());
  return broker;
}

const numbersOf = (texts: readonly string[]) => Object.fromEntries(numbersBySubject(texts));

test.serial(
  'every type of event arrives by its topic with its type and the name of the core as attributes',
  async (t) => {
    const consumer = await consumePubSub(t, server, 'types-');
    const broker = await opened(t, 'types-');
    const events = EVENT_TYPES.map((type) => brokerEvent(type, `about-${type}`, { name: 'Größe "1"\n' }));

    await broker.publish(events);
    await until('all events to arrive', () => consumer.messages().length >= events.length);

    t.is(consumer.messages().length, events.length);
    t.deepEqual(
      Object.fromEntries(consumer.messages().map(({ body, attributes }) => [body, attributes])),
      Object.fromEntries(events.map((event) => [event.text, { type: event.type, corename: 'tests' }])),
    );
  },
);

test.serial('a subscriber can filter by the attributes', async (t) => {
  if (!(await mindsFilters(server))) {
    t.log('this server takes filters and ignores them: only the attributes are tested, above');
    return t.pass();
  }
  const consumer = await consumePubSub(
    t,
    server,
    'filtered-',
    'attributes.type = "edge.node.status_changed" AND attributes.corename = "tests"',
  );
  const broker = await opened(t, 'filtered-');
  const wanted = brokerEvent('edge.node.status_changed', 'node-1');

  await broker.publish([
    brokerEvent('edge.node.registered', 'node-1'),
    wanted,
    brokerEvent('edge.node.reregistered', 'node-1'),
  ]);
  await until('the event to arrive', () => consumer.messages().length > 0);

  return t.deepEqual(
    consumer.messages().map((message) => message.body),
    [wanted.text],
  );
});

test.serial(
  'many events arrive once each, in the order of each subject, all of one subject under one ordering key',
  async (t) => {
    const consumer = await consumePubSub(t, server, 'many-');
    const broker = await opened(t, 'many-');
    const events = numberedEvents(2_000, 37);

    for (let from = 0; from < events.length; from += 500) await broker.publish(events.slice(from, from + 500));
    await until('all events to arrive', () => consumer.messages().length >= events.length);

    t.is(consumer.messages().length, events.length);
    t.deepEqual(
      numbersOf(consumer.messages().map((message) => message.body)),
      numbersOf(events.map((event) => event.text)),
    );
    const keys = consumer
      .messages()
      .map(
        ({ body, orderingKey }) =>
          `${(JSON.parse(body) as { readonly data: { readonly subject: string } }).data.subject} ${orderingKey}`,
      );
    t.is(new Set(keys).size, 37);
    t.true(new Set(keys.map((key) => key.split(' ')[1])).size > 8);
  },
);

test.serial('events of more bytes than a request may have go out in several', async (t) => {
  const consumer = await consumePubSub(t, server, 'large-');
  const broker = await opened(t, 'large-');
  const events = Array.from({ length: 16 }, () => brokerEvent('edge.core.test', 'core', { pad: 'x'.repeat(800_000) }));

  await broker.publish(events);
  await until('all events to arrive', () => consumer.messages().length >= events.length);

  t.deepEqual(
    consumer.messages().map((message) => message.body),
    events.map((event) => event.text),
  );
});

test.serial('topics that are not there, and a service that is not there, are named at once', async (t) => {
  await t.throwsAsync(opened(t, 'nowhere-'), {
    message:
      /^Pub\/Sub does not take events for projects\/edge-tests\/topics\/nowhere-edge-[a-z-]+-events: the topic does not exist\.$/u,
  });
  await t.throwsAsync(opened(t, 'nowhere-', `127.0.0.1:${await freePort()}`), {
    message: /: it cannot be reached\.$/u,
  });
});

test.serial('credentials that cannot be read are told in one line, and nothing is left to fail later', async (t) => {
  environment(t, { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file.json', METADATA_SERVER_DETECTION: 'none' });

  const error = await t.throwsAsync(openPubSub(settingsOf('any-'), silentLog));

  t.regex(
    error.message,
    /^There are no credentials for Pub\/Sub in the standard chain \(GOOGLE_APPLICATION_CREDENTIALS, or the role of this machine\): .*\/no\/such\/file\.json/u,
  );
  t.notRegex(error.message, /\n/u);
});

test.serial('a service that accepts and says nothing is given up in time', async (t) => {
  const port = await silentPort(t);
  const startMs = performance.now();

  await t.throwsAsync(opened(t, 'any-', `127.0.0.1:${port}`), {
    message: /does not answer (?:within 10000 ms|in time)/u,
  });

  t.true(performance.now() - startMs < patient(13_000));
});

test.serial('a service that stands still fails a publish in time, and goes on when it runs again', async (t) => {
  const consumer = await consumePubSub(t, server, 'still-');
  const broker = await opened(t, 'still-');
  const event = brokerEvent('edge.core.test', 'core');
  server.process().pause();
  t.teardown(() => server.process().resume());
  const startMs = performance.now();

  await t.throwsAsync(broker.publish([event]), {
    message: /(?:has not confirmed 1 events within 10000 ms|it does not answer in time)\.$/u,
  });

  t.true(performance.now() - startMs < patient(13_000));
  server.process().resume();
  await broker.publish([event]);
  await until('the event to arrive', () => consumer.messages().length > 0);
});

test.serial(
  'a service that is killed fails a publish, and a new connection works when it is back, without a back-off of the old one',
  async (t) => {
    const other = await startPubSub(t);
    const consumer = await consumePubSub(t, other, 'killed-');
    const broker = await opened(t, 'killed-', other.host);
    const events = numberedEvents(400, 5);
    await broker.publish(events.slice(0, 200));
    await until('the first events', () => consumer.messages().length >= 200);

    other.process().kill();
    await t.throwsAsync(broker.publish(events.slice(200)), {
      message: /^Pub\/Sub does not take events for .*: it cannot be reached\.$/u,
    });
    await broker.close();
    for (let tries = 0; tries < 5; tries += 1)
      await t.throwsAsync(opened(t, 'killed-', other.host), { message: /it cannot be reached/u });
    await other.start();
    await providePubSub(other, 'killed-');
    const startMs = performance.now();
    await (await opened(t, 'killed-', other.host)).publish(events.slice(200));
    t.true(performance.now() - startMs < patient(3_000));
    await until('the others', () => consumer.messages().length >= events.length);

    t.deepEqual(
      numbersOf(consumer.messages().map((message) => message.body)),
      numbersOf(events.map((event) => event.text)),
    );
  },
);
