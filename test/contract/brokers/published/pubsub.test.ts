/**
 * Events by Pub/Sub, end to end: a whole admin, topics with ordered subscriptions, and an independent reader of these.
 */
import ava from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import { COMMAND_EVENT_TYPES, startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { consumePubSub, PUBSUB_PROJECT, startPubSub, type PubSubServer } from '../../../support/brokers/pubsub.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { openGate } from '../../../support/gate.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope, type Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('pubsub');

const file = createScope();
let server: PubSubServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  server = await startPubSub(file);
});

ava.after.always('the server ends', () => file.end());

/** The environment is that of the process, so these tests run one after another. */
function environment(scope: Scope, names: Readonly<Record<string, string>>): void {
  Object.assign(process.env, names);
  scope.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name];
  });
}

const settingsOf = (topicIdPrefix: string) => ({
  EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT: PUBSUB_PROJECT,
  EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX: topicIdPrefix,
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

for (const prefix of ['admin-', '']) {
  test.serial(
    `with the prefix "${prefix}", the admin publishes what happens, with its type and the name of the core as attributes`,
    async (t) => {
      environment(t, { PUBSUB_EMULATOR_HOST: server.host });
      const consumer = await consumePubSub(t, server, prefix);
      const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', { ...settingsOf(prefix), CORE_NAME: 'plant-7' });

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
    const events = [...(await admin.testEvents(30))];
    const flowing = admin.testEvents(100);

    gate.shut();
    await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
    events.push(...(await flowing));
    const executions = [await admin.command(), await admin.command()];
    gate.open();
    events.push(...(await admin.testEvents(20)));

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

test.serial('topics that are not there delay no command, and are told once by their name', async (t) => {
  environment(t, { PUBSUB_EMULATOR_HOST: server.host });
  const admin = await startPublishingAdmin(t, 'cloud_b_pubsub', settingsOf('nowhere-'));

  await admin.testEvents(1);
  const execution = await admin.command();
  const line = await admin.log.seen(/events cannot be published now/u);

  t.is(execution.status, 'completed');
  t.regex(
    (line.fields as { readonly error: string }).error,
    /^Pub\/Sub does not take events for projects\/edge-tests\/topics\/nowhere-edge-[a-z-]+-events: the topic does not exist\.$/u,
  );
  t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached: \d+ events wait$/u);
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

test.serial('wrong settings stop the start, with a line that names each', (t) => {
  const problem = (env: Readonly<Record<string, string>>): string =>
    t.throws(() => brokerSettings('cloud_b_pubsub', env)).message;

  t.regex(problem({}), /^EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT is not set: /u);
  t.regex(
    problem({ EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT: 'projects/edge' }),
    /^EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT is "projects\/edge": it should be the id of a project$/u,
  );
  t.regex(
    problem({ ...settingsOf(''), EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX: 'a/b' }),
    /^EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX is "a\/b": it should be letters/u,
  );
});
