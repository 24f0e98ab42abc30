/**
 * `mqtt`: publishes by MQTT 3.1.1 to the first of some servers that takes the connection. The topic is the type with
 * slashes; nothing is retained.
 * A server that does not let us publish to a topic cannot say so in this version of the protocol: it drops the event,
 * or hangs up.
 */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { MqttClient, type IClientOptions } from 'mqtt';
import type { Log } from '../../net/log.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker, type PublishedEvent } from './broker.ts';
import { containListeners } from '../../net/streams/contained.ts';
import { within } from './deadline.ts';
import { mqttServers, type MqttServer } from './mqtt-servers.ts';
import { reasonOf } from './reason.ts';
import type { MqttSettings } from './settings.ts';

/**
 * Silence after which the client asks whether the server is there, in s. One and a half of it without an answer, and
 * the connection counts as lost.
 */
const KEEPALIVE_S = 15;

/**
 * Unconfirmed events on a connection, by quality of service. This version of the protocol negotiates nothing, and
 * servers have limits of their own: some hang up, or drop, at more than 100 (AWS IoT Core, quotas; EMQX,
 * max_awaiting_rel). Mosquitto 2.0.11 confirms and then loses what is more than 20 of QoS 2, its max_inflight_messages:
 * with 64 in flight two of three events were missing at the consumer.
 */
const IN_FLIGHT_MAX = { 1: 64, 2: 16 } as const;

/**
 * Bytes from a server since the last whole packet, in bytes: what answers a publisher has four at most, and one read
 * brings up to 65,536 of them. So a message that nobody asked for may have some 64 KiB. The client gathers whatever a
 * packet announces, which may be 256 MiB.
 */
export const PACKET_BYTES_MAX = 131_072;

/** Timeout of a polite goodbye, in ms. */
const CLOSE_MS_MAX = 1_000;

/** Why a server refuses a connection. Source: MQTT 3.1.1, table 3.1. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'it does not speak MQTT 3.1.1',
  2: 'it refuses the client id',
  3: 'it takes no connections now',
  4: 'it refuses the user name or password',
  5: 'it refuses the user name, password or certificate',
};

/** A connection that was made. */
interface Connection {
  readonly client: MqttClient;
  readonly stream: Duplex;
  readonly server: MqttServer;
  /** What went wrong first, if something did. */
  problem(): Error | null;
}

/**
 * Connects to the first server that takes it; those before it, and why not, are logged. Each has its share of
 * CONNECT_MS_MAX.
 */
export async function openMqtt(settings: MqttSettings, log: Log): Promise<Broker> {
  const servers = await mqttServers(settings);
  const deadline = performance.now() + CONNECT_MS_MAX;
  const refused: string[] = [];
  for (const [index, server] of servers.entries()) {
    try {
      const connection = await connect(server, settings, (deadline - performance.now()) / (servers.length - index));
      return brokerOn(connection, settings.qos);
    } catch (error) {
      const reason = connectReason(error);
      refused.push(`${server.label}: ${reason}`);
      if (index < servers.length - 1) log.warn({ server: server.label, reason }, 'an MQTT server is passed over');
    }
  }
  throw new Error(`No server of EVENT_BROKER_MQTT_URLS takes the connection (${refused.join('; ')}).`);
}

async function connect(server: MqttServer, settings: MqttSettings, msMax: number): Promise<Connection> {
  const stream = server.dial();
  let problem: Error | null = null;
  const note = (error: unknown) => {
    problem ??= error instanceof Error ? error : new Error(String(error));
  };
  stream.on('error', note);
  containListeners(stream); // the client reads in them
  const client = new MqttClient(() => stream, optionsOf(settings, msMax));
  client.on('error', note); // for as long as it lives: an emitter without a listener would throw
  limitPackets(client, stream);
  const connection = { client, stream, server, problem: () => problem };

  const { promise, resolve, reject } = Promise.withResolvers<null>();
  client.once('connect', () => resolve(null));
  client.once('close', () => reject(problem ?? new Error('it closes the connection')));
  try {
    await within(msMax, promise, () => new Error(`it does not answer within ${Math.round(msMax)} ms`));
    return connection;
  } catch (error) {
    client.end(true);
    stream.destroy();
    throw error;
  }
}

/**
 * Ends the connection to a server that sends what the client would gather: packets without an end, and messages of
 * QoS 2, each of which it would keep until the server releases it. Messages of QoS 0 and 1 are dropped: a server may
 * subscribe its clients by itself (EMQX, auto-subscribe), but only once it took the connection (MQTT 3.1.1, 3.2).
 */
function limitPackets(client: MqttClient, stream: Duplex): void {
  let bytesSincePacket = 0;
  stream.on('data', (bytes: Buffer) => {
    bytesSincePacket += bytes.length;
    if (bytesSincePacket > PACKET_BYTES_MAX) stream.destroy(new Error('it sends a packet that is no answer'));
  });
  client.on('packetreceive', (packet) => {
    bytesSincePacket = 0;
    if (packet.cmd === 'publish' && (packet.qos === 2 || !client.connected))
      stream.destroy(new Error('it sends messages that nobody asked for'));
  });
  // what is behind a message waits with its confirmation until the server reads: it may send many and read none
  client.handleMessage = (_packet, confirm) => {
    if (stream.writableNeedDrain) stream.once('drain', () => confirm());
    else confirm();
  };
}

function optionsOf({ auth }: MqttSettings, msMax: number): IClientOptions {
  return {
    protocolVersion: 4,
    clean: true,
    // what every server must allow: at most 23 letters and digits (MQTT 3.1.1, 3.1.3.1)
    clientId: `edge${randomBytes(8).toString('hex')}`,
    keepalive: KEEPALIVE_S,
    connectTimeout: msMax + 1_000, // ours ends first, and says why
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    ...(auth && { username: auth.username, password: 'jwt' in auth ? auth.jwt : auth.password }),
  };
}

function connectReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return (typeof code === 'number' && REFUSALS[code]) || reasonOf(error);
}

function brokerOn(connection: Connection, qos: MqttSettings['qos']): Broker {
  const { client, stream, server } = connection;
  const waiting = new Set<(error: Error) => void>();
  const flushed = flushes(client);
  const lost = Promise.withResolvers<Error>();
  let gone: Error | null = null;

  client.once('close', () => {
    const reason = connection.problem() ?? new Error('it closed the connection');
    end(
      new Error(`The connection to the MQTT server ${server.label} is lost: ${reasonOf(reason)}.`, { cause: reason }),
    );
  });

  /** From now on nothing is sent, and whoever waits is told why. */
  function end(error: Error): void {
    if (gone) return;
    gone = error;
    lost.resolve(error);
    for (const fail of waiting) fail(error);
  }

  return {
    lost: lost.promise,
    async publish(events) {
      if (gone) throw gone;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const done = (error?: Error | null) => (error ? reject(error) : resolve());
      waiting.add(reject);
      try {
        if (qos === 0) sendUnconfirmed(client, events, () => flushed(resolve));
        else sendConfirmed(client, events, qos, done);
        await within(
          PUBLISH_MS_MAX,
          promise,
          () =>
            new Error(
              `The MQTT server ${server.label} has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms.`,
            ),
        );
      } finally {
        waiting.delete(reject);
      }
    },
    async close() {
      const isPolite = gone === null && waiting.size === 0;
      client.removeAllListeners('close');
      end(new Error(`The connection to the MQTT server ${server.label} was closed.`));
      if (isPolite)
        await within(CLOSE_MS_MAX, client.endAsync(), () => new Error('it does not say goodbye')).catch(() => {});
      client.end(true);
      stream.destroy();
    },
  };
}

/**
 * Publishes in order, with at most IN_FLIGHT_MAX unconfirmed. Servers pass on in the order of arrival (MQTT 3.1.1,
 * 4.6).
 */
function sendConfirmed(
  client: MqttClient,
  events: readonly PublishedEvent[],
  qos: 1 | 2,
  done: (error?: Error | null) => void,
): void {
  let [sent, confirmed] = [0, 0];
  const more = () => {
    for (; sent < events.length && sent - confirmed < IN_FLIGHT_MAX[qos]; sent += 1) {
      const event = events[sent] as PublishedEvent;
      client.publish(topicOf(event), event.text, { qos, retain: false }, (error) => {
        if (error) return done(error);
        confirmed += 1;
        return confirmed === events.length ? done() : more();
      });
    }
  };
  if (events.length === 0) done();
  else more();
}

/**
 * Publishes in order and then flushes: QoS 0 has no confirmation, but a server reads in order, so that when it has
 * answered a ping it has read what was before.
 */
function sendUnconfirmed(client: MqttClient, events: readonly PublishedEvent[], flush: () => void): void {
  for (const event of events) client.publish(topicOf(event), event.text, { qos: 0, retain: false });
  flush();
}

function topicOf(event: PublishedEvent): string {
  return event.type.replaceAll('.', '/');
}

/**
 * Pings, and calls back when that very ping is answered. Those of the keep-alive are counted too, as answers carry no
 * name.
 */
function flushes(client: MqttClient): (done: () => void) => void {
  const waiting: { readonly ping: number; readonly done: () => void }[] = [];
  let [asked, answered] = [0, 0];
  client.on('packetsend', (packet) => {
    if (packet.cmd === 'pingreq') asked += 1;
  });
  client.on('packetreceive', (packet) => {
    if (packet.cmd !== 'pingresp') return;
    answered += 1;
    while (waiting[0] && waiting[0].ping <= answered) waiting.shift()?.done();
  });
  return (done) => {
    client.sendPing();
    waiting.push({ ping: asked, done });
  };
}
