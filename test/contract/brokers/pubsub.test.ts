import { registerCompletionHandler } from 'ava';
import { openPubSub } from '../../../transport/events/brokers/pubsub.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import {
  consumePubSub,
  mindsFilters,
  providePubSub,
  PUBSUB_PROJECT,
  startPubSub,
  type PubSubServer,
} from '../../support/brokers/pubsub.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';
import { givesUpSilence, openWithRetry } from './contract.ts';
import { environment } from './published/contract.ts';
import {
  everyTypeArrives,
  goesOnWhereItWasKilled,
  manyArrive,
  onlyWantedArrives,
  waitsNotForOneThatStands,
} from './topic-service.ts';

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

const settingsOf = (topicIdPrefix: string) =>
  ({ adapter: 'cloud_b_pubsub', project: PUBSUB_PROJECT, topicIdPrefix }) as const;

/** `begun` is told of each try. */
async function opened(scope: Scope, topicIdPrefix: string, host = server.host, begun = () => {}): Promise<Broker> {
  environment(scope, { PUBSUB_EMULATOR_HOST: host });
  const broker = await openWithRetry(() => {
    begun();
    return openPubSub(settingsOf(topicIdPrefix), silentLog);
  });
  scope.teardown(() => broker.close());
  return broker;
}

test.serial(
  'every type of event arrives by its topic with its type and the name of the core as attributes',
  async (t) => {
    await everyTypeArrives(t, await consumePubSub(t, server, 'types-'), await opened(t, 'types-'));
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
  return onlyWantedArrives(t, consumer, await opened(t, 'filtered-'));
});

test.serial(
  'many events arrive once each, in the order of each subject, all of one subject under one ordering key',
  async (t) => {
    const consumer = await consumePubSub(t, server, 'many-');

    await manyArrive(t, consumer, await opened(t, 'many-'), { count: 2_000, subjects: 37 });

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
  t.regex(
    await givesUpSilence(t, (port) => opened(t, 'any-', `127.0.0.1:${port}`)),
    /does not answer (?:within 10000 ms|in time)/u,
  );
});

test.serial('a service that stands still fails a publish in time, and goes on when it runs again', async (t) => {
  const consumer = await consumePubSub(t, server, 'still-');
  await waitsNotForOneThatStands(t, consumer, await opened(t, 'still-'), {
    process: server.process(),
    message: /(?:has not confirmed 1 events within 10000 ms|it does not answer in time)\.$/u,
  });
});

test.serial(
  'a killed service fails a publish; on its return a new connection works without the back-off of the old one',
  async (t) => {
    const other = await startPubSub(t);
    const consumer = await consumePubSub(t, other, 'killed-');
    let openMs = 0;

    const publishMs = await goesOnWhereItWasKilled(t, consumer, await opened(t, 'killed-', other.host), {
      kill: () => other.kill(),
      message: /^Pub\/Sub does not take events for .*: it cannot be reached\.$/u,
      async back() {
        for (let tries = 0; tries < 5; tries += 1)
          await t.throwsAsync(opened(t, 'killed-', other.host), { message: /it cannot be reached/u });
        await other.start();
        await providePubSub(other, 'killed-');
        let startMs = 0;
        const broker = await opened(t, 'killed-', other.host, () => {
          startMs = performance.now();
        });
        openMs = performance.now() - startMs;
        return broker;
      },
    });

    t.true(openMs + publishMs < scaled(3_000), `${openMs} and ${publishMs} ms`);
  },
);
