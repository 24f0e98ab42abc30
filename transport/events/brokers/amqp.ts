/**
 * `amqp091`: publishes by AMQP 0-9-1 to the durable topic exchange `edge.events`, persistent, with publisher confirms.
 * The routing key is the type. What reads, and whether it lasts, is up to the queues that consumers bind: an event that
 * no queue wants is dropped by the broker.
 */
import { isIP } from 'node:net';
import { AMQPConnectionError, Connection, type Channel, type ConnectionOptions } from 'rabbitmq-client';
import type { Log } from '../../net/log.ts';
import { takeAnswersOnly } from './amqp-frames.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { within } from './deadline.ts';
import { knownReason, reasonOf } from './reason.ts';
import type { AmqpSettings } from './settings.ts';

/** The exchange. Source: docs/brokers.md. */
const EXCHANGE = 'edge.events';

/** CloudEvents in structured mode. Source: CloudEvents AMQP binding 1.0, 3.2. */
const CONTENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** How often either side shows that it lives, in s. A broker that is silent for twice as long counts as lost. */
const HEARTBEAT_S = 10;

/** Timeout of a polite goodbye, in ms. */
const CLOSE_MS_MAX = 1_000;

/** What replies of the broker mean. Source: AMQP 0-9-1, 1.2 (constants), by the names that the client gives them. */
const REFUSALS: Readonly<Record<string, string>> = {
  ACCESS_REFUSED: `its user of EVENT_BROKER_RABBITMQ_URL may not publish to the exchange ${EXCHANGE}`,
  NOT_ALLOWED: 'the virtual host of EVENT_BROKER_RABBITMQ_URL does not exist, or that user may not use it',
  NOT_FOUND: `it has no exchange ${EXCHANGE}`,
  PRECONDITION_FAILED: `its exchange ${EXCHANGE} is of another kind, and should be a durable topic exchange`,
  CONNECTION_FORCED: 'it is being shut down',
  RESOURCE_ERROR: 'it is out of resources',
  NACK: 'it could not store an event',
  VERSION_MISMATCH: 'it does not speak AMQP 0-9-1 there',
  CONN_CLOSE: 'it closed the connection',
  READ_END: 'it closed the connection',
  CONNECTION_TIMEOUT: 'it does not answer',
  SOCKET_TIMEOUT: 'it does not answer any more',
  EPROTO: 'it does not speak TLS there, which EVENT_BROKER_RABBITMQ_SSL or amqps asks for',
};

/** How a listener with TLS answers a client without. */
const CUT_CODES: readonly string[] = ['ECONNRESET', 'EPIPE', 'CONN_CLOSE', 'READ_END', 'VERSION_MISMATCH'];

/** Connects, declares the exchange and asks for confirms. */
export async function openAmqp(settings: AmqpSettings, log: Log): Promise<Broker> {
  const options = optionsOf(settings);
  const link = new Link(options, log);
  try {
    const channel = await within(
      CONNECT_MS_MAX,
      Promise.race([openChannel(link.connection), troubleOf(link.connection)]),
      () => new Error(`it does not answer within ${CONNECT_MS_MAX} ms`),
    );
    return new AmqpBroker(link, channel);
  } catch (error) {
    link.connection.unsafeDestroy();
    const hint =
      !options.tls && CUT_CODES.includes(codeOf(error)) ? '; EVENT_BROKER_RABBITMQ_SSL may have to be true' : '';
    throw new Error(`${link.name} cannot be used: ${amqpReason(error)}${hint}.`, { cause: error });
  }
}

/** A connection, and what the broker said on it. */
class Link {
  readonly connection: Connection;
  /** For messages to operators. */
  readonly name: string;
  readonly #lost = Promise.withResolvers<Error>();
  #blocked: string | null = null;
  /** What the connection failed with: its channels are closed before it says so. */
  #failure: Error | null = null;

  constructor(options: ConnectionOptions, log: Log) {
    this.connection = new Connection(options);
    this.name = `RabbitMQ at ${options.hostname}:${options.port} (EVENT_BROKER_RABBITMQ_URL)`;
    const socket = takeAnswersOnly(this.connection);
    socket.once('error', (error) => (this.#failure = error));
    this.connection.on('error', (error) => this.trouble(error));
    this.connection.on('connection.blocked', (reason) => {
      if (this.#blocked !== null) return socket.uncork(); // the client corks each time, and uncorks once
      this.#blocked = reason;
      log.warn({ reason }, 'RabbitMQ takes no events now');
    });
    this.connection.on('connection.unblocked', () => {
      if (this.#blocked === null) return;
      this.#blocked = null;
      log.info({}, 'RabbitMQ takes events again');
    });
  }

  /** Resolves with the first trouble. */
  get lost(): Promise<Error> {
    return this.#lost.promise;
  }

  /** Why the broker takes no events now, in its words; null: it takes them. */
  get blocked(): string | null {
    return this.#blocked;
  }

  /** The client would connect again by itself: it is ended at the first trouble. */
  trouble(error: unknown): void {
    this.connection.unsafeDestroy();
    const cause = this.#failure ?? error;
    this.#lost.resolve(new Error(`The connection to ${this.name} is lost: ${amqpReason(cause)}.`, { cause }));
  }
}

/** A link whose channel confirms what it stored. */
class AmqpBroker implements Broker {
  readonly lost: Promise<Error>;
  readonly #link: Link;
  readonly #channel: Channel;

  constructor(link: Link, channel: Channel) {
    this.lost = link.lost;
    this.#link = link;
    this.#channel = channel;
    channel.once('close', this.#channelClosed);
  }

  async publish(events: readonly PublishedEvent[]): Promise<void> {
    try {
      await within(PUBLISH_MS_MAX, publish(this.#channel, events), () => this.#unconfirmed(events.length));
    } catch (error) {
      throw new Error(`${this.#link.name} did not take the events: ${amqpReason(error)}.`, { cause: error });
    }
  }

  async close(): Promise<void> {
    const { connection } = this.#link;
    this.#channel.off('close', this.#channelClosed);
    await within(
      CLOSE_MS_MAX,
      this.#channel.close().then(() => connection.close()),
      () => new Error('it does not say goodbye'),
    ).catch(() => {});
    connection.unsafeDestroy();
  }

  readonly #channelClosed = (): void => this.#link.trouble(new Error('it closed the channel'));

  #unconfirmed(count: number): Error {
    const { blocked } = this.#link;
    return new Error(
      blocked === null
        ? `it has not confirmed ${count} events within ${PUBLISH_MS_MAX} ms`
        : `it takes no events now (${blocked})`,
    );
  }
}

/**
 * Where and as whom. Parsed here and not by the client, which takes no IPv6 address, no default user and no TLS on a
 * URL that begins with amqp:.
 */
function optionsOf({ url, ssl }: AmqpSettings): ConnectionOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const host = hostname.replace(/^\[(?<address>.*)\]$/u, '$<address>');
  const isTls = ssl || protocol === 'amqps:';
  return {
    hostname: host,
    port: port || (isTls ? '5671' : '5672'),
    username: decodeURIComponent(username) || 'guest', // as in RabbitMQ's URI specification
    password: decodeURIComponent(password) || 'guest',
    vhost: decodeURIComponent(pathname.slice(1)) || '/',
    ...(isTls && { tls: isIP(host) === 0 ? { servername: host } : {} }),
    heartbeat: HEARTBEAT_S,
    connectionTimeout: CONNECT_MS_MAX + 1_000, // our own limits end first, and say why
    acquireTimeout: CONNECT_MS_MAX + 1_000,
    connectionName: 'edge-fleet-control',
    noDelay: true,
  };
}

async function openChannel(connection: Connection): Promise<Channel> {
  const channel = await connection.acquire();
  try {
    await channel.exchangeDeclare({ exchange: EXCHANGE, type: 'topic', durable: true });
    await channel.confirmSelect();
    return channel;
  } catch (error) {
    if (codeOf(error) !== 'ACCESS_REFUSED') throw error;
  }
  // The user may not declare. It is enough if somebody else did. A refusal ends a channel, so this is another one.
  const other = await connection.acquire();
  await other.exchangeDeclare({ exchange: EXCHANGE, passive: true });
  await other.confirmSelect();
  return other;
}

/** Rejects with the first trouble of a connection. */
async function troubleOf(connection: Connection): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  connection.once('error', reject);
  return promise;
}

/** Publishes all, then waits for all confirms: one channel keeps the order, and the confirms of a batch overlap. */
async function publish(channel: Channel, events: readonly PublishedEvent[]): Promise<void> {
  await Promise.all(
    events.map((event) =>
      channel.basicPublish(
        { exchange: EXCHANGE, routingKey: event.type, messageId: event.id, contentType: CONTENT_TYPE, durable: true },
        Buffer.from(event.text),
      ),
    ),
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function amqpReason(error: unknown): string {
  if (error instanceof AMQPConnectionError && error.code === 'ACCESS_REFUSED')
    return 'it refuses the user name or password of EVENT_BROKER_RABBITMQ_URL';
  return knownReason(REFUSALS, codeOf(error)) ?? reasonOf(error);
}
