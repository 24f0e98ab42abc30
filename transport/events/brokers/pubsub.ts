/**
 * `cloud_b_pubsub`: publishes to five topics of Pub/Sub, which must be there. Credentials come from the standard chain
 * of the library, and
 * PUBSUB_EMULATOR_HOST leads elsewhere. The only permission that is needed is to publish.
 */
import { crc32 } from 'node:zlib';
import { PubSub, v1 } from '@google-cloud/pubsub';
import { TOPICS } from '../../../actors/event-topics.ts';
import type { Log } from '../../net/log.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { within } from './deadline.ts';
import { reasonOf } from './reason.ts';
import { sendInRequests, type RequestLimits } from './requests.ts';
import type { PubSubSettings } from './settings.ts';

/**
 * Ordering keys of each topic. A subscription with ordering delivers the events of one key in order, and others ignore
 * it. The key is not the subject itself, since all events of a request must have the same: a storm of 500 nodes would
 * be 500 requests instead of 16.
 */
const ORDERING_KEYS = 16;

/** Source: Pub/Sub quotas, publish request: 1,000 messages and 10 MB; half of it, for what the encoding adds. */
const LIMITS: RequestLimits = {
  eventsMax: 1_000,
  bytesMax: 5_000_000,
  requestsMax: 16,
  bytesOf: (event) => Buffer.byteLength(event.text) + ATTRIBUTES_BYTES_MAX,
  groupOf: (event) => `${event.topic} ${orderingKeyOf(event)}`,
};

/** Attributes of an event and the ordering key, in bytes, at most. */
const ATTRIBUTES_BYTES_MAX = 512;

/** Status codes of gRPC by number. Source: https://grpc.io/docs/guides/status-codes/. */
const STATUS = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const REASONS: Readonly<Record<number, string>> = {
  [STATUS.deadlineExceeded]: 'it does not answer in time',
  [STATUS.notFound]: 'the topic does not exist',
  [STATUS.permissionDenied]: 'these credentials may not publish to it',
  [STATUS.unavailable]: 'it cannot be reached',
  [STATUS.unauthenticated]: 'the credentials are refused',
};

/**
 * Finds credentials and asks each topic to take a request of nothing, which the permission to publish allows. What is
 * wrong with the topic, the credentials or the way there refuses; that nothing was in the request does not.
 */
export async function openPubSub(settings: PubSubSettings, _log: Log): Promise<Broker> {
  const { auth, isEmulator, options } = new PubSub({ projectId: settings.project }); // knows PUBSUB_EMULATOR_HOST
  // else the library looks for credentials that it does not need, in the network too
  if (isEmulator) auth.cachedCredential = auth.fromAPIKey('none');
  const client = new v1.PublisherClient({
    ...options,
    auth,
    'grpc.use_local_subchannel_pool': 1, // else a new client inherits the back-off of the one before
  });
  const nameOf = (topic: string) => `projects/${settings.project}/topics/${settings.topicIdPrefix}${topic}`;
  const close = async () => {
    await client.close().catch(() => {});
  };
  try {
    await within(
      CONNECT_MS_MAX,
      greet(client, TOPICS.map(nameOf)),
      () => new Error(`Pub/Sub does not answer within ${CONNECT_MS_MAX} ms.`),
    );
  } catch (error) {
    await close();
    throw error;
  }

  return {
    lost: new Promise(() => {}), // the library connects when there is something to send
    async publish(events) {
      const sent = sendInRequests(events, LIMITS, (request) => publish(client, nameOf, request));
      await within(
        PUBLISH_MS_MAX,
        sent,
        () => new Error(`Pub/Sub has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms.`),
      );
    },
    close,
  };
}

async function greet(client: v1.PublisherClient, topics: readonly string[]): Promise<void> {
  await client.initialize().catch((error: unknown) => {
    // without it the first call would look for credentials, and throw where nobody can catch it
    throw new Error(
      `There are no credentials for Pub/Sub in the standard chain (GOOGLE_APPLICATION_CREDENTIALS, or the role of this machine): ${reasonOf(error)}.`,
      { cause: error },
    );
  });
  await Promise.all(topics.map((topic) => ask(client, topic)));
}

async function ask(client: v1.PublisherClient, topic: string): Promise<void> {
  try {
    await client.publish({ topic, messages: [] }, { timeout: CONNECT_MS_MAX, retry: null });
  } catch (error) {
    if (statusOf(error) !== STATUS.invalidArgument) throw wrapped(error, topic);
  }
}

async function publish(
  client: v1.PublisherClient,
  nameOf: (topic: string) => string,
  events: readonly PublishedEvent[],
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const topic = nameOf(first.topic);
  const messages = events.map((event) => ({
    data: Buffer.from(event.text),
    attributes: { type: event.type, corename: event.coreName },
    orderingKey: orderingKeyOf(event),
  }));
  try {
    const [answer] = await client.publish({ topic, messages }, { timeout: PUBLISH_MS_MAX, retry: null });
    if (answer.messageIds?.length !== events.length)
      throw new Error(`it confirmed ${answer.messageIds?.length ?? 0} of ${events.length} events`);
  } catch (error) {
    throw wrapped(error, topic);
  }
}

function orderingKeyOf(event: PublishedEvent): string {
  return String(crc32(event.subject) % ORDERING_KEYS);
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

function wrapped(error: unknown, topic: string): Error {
  return new Error(`Pub/Sub does not take events for ${topic}: ${REASONS[statusOf(error) ?? 0] ?? reasonOf(error)}.`, {
    cause: error,
  });
}
