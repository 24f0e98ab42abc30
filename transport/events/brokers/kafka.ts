/**
 * `kafka`: publishes to five topics by the Kafka protocol. The partition key is the subject, so that events of one
 * entity stay in order; acks of all in-sync replicas are waited for. A topic that is missing is asked for (brokers with
 * auto.create.topics.enable then create it).
 */
import { isIP } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import {
  Producer,
  ProduceAcks,
  compatibilityPartitioner,
  stringSerializers,
  type Connection as KafkaConnection,
  type ProducerOptions,
} from '@platformatic/kafka';
import { TOPICS, type Topic } from '../../../actors/event-topics.ts';
import type { Log } from '../../net/log.ts';
import { containListeners } from '../../net/streams/contained.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { within } from './deadline.ts';
import { limitAnswers } from './kafka-answers.ts';
import { HUNG_UP, isCut, isTooLarge, kafkaReason, lacksTopic, refusalReason } from './kafka-reason.ts';
import { kafkaSignIn } from './kafka-sign-in.ts';
import type { KafkaSettings } from './settings.ts';

/** CloudEvents in structured mode. Source: CloudEvents Kafka binding 1.0, 3.3. */
const HEADERS = { 'content-type': 'application/cloudevents+json; charset=utf-8' };

/**
 * Text in one request, in bytes. Half of what a broker takes for one partition unless configured otherwise. Source:
 * Kafka, message.max.bytes (1,048,588).
 */
const REQUEST_BYTES_MAX = 524_288;

/** How long a topic that is missing may take to be created, in ms. */
const TOPIC_MS_MAX = 4_000;

/** Wait between two looks at a topic that is missing, in ms. */
const TOPIC_LOOK_MS = 200;

/** Timeout of a polite goodbye, in ms. */
const CLOSE_MS_MAX = 1_000;

/**
 * A connection that ends sooner, in ms, is one of a broker that hangs up on whoever comes. Less than any
 * connections.max.idle.ms: brokers hang up on who is quiet, and are dialled at once.
 */
export const CONNECTION_MS_MIN = 1_000;

type Client = Producer<string, string, string, string>;

/** Connects to the first bootstrap server that answers, and looks whether every topic is there. */
export async function openKafka(settings: KafkaSettings, log: Log): Promise<Broker> {
  const producer: Client = new Producer(optionsOf(settings));
  let excess: Error | undefined;
  const connections = connectionsOf(producer, ended, (error) => {
    excess = error;
    if (isOpen) lose(error.message, error); // it would do so on the next connection too, which comes without a pause
  });
  const name = `Kafka at ${settings.brokers.join(', ')} (EVENT_BROKER_KAFKA_URLS)`;
  const lost = Promise.withResolvers<Error>();
  let isOpen = false;
  const causeOf = (error: unknown): unknown => (isCut(error) ? (excess ?? error) : error);

  async function close(): Promise<void> {
    isOpen = false;
    await ending(producer, connections);
  }

  /**
   * Brokers hang up on a client that was quiet (connections.max.idle.ms, 10 minutes), so a connection that ends says
   * nothing yet: another one is made. One that ends at once does: a broker that answers and hangs up would be dialled
   * without a pause, and who opens the next one makes a pause.
   */
  function ended(heldMs: number): void {
    if (!isOpen) return;
    if (heldMs < CONNECTION_MS_MIN) lose(HUNG_UP);
    else void check();
  }

  async function check(): Promise<void> {
    await nextTurn(); // only now the client has forgotten the connection
    if (!isOpen) return;
    try {
      await within(CONNECT_MS_MAX, producer.metadata({ topics: [], forceUpdate: true }), silence);
      log.debug({}, 'a connection to Kafka ended, and another one was made');
    } catch (error) {
      lose(kafkaReason(causeOf(error), settings), error);
    }
  }

  function lose(reason: string, cause?: unknown): void {
    lost.resolve(new Error(`The connection to ${name} is lost: ${reason}.`, { cause }));
  }

  try {
    await within(CONNECT_MS_MAX, Promise.all(TOPICS.map((topic) => findTopic(producer, topic))), silence);
  } catch (error) {
    await close();
    throw new Error(`${name} cannot be used: ${refusalReason(causeOf(error), settings)}.`, { cause: error });
  }
  isOpen = true;
  excess = undefined; // of a server before the one that took us
  return {
    lost: lost.promise,
    publish: (events) =>
      publishInTime(producer, events, log).catch((error: unknown) => {
        throw new Error(`${name} did not take the events: ${kafkaReason(causeOf(error), settings)}.`, { cause: error });
      }),
    close,
  };
}

/** Says goodbye, and destroys what is left after CLOSE_MS_MAX. */
async function ending(producer: Client, connections: ReadonlySet<KafkaConnection>): Promise<void> {
  const goodbye = within(CLOSE_MS_MAX, producer.close(), () => new Error('it does not say goodbye'));
  await goodbye.catch(() => {}); // whatever came of it, what is left is destroyed
  for (const connection of connections) socketOf(connection)?.destroy();
}

function silence(): Error {
  return new Error(`it does not answer within ${CONNECT_MS_MAX} ms`);
}

/**
 * Those that are open or being made; `ended` hears for how long, in ms, one was open that was, and `exceeded` of
 * answers that are too long. The client reports a trouble in its own answers and may report it again to nobody, which
 * would end this process.
 */
function connectionsOf(
  producer: Client,
  ended: (heldMs: number) => void,
  exceeded: (error: Error) => void,
): ReadonlySet<KafkaConnection> {
  const connections = new Set<KafkaConnection>();
  const connectedMs = new WeakMap<KafkaConnection, number>();
  producer.connections.on('connecting', ({ connection }) => {
    connections.add(connection);
    process.nextTick(() => {
      // its socket is made in this turn, or never where a server named a port that is none; its reader throws at
      // answers that no honest server gives
      const socket = socketOf(connection);
      if (socket === undefined) return;
      containListeners(socket);
      limitAnswers(socket, exceeded);
    });
    connection.on('error', () => {});
    connection.on('close', () => {
      connections.delete(connection);
      void connection.close(); // it is, but its timer to sign in again would run on
      const sinceMs = connectedMs.get(connection);
      if (sinceMs !== undefined) ended(performance.now() - sinceMs);
    });
  });
  producer.connections.on('connect', ({ connection }) => void connectedMs.set(connection, performance.now()));
  producer.connections.on('failed', ({ connection }) => {
    connections.delete(connection);
    socketOf(connection)?.destroy();
  });
  return connections;
}

/** Undefined, whatever the client's types say, where none could be made. */
function socketOf(connection: KafkaConnection): KafkaConnection['socket'] | undefined {
  return connection.socket;
}

/**
 * The client repeats nothing: whatever fails is published again by the channel, and two that repeat would upset the
 * order.
 */
function optionsOf({ brokers, sasl, ssl }: KafkaSettings): ProducerOptions<string, string, string, string> {
  return {
    clientId: 'edge-fleet-control',
    bootstrapBrokers: [...brokers],
    serializers: stringSerializers,
    partitioner: compatibilityPartitioner,
    acks: ProduceAcks.ALL,
    // it guards against repeats of the client itself, which makes none, and asks for a further permission at older
    // brokers
    idempotent: false,
    autocreateTopics: true,
    retries: 0,
    connectTimeout: CONNECT_MS_MAX / (brokers.length + 1), // so that each has its turn
    requestTimeout: PUBLISH_MS_MAX + 1_000, // our own limit ends first, and says why
    timeout: PUBLISH_MS_MAX,
    ...(ssl && { tls: {}, tlsServerName: !brokers.some(isAddress) }),
    ...(sasl && { sasl: kafkaSignIn(sasl) }),
  };
}

/** Whether it is an IP address: such is no server name for TLS (RFC 6066, 3). */
function isAddress(broker: string): boolean {
  return isIP(broker.replace(/:\d+$/u, '').replace(/^\[(?<address>.*)\]$/u, '$<address>')) !== 0;
}

/**
 * Rejects when the topic is not there after TOPIC_MS_MAX. Each is asked for alone, since an answer about several does
 * not say which is missing.
 */
async function findTopic(producer: Client, topic: Topic): Promise<void> {
  const deadline = performance.now() + TOPIC_MS_MAX;
  for (;;) {
    try {
      await producer.metadata({ topics: [topic], forceUpdate: true });
      return;
    } catch (error) {
      if (!lacksTopic(error)) throw error;
    }
    if (performance.now() > deadline) throw new Error(`it has no topic ${topic}, and does not create it`);
    await delay(TOPIC_LOOK_MS);
  }
}

/** Rejects after PUBLISH_MS_MAX. */
function publishInTime(producer: Client, events: readonly PublishedEvent[], log: Log): Promise<void> {
  return within(
    PUBLISH_MS_MAX,
    publish(producer, events, log),
    () => new Error(`it has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms`),
  );
}

/** One request after the other, as a second one could overtake a first that fails. Most batches are one request. */
async function publish(producer: Client, events: readonly PublishedEvent[], log: Log): Promise<void> {
  for (const portion of portionsOf(events)) await send(producer, portion, log);
}

/**
 * A portion that is too large for this server goes one by one; an event that is, is left out and told, as it would hold
 * up all others.
 */
async function send(producer: Client, portion: readonly PublishedEvent[], log: Log): Promise<void> {
  try {
    await producer.send({
      messages: portion.map(({ topic, subject, text }) => ({ topic, key: subject, value: text, headers: HEADERS })),
    });
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    const [first] = portion;
    if (portion.length > 1) for (const event of portion) await send(producer, [event], log);
    else if (first !== undefined)
      log.error(
        { event: first.id, type: first.type, bytes: Buffer.byteLength(first.text) },
        'an event is too large for the broker',
      );
  }
}

/** The events in order, cut so that each portion has at most REQUEST_BYTES_MAX, or is one event. */
function portionsOf(events: readonly PublishedEvent[]): PublishedEvent[][] {
  const portions: PublishedEvent[][] = [];
  let bytes = Infinity;
  for (const event of events) {
    const textBytes = Buffer.byteLength(event.text);
    bytes += textBytes;
    if (bytes > REQUEST_BYTES_MAX) {
      portions.push([]);
      bytes = textBytes;
    }
    portions.at(-1)?.push(event);
  }
  return portions;
}
