/** Connections to an MQTT server, and what they carry. */
import { createServer, connect } from 'node:net';
import type { ExecutionContext } from 'ava';
import { openMqtt } from '../../../transport/events/brokers/mqtt.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import type { MqttSettings } from '../../../transport/events/brokers/settings.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { consumeMqtt, type Mosquitto } from '../../support/brokers/mosquitto.ts';
import { silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { listening } from '../../support/net/listening.ts';

/** Settings without signing in and without TLS. */
export const PLAIN: Omit<MqttSettings, 'urls'> = {
  adapter: 'mqtt',
  webSocketPath: null,
  qos: 1,
  auth: null,
  tls: null,
};

/** A connection to the server, closed with the test. */
export async function opened(
  t: ExecutionContext,
  settings: Partial<MqttSettings> & Pick<MqttSettings, 'urls'>,
): Promise<Broker> {
  const broker = await openMqtt({ ...PLAIN, ...settings }, silentLog);
  t.teardown(() => broker.close());
  return broker;
}

/** Fails unless opening is refused in time; the message. */
export async function refusal(
  t: ExecutionContext,
  settings: Partial<MqttSettings> & Pick<MqttSettings, 'urls'>,
): Promise<string> {
  const error = await t.throwsAsync(openMqtt({ ...PLAIN, ...settings }, silentLog));
  t.notRegex(error.message, /\n/u);
  return error.message;
}

/** The URL of the server on this machine. */
export const urlOf = (server: Mosquitto, scheme = 'mqtt') => `${scheme}://localhost:${server.port}`;

/** Publishes one event and returns what the consumer got. */
export async function carried(t: ExecutionContext, server: Mosquitto, broker: Broker) {
  const consumer = await consumeMqtt(t, server);
  const event = brokerEvent('edge.node.status_changed', 'node-1', { name: 'Größe "1"\n' });
  await broker.publish([event]);
  await until('the event to arrive', () => consumer.messages().length > 0);
  return { event, messages: consumer.messages() };
}

/** Passes a connection on and keeps what the client sent. */
export async function recorder(
  t: ExecutionContext,
  target: number,
  host = '127.0.0.1',
): Promise<{ readonly port: number; sent(): Buffer; open(): number }> {
  const pieces: Buffer[] = [];
  let open = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    open += 1;
    client
      .on('data', (piece: Buffer) => pieces.push(piece))
      .on('error', () => upstream.destroy())
      .on('close', () => {
        open -= 1;
        upstream.destroy();
      });
    upstream.on('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  return { port: await listening(t, server, host), sent: () => Buffer.concat(pieces), open: () => open };
}
