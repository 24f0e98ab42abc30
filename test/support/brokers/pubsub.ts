/**
 * Pub/Sub for tests: a server on a port of its own, and an independent reader, which speaks HTTP to it where the
 * library speaks gRPC.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../../actors/event-topics.ts';
import { scaled } from '../busy.ts';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';

/** Project of all that is made here. */
export const PUBSUB_PROJECT = 'edge-tests';

/** Wait before the next look into an empty subscription, in ms. */
const LOOK_MS = 20;

/**
 * After which a message goes out again that a reader took and did not confirm, in s: the least that the service allows.
 */
const ACK_S = 10;

/** Timeout of a server that is started, in ms: it runs in a virtual machine of Java. */
const STARTED_MS_MAX = 60_000;

/** Timeout of one answer, in ms. */
const ANSWER_MS_MAX = 5_000;

/** A server. What is in it is gone when it ends. */
export interface PubSubServer extends Restartable {
  /** For PUBSUB_EMULATOR_HOST. */
  readonly host: string;
}

/** One message as a subscriber gets it. */
export interface PubSubMessage {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey: string;
}

interface Pulled {
  readonly receivedMessages?: readonly {
    readonly ackId: string;
    readonly message: {
      readonly messageId: string;
      readonly data?: string;
      readonly attributes?: Readonly<Record<string, string>>;
      readonly orderingKey?: string;
    };
  }[];
}

/** Starts a server; it ends with the scope. */
export async function startPubSub(scope: Scope): Promise<PubSubServer> {
  const path = await peerPath('pubsub');
  const port = await freePort();
  const options = ['--host=127.0.0.1', `--port=${port}`];
  const host = `127.0.0.1:${port}`;
  const server = await startServer(
    `the Pub/Sub server on port ${port}`,
    () =>
      path.endsWith('.jar')
        ? Program.run(scope, 'java', ['-XX:TieredStopAtLevel=1', '-jar', path, ...options])
        : Program.run(scope, path, options),
    async () => (await request({ host }, 'PUT', 'topics/started', {})) !== null,
    STARTED_MS_MAX,
  );
  return { host, ...server };
}

const JSON_BODY = { 'content-type': 'application/json' };

/** One request; null when the server refuses it. */
async function request(
  server: Pick<PubSubServer, 'host'>,
  method: string,
  name: string,
  body: object,
): Promise<unknown> {
  const answer = await fetch(`http://${server.host}/v1/projects/${PUBSUB_PROJECT}/${name}`, {
    method,
    body: JSON.stringify(body),
    headers: JSON_BODY,
    signal: AbortSignal.timeout(scaled(ANSWER_MS_MAX)),
  });
  const text = await answer.text();
  return answer.ok ? JSON.parse(text) : null;
}

/** Makes the five topics, each with a subscription in order, with a filter if one is given. */
export async function providePubSub(server: PubSubServer, idPrefix: string, filter = ''): Promise<void> {
  for (const topic of TOPICS) {
    await request(server, 'PUT', `topics/${idPrefix}${topic}`, {});
    await request(server, 'PUT', `subscriptions/${idPrefix}${topic}`, {
      topic: `projects/${PUBSUB_PROJECT}/topics/${idPrefix}${topic}`,
      enableMessageOrdering: true,
      ackDeadlineSeconds: ACK_S,
      filter,
    });
  }
}

/** Whether the server minds the filters of subscriptions; the official emulator does not. */
export async function mindsFilters(server: PubSubServer): Promise<boolean> {
  await request(server, 'PUT', 'topics/filters', {});
  await request(server, 'PUT', 'subscriptions/filters', {
    topic: `projects/${PUBSUB_PROJECT}/topics/filters`,
    filter: 'attributes.type = "wanted"',
  });
  await request(server, 'POST', 'topics/filters:publish', {
    messages: [
      { data: '', attributes: { type: 'other' } },
      { data: '', attributes: { type: 'wanted' } },
    ],
  });
  const { receivedMessages = [] } = (await request(server, 'POST', 'subscriptions/filters:pull', {
    maxMessages: 2,
    returnImmediately: true,
  })) as Pulled;
  return receivedMessages.length === 1;
}

/**
 * Provides the same, and reads all subscriptions until the scope ends, also of a server that comes back. `messages()`
 * are those so far; within a topic in order of arrival. What the server gives out again, as it was confirmed too late,
 * is one message.
 */
export async function consumePubSub(
  scope: Scope,
  server: PubSubServer,
  idPrefix: string,
  filter = '',
): Promise<{ messages(): PubSubMessage[] }> {
  await providePubSub(server, idPrefix, filter);
  const found = new Map<string, PubSubMessage>();
  const ended = new AbortController();

  async function read(topic: string): Promise<void> {
    const name = `subscriptions/${idPrefix}${topic}`;
    while (!ended.signal.aborted) {
      try {
        const { receivedMessages = [] } = ((await request(server, 'POST', `${name}:pull`, {
          maxMessages: 100,
          returnImmediately: true,
        })) ?? {}) as Pulled;
        for (const { message } of receivedMessages)
          found.set(`${message.messageId} ${message.data}`, {
            body: Buffer.from(message.data ?? '', 'base64').toString('utf8'),
            attributes: message.attributes ?? {},
            orderingKey: message.orderingKey ?? '',
          }); // a server that was started anew counts from the first number again
        if (receivedMessages.length > 0)
          await request(server, 'POST', `${name}:acknowledge`, { ackIds: receivedMessages.map(({ ackId }) => ackId) });
        else await delay(LOOK_MS);
      } catch {
        await delay(LOOK_MS); // the server is away
      }
    }
  }

  const reading = Promise.all(TOPICS.map(read));
  scope.teardown(async () => {
    ended.abort();
    await reading;
  });
  return { messages: () => [...found.values()] };
}
