import { registerCompletionHandler } from 'ava';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { openSns } from '../../../transport/events/brokers/sns.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { brokerEvent, numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import {
  arnPrefix,
  consumeSns,
  provideSns,
  SNS_REGION,
  startMoto,
  type AccessKey,
  type Moto,
} from '../../support/brokers/moto.ts';
import { freePort } from '../../support/free-ports.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';

const test = await peerTest('moto');

/** The server of this file, on which each test has topics of its own. Another for tests that end it. */
const file = createScope();
let moto: Moto;
test.before(async (t) => {
  moto = await startMoto(file);
  t.pass();
});
registerCompletionHandler(() => {
  void file.end();
});

/**
 * The standard chain as an operator would fill it. The environment is that of the process, so these tests run one after
 * another.
 */
function environment(scope: Scope, key: AccessKey | null, url = moto.url): void {
  const names = {
    AWS_ENDPOINT_URL_SNS: url,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    ...(key && { AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey }),
  };
  Object.assign(process.env, names);
  scope.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name];
  });
}

const ANYBODY = { accessKeyId: 'anybody', secretAccessKey: 'anything' };

const settingsOf = (namePrefix: string) =>
  ({ adapter: 'cloud_a_sns', region: SNS_REGION, topicArnPrefix: arnPrefix(namePrefix) }) as const;

async function opened(scope: Scope, namePrefix: string, log = silentLog): Promise<Broker> {
  const broker = await openSns(settingsOf(namePrefix), log);
  scope.teardown(() => broker.close());
  return broker;
}

test.serial(
  'every type of event arrives by its topic with its type and the name of the core as attributes',
  async (t) => {
    environment(t, ANYBODY);
    const consumer = await consumeSns(t, moto, 'types-');
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
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'filtered-', { type: ['edge.node.status_changed'], corename: ['tests'] });
  const broker = await opened(t, 'filtered-');
  const wanted = brokerEvent('edge.node.status_changed', 'node-1');

  await broker.publish([
    brokerEvent('edge.node.registered', 'node-1'),
    wanted,
    brokerEvent('edge.node.reregistered', 'node-1'),
  ]);
  await until('the event to arrive', () => consumer.messages().length > 0);

  t.deepEqual(
    consumer.messages().map((message) => message.body),
    [wanted.text],
  );
});

test.serial('many events arrive once each, in the order of each subject', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'many-');
  const broker = await opened(t, 'many-');
  const events = numberedEvents(200, 13);

  for (let from = 0; from < events.length; from += 100) await broker.publish(events.slice(from, from + 100));
  await until('all events to arrive', () => consumer.messages().length >= events.length);

  t.is(consumer.messages().length, events.length);
  t.deepEqual(
    Object.fromEntries(numbersBySubject(consumer.messages().map((message) => message.body))),
    Object.fromEntries(numbersBySubject(events.map((event) => event.text))),
  );
});

test.serial(
  'requests hold no more than the service takes, and an event that is too large by itself is logged and holds up nothing',
  async (t) => {
    environment(t, ANYBODY);
    const log = recordingLog();
    const consumer = await consumeSns(t, moto, 'large-');
    const broker = await opened(t, 'large-', log);
    const large = Array.from({ length: 4 }, (_, index) =>
      brokerEvent('edge.core.test', `large-${index}`, { pad: 'x'.repeat(120_000) }),
    );
    const tooLarge = brokerEvent('edge.core.test', 'too-large', { pad: 'x'.repeat(300_000) });

    await broker.publish([...large.slice(0, 2), tooLarge, ...large.slice(2)]);
    await until('the others to arrive', () => consumer.messages().length >= large.length);

    t.deepEqual(
      consumer
        .messages()
        .map((message) => message.body)
        .toSorted(),
      large.map((event) => event.text).toSorted(),
    );
    t.like(log.lines, [
      {
        level: 'error',
        fields: { event: tooLarge.id, type: 'edge.core.test' },
        message: 'an event is too large for the broker',
      },
    ]);
  },
);

test.serial('the permission to publish is enough', async (t) => {
  const consumer = await consumeSns(t, moto, 'allowed-');
  // the service itself asks for sns:Publish only; moto goes by the name of the request
  const key = await moto.user(['sns:Publish', 'sns:PublishBatch']);
  environment(t, key);
  await moto.asksEverybody(true);
  t.teardown(() => moto.asksEverybody(false));

  const broker = await opened(t, 'allowed-');
  await broker.publish([brokerEvent('edge.core.test', 'core')]);

  await moto.asksEverybody(false);
  await until('the event to arrive', () => consumer.messages().length > 0);
  t.is(consumer.messages().length, 1);
});

test.serial(
  'credentials that are missing, unknown, wrong or not allowed to publish are told in one line without the secret',
  async (t) => {
    await consumeSns(t, moto, 'refused-');
    const key = await moto.user(['sns:Publish', 'sns:PublishBatch']);
    const useless = await moto.user(['sns:ListTopics']);
    await moto.asksEverybody(true);
    t.teardown(() => moto.asksEverybody(false));
    const refusal = async (used: AccessKey | null) => {
      const scope = createScope();
      environment(scope, used);
      const error = await t.throwsAsync(openSns(settingsOf('refused-'), silentLog));
      await scope.end();
      t.false(error.message.includes(used?.secretAccessKey ?? '\n'));
      return error.message.replace(/edge-[\w-]+-events/u, 'TOPIC');
    };

    const refused = `SNS does not take events for ${arnPrefix('refused-')}TOPIC:`;
    t.is(
      await refusal(null),
      'There are no credentials for SNS in the standard chain (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of this machine).',
    );
    t.is(
      await refusal({ accessKeyId: 'AKIAUNKNOWN', secretAccessKey: 'a-secret' }),
      `${refused} the credentials are not known there.`,
    );
    t.is(
      await refusal({ ...key, secretAccessKey: 'a-wrong-secret' }),
      `${refused} the secret of the credentials is wrong.`,
    );
    t.is(await refusal(useless), `${refused} these credentials may not publish to it.`);
  },
);

test.serial('topics that are not there, and a service that is not there, are named', async (t) => {
  environment(t, ANYBODY);
  await t.throwsAsync(openSns(settingsOf('nowhere-'), silentLog), {
    message:
      /^SNS does not take events for arn:aws:sns:eu-west-1:123456789012:nowhere-edge-[a-z-]+-events: the topic does not exist\.$/u,
  });

  environment(t, ANYBODY, `http://127.0.0.1:${await freePort()}`);
  await t.throwsAsync(openSns(settingsOf('nowhere-'), silentLog), { message: /: nobody listens there\.$/u });
});

test.serial('a service that stands still fails a publish in time, and goes on when it runs again', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'still-');
  const broker = await opened(t, 'still-');
  const event = brokerEvent('edge.core.test', 'core');
  moto.process().pause();
  t.teardown(() => moto.process().resume());
  const startMs = performance.now();

  await t.throwsAsync(broker.publish([event]), {
    message: 'SNS in eu-west-1 has not confirmed 1 events within 10000 ms.',
  });

  t.true(performance.now() - startMs < patient(13_000));
  moto.process().resume();
  await broker.publish([event]);
  await until('the event to arrive', () => consumer.messages().length > 0);
});

test.serial('a service that is killed fails a publish, and a new connection works when it is back', async (t) => {
  const other = await startMoto(t);
  environment(t, ANYBODY, other.url);
  const consumer = await consumeSns(t, other, 'killed-');
  const broker = await opened(t, 'killed-');
  const events = numberedEvents(200, 5);
  await broker.publish(events.slice(0, 100));
  await until('the first events', () => consumer.messages().length >= 100);

  other.process().kill();
  await t.throwsAsync(broker.publish(events.slice(100)), {
    message: /^SNS does not take events for .*: (?:nobody listens there|the connection was cut)\.$/u,
  });
  await broker.close();
  await other.start();
  await provideSns(other, 'killed-');
  await (await opened(t, 'killed-')).publish(events.slice(100));
  await until('the others', () => consumer.messages().length >= events.length);

  t.deepEqual(
    Object.fromEntries(numbersBySubject(consumer.messages().map((message) => message.body))),
    Object.fromEntries(numbersBySubject(events.map((event) => event.text))),
  );
});
