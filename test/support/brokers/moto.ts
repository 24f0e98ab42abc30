/** SNS for tests: a moto server, with topics that go into a queue, and an independent reader of that queue. */
import { setTimeout as delay } from 'node:timers/promises';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { TOPICS } from '../../../actors/event-topics.ts';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';

/** Region and account of all that is made here. */
export const SNS_REGION = 'eu-west-1';
const ACCOUNT = '123456789012';

/** Anybody, as long as the server asks nobody for permission. */
const ANYBODY = { accessKeyId: 'anybody', secretAccessKey: 'anything' };

/** How many requests the server answers without asking who sends them. */
const ASKS_NOBODY = 1_000_000_000;

/** Wait before the next look into an empty queue, in ms. */
const LOOK_MS = 20;

/** An access key. */
export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A server. What is in it is gone when it ends. */
export interface Moto extends Restartable {
  readonly url: string;
  /** Makes a user who may do these things and nothing else. */
  user(actions: readonly string[]): Promise<AccessKey>;
  /** From now on the server asks everybody, or nobody again. */
  asksEverybody(isAsking: boolean): Promise<void>;
}

/** One message as it came out of the queue. */
export interface SnsMessage {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Starts a server on a port of its own; it ends with the scope. */
export async function startMoto(scope: Scope): Promise<Moto> {
  const python = await peerPath('moto');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    ...(await startServer(
      `moto on port ${port}`,
      () => Program.run(scope, python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)]),
      async () => (await fetch(`${url}/moto-api/data.json`)).ok,
    )),
    async user(actions) {
      const name = `user-${performance.now()}`.replace('.', '-');
      await iam(url, { Action: 'CreateUser', UserName: name });
      await iam(url, {
        Action: 'PutUserPolicy',
        UserName: name,
        PolicyName: 'all',
        PolicyDocument: JSON.stringify({
          Version: '2012-10-17',
          Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }],
        }),
      });
      const answer = await iam(url, { Action: 'CreateAccessKey', UserName: name });
      const field = (tag: string) => new RegExp(`<${tag}>([^<]+)`, 'u').exec(answer)?.[1] ?? '';
      return { accessKeyId: field('AccessKeyId'), secretAccessKey: field('SecretAccessKey') };
    },
    async asksEverybody(isAsking) {
      const answer = await fetch(`${url}/moto-api/reset-auth`, {
        method: 'POST',
        body: String(isAsking ? 0 : ASKS_NOBODY),
      });
      if (!answer.ok) throw new Error(await answer.text());
    },
  };
}

/** One request, signed by nobody. */
async function iam(url: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=${ANYBODY.accessKeyId}/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=none`,
    },
    body: new URLSearchParams({ Version: '2010-05-08', ...fields }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

/** What stands before the topic name in the ARNs of topics that are named so. */
export function arnPrefix(namePrefix: string): string {
  return `arn:aws:sns:${SNS_REGION}:${ACCOUNT}:${namePrefix}`;
}

/** Makes the five topics. Without a subscription the service drops what is published to them. */
export async function provideSnsTopics(moto: Moto, namePrefix: string): Promise<readonly string[]> {
  const sns = new SNSClient(optionsFor(moto));
  const arns: string[] = [];
  for (const topic of TOPICS)
    arns.push((await sns.send(new CreateTopicCommand({ Name: `${namePrefix}${topic}` }))).TopicArn ?? '');
  sns.destroy();
  return arns;
}

/** Makes them and a queue to which they go, with a filter on attributes if one is given. */
export async function provideSns(moto: Moto, namePrefix: string, filter: object | null = null): Promise<void> {
  const [sns, sqs] = [new SNSClient(optionsFor(moto)), new SQSClient(optionsFor(moto))];
  await sqs.send(new CreateQueueCommand({ QueueName: queueOf(namePrefix) }));
  const attributes = { RawMessageDelivery: 'true', ...(filter && { FilterPolicy: JSON.stringify(filter) }) };
  for (const TopicArn of await provideSnsTopics(moto, namePrefix)) {
    await sns.send(
      new SubscribeCommand({
        TopicArn,
        Protocol: 'sqs',
        Endpoint: `arn:aws:sqs:${SNS_REGION}:${ACCOUNT}:${queueOf(namePrefix)}`,
        Attributes: attributes,
      }),
    );
  }
  sns.destroy();
  sqs.destroy();
}

/**
 * Provides the same, and reads the queue until the scope ends, also of a server that comes back. `messages()` are those
 * so far, in the order of arrival.
 */
export async function consumeSns(
  scope: Scope,
  moto: Moto,
  namePrefix: string,
  filter: object | null = null,
): Promise<{ messages(): SnsMessage[] }> {
  await provideSns(moto, namePrefix, filter);
  const sqs = new SQSClient({ ...optionsFor(moto), maxAttempts: 1 });
  const QueueUrl = `${moto.url}/${ACCOUNT}/${queueOf(namePrefix)}`;
  const found: SnsMessage[] = [];
  const ended = new AbortController();
  const reading = (async () => {
    while (!ended.signal.aborted) {
      try {
        const { Messages: messages = [] } = await sqs.send(
          new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
          { abortSignal: ended.signal },
        );
        for (const { Body: body = '', MessageAttributes: attributes = {} } of messages) {
          found.push({
            body,
            attributes: Object.fromEntries(
              Object.entries(attributes).map(([key, { StringValue: value = '' }]) => [key, value]),
            ),
          });
        }
        if (messages.length > 0)
          await sqs.send(
            new DeleteMessageBatchCommand({
              QueueUrl,
              Entries: messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle })),
            }),
          );
        else await delay(LOOK_MS);
      } catch {
        await delay(LOOK_MS); // the server is away
      }
    }
  })();
  scope.teardown(async () => {
    ended.abort();
    await reading;
    sqs.destroy();
  });
  return { messages: () => found };
}

const queueOf = (namePrefix: string): string => `${namePrefix}queue`;

function optionsFor(moto: Moto) {
  return { region: SNS_REGION, endpoint: moto.url, credentials: ANYBODY };
}
