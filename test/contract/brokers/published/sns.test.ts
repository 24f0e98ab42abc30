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
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { openGate } from '../../../support/net/gate.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { arrivesInTheOrderOfEach, environment, envelopes, publishesWhatHappens, toldOnce } from './contract.ts';

const test = await peerTest('moto');

const file = createScope();
let moto: Moto;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  moto = await startMoto(file);
});

ava.after.always('the server ends', () => file.end());

const ANYBODY = { accessKeyId: 'anybody', secretAccessKey: 'anything' };

/** The standard chain as an operator would fill it. */
function standardChain(scope: Scope, key: AccessKey, url = moto.url): void {
  environment(scope, {
    AWS_ENDPOINT_URL: url,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
  });
}

const settingsOf = (namePrefix: string) => ({
  EVENT_BROKER_CLOUD_A_SNS_REGION: SNS_REGION,
  EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX: arnPrefix(namePrefix),
});

test.serial('the admin publishes what happens, with its type and the name of the core as attributes', async (t) => {
  standardChain(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'admin-');
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', { ...settingsOf('admin-'), CORE_NAME: 'plant-7' });

  await publishesWhatHappens(t, admin, () => consumer.messages().map(({ body }) => body));

  t.deepEqual(
    consumer.messages().map(({ attributes }) => attributes),
    consumer.messages().map(({ body }) => ({ type: (JSON.parse(body) as Envelope).type, corename: 'plant-7' })),
  );
});

test.serial('a subscriber that filters by type gets nothing else', async (t) => {
  standardChain(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'some-', { type: ['edge.command_execution.completed'] });
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('some-'));

  await admin.testEvents(1);
  const execution = await admin.command();

  await until('the event', () => consumer.messages().length > 0);
  t.deepEqual(
    envelopes(consumer.messages().map(({ body }) => body)).map(({ type, data }) => [
      type,
      data['command_execution_id'],
    ]),
    [['edge.command_execution.completed', execution.id]],
  );
});

test.serial(
  'what happens while the service cannot be reached arrives when it can, in the order of each execution',
  async (t) => {
    const gate = await openGate(t, Number(new URL(moto.url).port));
    standardChain(t, ANYBODY, `http://127.0.0.1:${gate.port}`);
    const consumer = await consumeSns(t, moto, 'outage-');
    const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('outage-'));

    await arrivesInTheOrderOfEach(t, admin, gate, () => consumer.messages().map(({ body }) => body));
  },
);

test.serial('a wrong secret delays no command, is told once, and is in no log line', async (t) => {
  await consumeSns(t, moto, 'wrong-');
  const key = await moto.user(['sns:Publish', 'sns:PublishBatch']);
  standardChain(t, { ...key, secretAccessKey: 'a-wrong-secret' });
  await moto.asksEverybody(true);
  t.teardown(() => moto.asksEverybody(false));
  const admin = await startPublishingAdmin(t, 'cloud_a_sns', settingsOf('wrong-'));

  await toldOnce(
    t,
    admin,
    /^SNS does not take events for arn:aws:sns:eu-west-1:\d+:wrong-edge-[a-z-]+-events: the secret of the credentials is wrong\.$/u,
    ['a-wrong-secret'],
  );
});
