/**
 * `nats`: publishes to NATS; the subject is the type. With JetStream each event is stored and confirmed by its stream,
 * which drops a repetition by the event's id; without, the server has read it, and who is not subscribed misses it.
 */
import { connect as dial } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';
import { jetstream, JetStreamApiError } from '@nats-io/jetstream';
import { connect, errors, type NatsConnection } from '@nats-io/transport-node';
import type { Log } from '../../net/log.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { within } from './deadline.ts';
import { natsCredentialNames, natsOptions, natsServers, type NatsServer } from './nats-options.ts';
import { provideStreams } from './nats-streams.ts';
import { LINE_BYTES_MAX, NO_NATS } from './nats-transport.ts';
import { reasonOf } from './reason.ts';
import { sendInRequests, type RequestLimits } from './requests.ts';
import type { NatsSettings } from './settings.ts';

/** Timeout of a goodbye, in ms. */
const CLOSE_MS_MAX = 1_000;

/** What JetStream's header with the id takes of the server's max_payload, in bytes, and room for more. */
const ID_HEADER_BYTES = 128;

/** Bytes of one UTF-16 unit in UTF-8, at most. */
const UTF8_BYTES_MAX = 3;

/** Requests to JetStream: one for each event, as many as there are entities. */
const ONE_BY_ONE: RequestLimits = {
  eventsMax: 1,
  bytesMax: Infinity,
  requestsMax: Infinity,
  bytesOf: () => 0,
  groupOf: (event) => event.topic,
};

/** Publishes a batch; resolves as Broker.publish does. */
type Publish = (events: readonly PublishedEvent[]) => Promise<void>;

/** Connects to the first server that takes us, and with JetStream provides the streams. */
export async function openNats(settings: NatsSettings, log: Log): Promise<Broker> {
  const servers = natsServers(settings);
  const names = servers.map(nameOf).join(', ');
  const opening = open(settings, servers, log);
  return within(
    CONNECT_MS_MAX,
    opening,
    () => new Error(`NATS at ${names} does not answer within ${CONNECT_MS_MAX} ms.`),
    (broker) => void broker.close(),
  );
}

async function open(settings: NatsSettings, servers: readonly NatsServer[], log: Log): Promise<Broker> {
  const stepMs = CONNECT_MS_MAX / (servers.length + 1); // the last share is for the streams
  const { connection, server } = await connectToFirst(settings, servers, stepMs);
  const name = `NATS at ${nameOf(server)}`;
  try {
    if (settings.jetStream) await provideStreams(connection, stepMs / 2, log, (error) => natsReason(error, settings));
  } catch (error) {
    await end(connection);
    throw new Error(`${name} cannot be used with EVENT_BROKER_NATS_JETSTREAM: ${natsReason(error, settings)}.`, {
      cause: error,
    });
  }
  return brokerOf(connection, name, settings, log);
}

/** Rejects with what is wrong at each of them. */
async function connectToFirst(
  settings: NatsSettings,
  servers: readonly NatsServer[],
  stepMs: number,
): Promise<{ readonly connection: NatsConnection; readonly server: NatsServer }> {
  const problems: string[] = [];
  for (const server of servers) {
    const options = natsOptions(settings, server, stepMs);
    try {
      await greeting(server, stepMs);
      return { connection: await connect(options), server };
    } catch (error) {
      problems.push(`NATS at ${nameOf(server)} cannot be used: ${natsReason(error, settings)}.`);
    }
  }
  throw new Error(problems.join(' '));
}

/**
 * Waits for the first line of a server on a connection of its own: the client leaves its socket open for ever where
 * something accepts connections and says nothing.
 */
async function greeting({ host, port }: NatsServer, msMax: number): Promise<void> {
  const socket = dial({ host, port, signal: AbortSignal.timeout(msMax) });
  try {
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) {
      text += String(chunk);
      if (!'INFO '.startsWith(text.slice(0, 5)) || text.length > LINE_BYTES_MAX) break;
      if (text.includes('\r\n')) return;
    }
    throw new Error(text === '' ? 'it hung up' : NO_NATS);
  } catch (error) {
    throw error instanceof Error && error.name === 'AbortError'
      ? new Error(`it does not answer within ${Math.round(msMax)} ms`)
      : error;
  } finally {
    socket.destroy();
  }
}

function brokerOf(connection: NatsConnection, name: string, settings: NatsSettings, log: Log): Broker {
  const publish = settings.jetStream ? storing(connection) : reading(connection);
  const lost = Promise.withResolvers<Error>();
  // the client leaves a flush unanswered for ever when its connection goes
  const underWay = new Set<(reason: Error) => void>();
  let isEnded = false;
  const bytesMax = (): number =>
    (connection.info?.max_payload ?? Number.POSITIVE_INFINITY) - (settings.jetStream ? ID_HEADER_BYTES : 0);
  void connection.closed().then((error) => {
    const reason = error instanceof Error ? natsReason(error, settings) : 'the server closed it';
    for (const interrupt of underWay) interrupt(new Error(`the connection is lost, as ${reason}`));
    return isEnded || lost.resolve(new Error(`The connection to ${name} is lost: ${reason}.`));
  });
  return {
    lost: lost.promise,
    async publish(events) {
      const interrupted = Promise.withResolvers<never>();
      underWay.add(interrupted.reject);
      try {
        await within(
          PUBLISH_MS_MAX,
          Promise.race([publish(fitting(events, bytesMax(), log)), interrupted.promise]),
          () => new Error(`it has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms`),
        );
      } catch (error) {
        throw new Error(`${name} did not take the events: ${natsReason(error, settings)}.`, { cause: error });
      } finally {
        underWay.delete(interrupted.reject);
      }
    },
    async close() {
      isEnded = true;
      await end(connection);
    },
  };
}

/** Without those that the server can never take: they would hold up all others. Nobody else tells of them. */
function fitting(events: readonly PublishedEvent[], bytesMax: number, log: Log): readonly PublishedEvent[] {
  return events.filter((event) => {
    if (event.text.length * UTF8_BYTES_MAX <= bytesMax) return true;
    const bytes = Buffer.byteLength(event.text);
    if (bytes > bytesMax)
      log.error(
        { event: event.id, type: event.type, bytes, bytes_max: bytesMax },
        'an event is too large for the broker',
      );
    return bytes <= bytesMax;
  });
}

async function end(connection: NatsConnection): Promise<void> {
  await within(CLOSE_MS_MAX, connection.close(), () => new Error('it does not end')).catch(() => {});
}

/**
 * Core NATS confirms nothing, but a server reads in order: the answer to one ping says that it has read all before, and
 * objected or not.
 */
function reading(connection: NatsConnection): Publish {
  let objection: Error | null = null;
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === 'error') objection = status.error;
    }
  })();
  return async (events) => {
    objection = null;
    for (const event of events) connection.publish(event.type, event.text);
    await connection.flush();
    await nextRound(); // an objection came before the pong, but reaches us by a longer way
    if (objection !== null) throw objection;
  };
}

/**
 * JetStream: events of different entities are under way at once, and each is confirmed by its stream. It may refuse one
 * and take the next: were that of the same entity, its repetition would be dropped later, and that of the first stored
 * behind it.
 */
function storing(connection: NatsConnection): Publish {
  const client = jetstream(connection, { timeout: PUBLISH_MS_MAX });
  return async (events) => {
    await sendInRequests(events, ONE_BY_ONE, async (request) => {
      for (const event of request) await client.publish(event.type, event.text, { msgID: event.id });
    });
  };
}

function nameOf({ host, port }: NatsServer): string {
  return `${host}:${port}`;
}

/** The client names what it waited for in the cause. */
function natsReason(error: unknown, settings: NatsSettings): string {
  const cause =
    error instanceof errors.RequestError || error instanceof errors.ConnectionError ? (error.cause ?? error) : error;
  if (cause instanceof errors.AuthorizationError && /authentication timeout/iu.test(cause.message))
    return 'it gave up waiting for the sign-in, as it or this admin is too busy';
  if (cause instanceof errors.AuthorizationError || cause instanceof errors.UserAuthenticationExpiredError)
    return `it refuses ${natsCredentialNames(settings.auth)}`;
  if (cause instanceof errors.PermissionViolationError)
    return `this user may not ${cause.operation === 'publish' ? 'publish to' : 'subscribe to'} ${cause.subject}`;
  if (cause instanceof errors.TimeoutError) return 'it does not answer';
  if (cause instanceof errors.NoRespondersError) return 'no stream takes the event, or JetStream is off';
  if (cause instanceof JetStreamApiError) return `JetStream says "${cause.message}"`;
  return reasonOf(cause);
}
