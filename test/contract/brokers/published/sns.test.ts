/** Events by SNS, end to end: a whole admin, topics that go into a queue, and an independent reader of that queue. */
import ava from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import {
  arnPrefix,
  consumeSns,
  SNS_REGION,
  startMoto,
  type AccessKey,
  type Moto,
} from '../../../support/brokers/moto.ts';
import { COMMAND_EVENT_TYPES, startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { openGate } from '../../../support/gate.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope, type Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('moto');

const file = createScope();
let moto: Moto;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  moto = await startMoto(file);
});

ava.after.always('the server ends', () => file.end());

const ANYBODY = { accessKeyId: 'anybody', secretAccessKey: 'anything' };

/**
 * The standard chain as an operator would fill it. The environment is that of the process, so these tests run one after
 * another.
 */
function environment(scope: Scope, key: AccessKey, url = moto.url): void {
  const names = {
    AWS_ENDPOINT_URL: url,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
  };
  Object.assign(process.env, names);
  scope.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name];
  });
}

const settingsOf = (namePrefix: string) => ({
  EVENT_BROKER_CLOUD_A_SNS_REGION: SNS_REGION,
  EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX: arnPrefix(namePrefix),
});

/** Without repeats, as at least once is promised. */
function envelopes(messages: readonly { readonly body: string }[]): Envelope[] {
  return [
    ...new Map(
      messages.map(({ body }) => JSON.parse(body) as Envelope).map((envelope) => [envelope.id, envelope]),
    ).values(),
  ];
}

/** Test events have a subject each, so that nothing is said of the order between them. */
const byId = (events: readonly Envelope[]) => Object.fromEntries(events.map((event) => [event.id, event]));

test.serial('the admin publishes what happens, with its type and the name of the core as attributes', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'admin-');
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', { ...settingsOf('admin-'), CORE_NAME: 'plant-7' });

  const [event] = await admin.testEvents(1);
  const execution = await admin.command();

  const told = await until('the end of the execution', () => {
    const seen = envelopes(consumer.messages()).filter(({ data }) => data['command_execution_id'] === execution.id);
    return seen.length >= COMMAND_EVENT_TYPES.length && seen;
  });
  t.deepEqual(
    told.map(({ type }) => type),
    [...COMMAND_EVENT_TYPES],
  );
  t.deepEqual(
    envelopes(consumer.messages()).find(({ id }) => id === event?.id),
    event,
  );
  t.deepEqual(
    consumer.messages().map(({ attributes }) => attributes),
    consumer.messages().map(({ body }) => ({ type: (JSON.parse(body) as Envelope).type, corename: 'plant-7' })),
  );
  t.is(await admin.brokerProblem(), null);
});

test.serial('a subscriber that filters by type gets nothing else', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'some-', { type: ['edge.command_execution.completed'] });
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('some-'));

  await admin.testEvents(1);
  const execution = await admin.command();

  await until('the event', () => consumer.messages().length > 0);
  t.deepEqual(
    envelopes(consumer.messages()).map(({ type, data }) => [type, data['command_execution_id']]),
    [['edge.command_execution.completed', execution.id]],
  );
});

test.serial(
  'what happens while the service cannot be reached arrives when it can, in the order of each execution',
  async (t) => {
    const gate = await openGate(t, Number(new URL(moto.url).port));
    environment(t, ANYBODY, `http://127.0.0.1:${gate.port}`);
    const consumer = await consumeSns(t, moto, 'outage-');
    const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('outage-'));
    const events = [...(await admin.testEvents(20))];
    const flowing = admin.testEvents(60);

    gate.shut();
    await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
    events.push(...(await flowing));
    const executions = [await admin.command(), await admin.command()];
    gate.open();
    events.push(...(await admin.testEvents(10)));

    await until(
      'all events',
      () =>
        envelopes(consumer.messages()).filter(
          ({ type }) => type === 'edge.core.test' || type.startsWith('edge.command_execution.'),
        ).length >=
        events.length + executions.length * COMMAND_EVENT_TYPES.length,
    );
    const arrived = envelopes(consumer.messages());
    t.deepEqual(byId(arrived.filter(({ type }) => type === 'edge.core.test')), byId(events));
    for (const { id } of executions)
      t.deepEqual(
        arrived.filter(({ data }) => data['command_execution_id'] === id).map(({ type }) => type),
        [...COMMAND_EVENT_TYPES],
      );
    await until('health', async () => (await admin.brokerProblem()) === null);
  },
);

test.serial('a wrong secret delays no command, is told once, and is in no log line', async (t) => {
  await consumeSns(t, moto, 'wrong-');
  const key = await moto.user(['sns:Publish', 'sns:PublishBatch']);
  environment(t, { ...key, secretAccessKey: 'a-wrong-secret' });
  await moto.asksEverybody(true);
  t.teardown(() => moto.asksEverybody(false));
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('wrong-'));

  await admin.testEvents(1);
  const execution = await admin.command();
  const line = await admin.log.seen(/events cannot be published now/u);

  t.is(execution.status, 'completed');
  t.regex(
    (line.fields as { readonly error: string }).error,
    /^SNS does not take events for arn:aws:sns:eu-west-1:\d+:wrong-edge-[a-z-]+-events: the secret of the credentials is wrong\.$/u,
  );
  t.false(JSON.stringify(admin.log.lines).includes('a-wrong-secret'));
  t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached: \d+ events wait$/u);
});

test.serial('wrong settings stop the start, with a line that names each', (t) => {
  const problem = (env: Readonly<Record<string, string>>): string =>
    t.throws(() => brokerSettings('cloud_a_sns', env)).message;

  t.regex(
    problem({}),
    /^EVENT_BROKER_CLOUD_A_SNS_REGION is not set: .*\nEVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX is not set: /u,
  );
  t.regex(
    problem({ ...settingsOf('any-'), EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX: 'edge-' }),
    /^EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX is "edge-": it should be the beginning of a topic ARN/u,
  );
  t.is(
    problem({ ...settingsOf('any-'), EVENT_BROKER_CLOUD_A_SNS_REGION: 'us-east-1' }),
    'EVENT_BROKER_CLOUD_A_SNS_REGION is "us-east-1": it should be eu-west-1, the region in EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX',
  );
});
