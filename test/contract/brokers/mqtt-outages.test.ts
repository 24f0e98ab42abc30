/** MQTT servers that are away, silent, killed or slow, and what goes over a connection. */
import { createServer } from 'node:net';
import { openMqtt } from '../../../transport/events/brokers/mqtt.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import { consumeMqtt, startMosquitto } from '../../support/brokers/mosquitto.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';
import { listening } from '../../support/net/listening.ts';
import { PLAIN, opened, refusal, urlOf, carried, recorder } from './mqtt-fixture.ts';

const test = await peerTest('mosquitto', 'mosquitto_sub');

test('the first server that takes the connection is used, and those before it are logged', async (t) => {
  const [second, third] = [await startMosquitto(t), await startMosquitto(t)];
  const port = await freePort();
  const log = recordingLog();
  const broker = await openMqtt({ ...PLAIN, urls: [`mqtt://localhost:${port}`, urlOf(second), urlOf(third)] }, log);
  t.teardown(() => broker.close());

  const { messages } = await carried(t, second, broker);

  t.is(messages.length, 1);
  t.deepEqual(log.lines, [
    {
      level: 'warn',
      fields: { server: `localhost:${port}`, reason: 'nobody listens there' },
      message: 'an MQTT server is passed over',
    },
  ]);
});

test('a server that accepts and says nothing costs only its share of the time', async (t) => {
  const silent = createServer();
  const port = await listening(t, silent);
  const server = await startMosquitto(t);
  const startMs = performance.now();

  const broker = await opened(t, {
    urls: [`mqtt://127.0.0.1:${port}`, urlOf(server)],
  });

  t.true(performance.now() - startMs < scaled(7_000));
  t.is((await carried(t, server, broker)).messages.length, 1);
});

test('when nobody listens every server is named with what is wrong there', async (t) => {
  const [first, second] = [await freePort(), await freePort()];

  t.is(
    await refusal(t, {
      urls: [`mqtt://localhost:${first}`, `ws://127.0.0.1:${second}`, 'mqtts://no-such-host.invalid'],
    }),
    `No server of EVENT_BROKER_MQTT_URLS takes the connection (localhost:${first}: nobody listens there; 127.0.0.1:${second}/mqtt: nobody listens there; no-such-host.invalid:8883: the host name is not known).`,
  );
});

test('a killed server is noticed at once, and a new connection works when it is back', async (t) => {
  const server = await startMosquitto(t);
  const broker = await opened(t, { urls: [urlOf(server)] });
  await broker.publish(numberedEvents(1, 1));

  server.process().kill();

  t.is(
    (await broker.lost).message,
    `The connection to the MQTT server localhost:${server.port} is lost: it closed the connection.`,
  );
  await t.throwsAsync(broker.publish(numberedEvents(1, 1)), { message: /is lost/u });
  await broker.close();
  await server.start();
  t.is((await carried(t, server, await opened(t, { urls: [urlOf(server)] }))).messages.length, 1);
});

for (const qos of [0, 1, 2] as const) {
  test(`a server that stands still fails a publish of QoS ${qos} in time`, async (t) => {
    const server = await startMosquitto(t);
    const broker = await opened(t, { urls: [urlOf(server)], qos });
    server.process().pause();
    const startMs = performance.now();

    await t.throwsAsync(broker.publish(numberedEvents(500, 7)), {
      message: /has not confirmed 500 events within 10000 ms/u,
    });

    t.true(performance.now() - startMs < scaled(13_000));
    await broker.close();
    t.true(performance.now() - startMs < scaled(15_000));
  });
}

test('events that are published while a server comes and goes all arrive, in order', async (t) => {
  const server = await startMosquitto(t);
  const consumer = await consumeMqtt(t, server);
  const events = numberedEvents(6_000, 11);
  let broker: Broker | null = null;
  let connections = 0;

  const { promise: gone, resolve: isGone } = Promise.withResolvers<void>();
  const restarted = (async () => {
    await until('the first events', () => consumer.messages().length > 600);
    await server.stop();
    isGone();
    await server.start();
  })();
  for (let from = 0; from < events.length;) {
    if (from >= events.length / 2) await Promise.race([gone, restarted]); // a consumer may be late with the first
    try {
      if (broker === null) {
        broker = await openMqtt({ ...PLAIN, urls: [urlOf(server)] }, silentLog);
        connections += 1;
      }
      await broker.publish(events.slice(from, from + 300));
      from += 300;
    } catch {
      await broker?.close();
      broker = null;
    }
  }
  await broker?.close();
  await restarted;

  t.true(connections > 1);
  await until(
    'all events to arrive',
    () => new Set(consumer.messages().map((message) => message.payload)).size === events.length,
  );
  for (const [, numbers] of numbersBySubject(consumer.messages().map((message) => message.payload)))
    t.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
});

test('a connection announces MQTT 3.1.1 and a clean session, retains nothing, and has WebSocket path and subprotocol', async (t) => {
  const [plain, overWebSocket] = [await startMosquitto(t), await startMosquitto(t, { isWebSocket: true })];
  const [first, second] = [await recorder(t, plain.port), await recorder(t, overWebSocket.port)];

  const broker = await opened(t, { urls: [`mqtt://localhost:${first.port}`], auth: { username: 'u', password: 'p' } });
  await broker.publish(numberedEvents(1, 1));
  await opened(t, { urls: [`mqtt://localhost:${second.port}`], webSocketPath: '/some/path' });

  const packet = first.sent();
  t.is(packet[0], 0x10);
  // level 4; user name, password, clean session, no will
  t.deepEqual(packet.subarray(2, 10), Buffer.from([0, 4, ...Buffer.from('MQTT'), 4, 0b1100_0010]));
  t.regex(packet.subarray(14, 34).toString('latin1'), /^edge[\da-f]{16}$/u);
  t.is(packet[2 + (packet[1] ?? 0)], 0x32); // what follows it is a publish: QoS 1, not retained, no repetition
  t.regex(second.sent().toString('latin1'), /^GET \/some\/path HTTP\/1\.1\r\n/u);
  t.regex(second.sent().toString('latin1'), /\r\nSec-WebSocket-Protocol: mqtt\r\n/iu);
});

test('closing says goodbye and leaves nothing behind, however often it is called', async (t) => {
  const server = await startMosquitto(t);
  const relay = await recorder(t, server.port);
  const broker = await opened(t, { urls: [`mqtt://localhost:${relay.port}`] });

  await broker.close();
  await broker.close();

  t.deepEqual([...relay.sent().subarray(-2)], [0xe0, 0]);
  await until('the connection to end', () => relay.open() === 0);
  await t.throwsAsync(broker.publish(numberedEvents(1, 1)), { message: /was closed/u });
});
