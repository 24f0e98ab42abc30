import { registerCompletionHandler } from 'ava';
import { openSns } from '../../../transport/events/brokers/sns.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import {
  arnPrefix,
  consumeSns,
  provideSns,
  SNS_REGION,
  startMoto,
  type AccessKey,
  type Moto,
} from '../../support/brokers/moto.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { origin } from '../../support/net/listening.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { environment as environmentOf } from './published/contract.ts';
import { openWithRetry } from './contract.ts';
import {
  everyTypeArrives,
  goesOnWhereItWasKilled,
  manyArrive,
  onlyWantedArrives,
  waitsNotForOneThatStands,
} from './topic-service.ts';

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
  environmentOf(scope, {
    AWS_ENDPOINT_URL_SNS: url,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    ...(key && { AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey }),
  });
}

const XML = { 'content-type': 'text/xml' };

const ANYBODY = { accessKeyId: 'anybody', secretAccessKey: 'anything' };

const settingsOf = (namePrefix: string) =>
  ({ adapter: 'cloud_a_sns', region: SNS_REGION, topicArnPrefix: arnPrefix(namePrefix) }) as const;

async function opened(scope: Scope, namePrefix: string, log = silentLog): Promise<Broker> {
  const broker = await openWithRetry(() => openSns(settingsOf(namePrefix), log));
  scope.teardown(() => broker.close());
  return broker;
}

test.serial(
  'every type of event arrives by its topic with its type and the name of the core as attributes',
  async (t) => {
    environment(t, ANYBODY);
    await everyTypeArrives(t, await consumeSns(t, moto, 'types-'), await opened(t, 'types-'));
  },
);

test.serial('a subscriber can filter by the attributes', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'filtered-', { type: ['edge.node.status_changed'], corename: ['tests'] });
  await onlyWantedArrives(t, consumer, await opened(t, 'filtered-'));
});

test.serial('many events arrive once each, in the order of each subject', async (t) => {
  environment(t, ANYBODY);
  const consumer = await consumeSns(t, moto, 'many-');
  await manyArrive(t, consumer, await opened(t, 'many-'), { count: 200, subjects: 13 });
});

test.serial(
  'requests stay within the size limit of the service; an oversized event is logged and holds up no other',
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

/** What the service says of a large event: a part of an answer with status 200, or an error with 400. */
const REFUSALS = {
  'a fault of its own': failedEntry('InternalError', 'Try again later', false),
  'that it is asked too often': failedEntry('Throttled', 'Rate exceeded', true),
  'a fault of its own about the size': failedEntry('InvalidParameter', 'Message too long', false),
  'another parameter': errorAnswer('InvalidParameter', 'Invalid parameter: TopicArn'),
  'the size of the entry': failedEntry('InvalidParameter', 'Invalid parameter: Message too long', true),
  'the size of the message': errorAnswer('InvalidParameter', 'Invalid parameter: Message too long'),
  'the size of the batch': errorAnswer('BatchRequestTooLong', 'The batch request is more than 262144 bytes.'),
};
const ABOUT_SIZE = ['the size of the entry', 'the size of the message', 'the size of the batch'];

test.serial(
  'a large event is left out only where the service refuses its size; anything else fails the publish',
  async (t) => {
    const log = recordingLog();
    let refusal = errorAnswer('EmptyBatchRequest', 'The batch request has no entries.');
    environment(
      t,
      ANYBODY,
      await origin(t, (request, response) => {
        request.resume().once('end', () => response.writeHead(refusal.status, XML).end(refusal.body));
      }),
    );
    const broker = await opened(t, 'refusing-', log);
    const large = brokerEvent('edge.core.test', 'large', { pad: 'x'.repeat(300_000) });

    const leftOut: string[] = [];
    for (const [name, said] of Object.entries(REFUSALS)) {
      refusal = said;
      const isTaken = await broker.publish([large]).then(
        () => true,
        () => false,
      );
      if (isTaken) leftOut.push(name);
    }

    t.deepEqual(leftOut, ABOUT_SIZE);
    t.deepEqual(
      log.lines.map(({ message }) => message),
      ABOUT_SIZE.map(() => 'an event is too large for the broker'),
    );
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
  await waitsNotForOneThatStands(t, consumer, await opened(t, 'still-'), {
    process: moto.process(),
    message: /^SNS in eu-west-1 has not confirmed 1 events within 10000 ms\.$/u,
  });
});

test.serial('a service that is killed fails a publish, and a new connection works when it is back', async (t) => {
  const other = await startMoto(t);
  environment(t, ANYBODY, other.url);
  const consumer = await consumeSns(t, other, 'killed-');
  await goesOnWhereItWasKilled(t, consumer, await opened(t, 'killed-'), {
    kill: () => other.kill(),
    message: /^SNS does not take events for .*: (?:nobody listens there|the connection was cut)\.$/u,
    async back() {
      await other.start();
      await provideSns(other, 'killed-');
      return opened(t, 'killed-');
    },
  });
});

function failedEntry(code: string, message: string, isSendersFault: boolean) {
  const entry = `<member><Id>0</Id><Code>${code}</Code><Message>${message}</Message><SenderFault>${isSendersFault}</SenderFault></member>`;
  return {
    status: 200,
    body: `<PublishBatchResponse><PublishBatchResult><Successful/><Failed>${entry}</Failed></PublishBatchResult></PublishBatchResponse>`,
  };
}

function errorAnswer(code: string, message: string) {
  return {
    status: 400,
    body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
  };
}
