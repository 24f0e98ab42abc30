/**
 * `cloud_a_sns`: publishes to five topics of SNS, which must be there. Credentials come from the standard chain of the
 * SDK, and its AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_SNS lead elsewhere. The only permission that is needed is to
 * publish. Standard topics keep no order; requests do.
 */
import {
  PublishBatchCommand,
  SNSClient,
  SNSServiceException,
  type BatchResultErrorEntry,
  type PublishBatchRequestEntry,
} from '@aws-sdk/client-sns';
import { TOPICS } from '../../../actors/event-topics.ts';
import type { Log } from '../../net/log.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { within } from './deadline.ts';
import { knownReason, reasonOf, textOf, UNREADABLE } from './reason.ts';
import { sendInRequests, type RequestLimits } from './requests.ts';
import type { SnsSettings } from './settings.ts';

/**
 * Source: SNS API, PublishBatch; 50 requests of ten, of which eight at a time, are far inside PUBLISH_MS_MAX also from
 * another continent.
 */
const LIMITS: RequestLimits = {
  eventsMax: 10,
  bytesMax: 262_144,
  requestsMax: 8,
  bytesOf: (event) => Buffer.byteLength(event.text) + ATTRIBUTES_BYTES + event.type.length + event.coreName.length,
  groupOf: (event) => event.topic,
};

/** Names and data types of both attributes, which count too, in bytes. */
const ATTRIBUTES_BYTES = 'typeString'.length + 'corenameString'.length;

/** Tries of a request, the SDK's usual number; all of them together have PUBLISH_MS_MAX. */
const TRIES_MAX = 3;

/** Errors that say who we are not, or what we may not. Source: SNS API, common errors. */
const REASONS: Readonly<Record<string, string>> = {
  NotFound: 'the topic does not exist',
  AuthorizationError: 'these credentials may not publish to it',
  AccessDenied: 'these credentials may not publish to it',
  AccessDeniedException: 'these credentials may not publish to it',
  InvalidClientTokenId: 'the credentials are not known there',
  UnrecognizedClientException: 'the credentials are not known there',
  SignatureDoesNotMatch: 'the secret of the credentials is wrong',
  IncompleteSignature: 'the credentials are not complete',
  ExpiredToken: 'the credentials have expired',
  ExpiredTokenException: 'the credentials have expired',
  OptInRequired: 'the account may not use this region',
};

/**
 * Finds credentials and asks each topic to take a batch of nothing, which the permission to publish allows. What is
 * wrong with the topic, the credentials or the way there refuses; that nothing was in the batch does not.
 */
export async function openSns(settings: SnsSettings, log: Log): Promise<Broker> {
  const client = new SNSClient({
    region: settings.region,
    maxAttempts: TRIES_MAX,
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      requestTimeout: PUBLISH_MS_MAX,
      httpAgent: { keepAlive: true },
      httpsAgent: { keepAlive: true },
    },
  });
  const arnOf = (topic: string) => `${settings.topicArnPrefix}${topic}`;
  const stop = new AbortController();
  try {
    const asked = Promise.all(TOPICS.map((topic) => ask(client, arnOf(topic), stop.signal)));
    await within(
      CONNECT_MS_MAX,
      asked,
      () => new Error(`SNS in ${settings.region} does not answer within ${CONNECT_MS_MAX} ms.`),
    );
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    stop.abort();
  }

  return {
    lost: new Promise(() => {}), // each request may have a connection of its own
    async publish(events) {
      const ended = new AbortController();
      try {
        const sent = sendInRequests(events, LIMITS, (request) => publish(client, arnOf, request, ended.signal, log));
        await within(
          PUBLISH_MS_MAX,
          sent,
          () =>
            new Error(
              `SNS in ${settings.region} has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms.`,
            ),
        );
      } finally {
        ended.abort(); // after a failure the other requests would only make repetitions
      }
    },
    async close() {
      client.destroy();
    },
  };
}

async function ask(client: SNSClient, arn: string, abortSignal: AbortSignal): Promise<void> {
  try {
    await client.send(new PublishBatchCommand({ TopicArn: arn, PublishBatchRequestEntries: [] }), { abortSignal });
  } catch (error) {
    if (isAboutBatch(error)) return;
    throw wrapped(error, arn);
  }
}

/** Whether it was the batch that the service refused: then it has let us in. */
function isAboutBatch(error: unknown): boolean {
  return (
    error instanceof SNSServiceException &&
    error.$metadata.httpStatusCode === 400 &&
    knownReason(REASONS, codeOf(error)) === undefined &&
    !/TopicArn|throttl/iu.test(`${textOf(error.name)} ${textOf(error.message)}`)
  );
}

async function publish(
  client: SNSClient,
  arnOf: (topic: string) => string,
  events: readonly PublishedEvent[],
  abortSignal: AbortSignal,
  log: Log,
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const arn = arnOf(first.topic);
  const isLarge = events.length === 1 && LIMITS.bytesOf(first) > LIMITS.bytesMax;
  try {
    const answer = await client.send(
      new PublishBatchCommand({ TopicArn: arn, PublishBatchRequestEntries: events.map(entryOf) }),
      { abortSignal },
    );
    const [failed] = answer.Failed ?? [];
    if (failed) throw new RefusedEntry(failed, `${answer.Failed?.length} of ${events.length}`);
    if (answer.Successful?.length !== events.length)
      throw new Error(`it confirmed ${answer.Successful?.length ?? 0} of ${events.length} events`);
  } catch (error) {
    if (!isLarge || !isAboutSize(error)) throw wrapped(error, arn);
    log.error(
      { event: first.id, type: first.type, bytes: LIMITS.bytesOf(first), reason: reasonOf(error) },
      'an event is too large for the broker',
    ); // topics may be set to take up to 1 MiB; this one is not
  }
}

/** The first of the events of a batch that the service refused. */
class RefusedEntry extends Error {
  override readonly name = 'RefusedEntry';
  readonly entry: BatchResultErrorEntry;

  constructor(entry: BatchResultErrorEntry, count: string) {
    super(`it refused ${count} events (${entry.Code}: ${entry.Message})`);
    this.entry = entry;
  }
}

/**
 * Whether an event is larger than its topic takes, so that a repetition would be refused too. Any other trouble may
 * pass. Source: SNS API, PublishBatch, and what the service says: `InvalidParameter`, "Invalid parameter: Message too
 * long".
 */
function isAboutSize(error: unknown): boolean {
  if (error instanceof RefusedEntry)
    return error.entry.SenderFault === true && namesSize(error.entry.Code, error.entry.Message);
  return error instanceof SNSServiceException && namesSize(textOf(error.name), textOf(error.message));
}

function namesSize(code = '', message = ''): boolean {
  return (
    code.startsWith('BatchRequestTooLong') ||
    (/^(?:InvalidParameter|ValidationE)/u.test(code) && /too (?:long|large)|length|size|shorter/iu.test(message))
  );
}

function entryOf(event: PublishedEvent, index: number): PublishBatchRequestEntry {
  return {
    Id: String(index),
    Message: event.text,
    MessageAttributes: {
      type: { DataType: 'String', StringValue: event.type },
      corename: { DataType: 'String', StringValue: event.coreName },
    },
  };
}

function wrapped(error: unknown, arn: string): Error {
  if (error instanceof Error && error.name === 'CredentialsProviderError') {
    return new Error(
      'There are no credentials for SNS in the standard chain (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of this machine).',
      { cause: error },
    );
  }
  const reason =
    error instanceof SNSServiceException
      ? knownReason(REASONS, codeOf(error))
      : isUnread(error)
        ? UNREADABLE
        : undefined;
  return new Error(`SNS does not take events for ${arn}: ${reason ?? reasonOf(error)}.`, { cause: error });
}

/**
 * Whether there was an answer, of which the SDK made no error of a service: of SNS, or of one that gives credentials
 * (STS, SSO). What it says then is about itself.
 */
function isUnread(error: unknown): boolean {
  const { $metadata: answer, $fault } = Object(error) as {
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly $fault?: unknown; // errors of every service have it (Smithy, ServiceException)
  };
  return answer?.httpStatusCode !== undefined && $fault === undefined;
}

/** The service's code; classes of the SDK carry it with a suffix. What is no text in the answer is none here. */
function codeOf(error: SNSServiceException): string {
  const name = textOf(error.name);
  const code = name.replace(/Exception$/u, '');
  return Object.hasOwn(REASONS, code) ? code : name;
}
