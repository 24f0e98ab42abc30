import { writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openMqtt } from '../../../transport/events/brokers/mqtt.ts';
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import type { MqttSettings } from '../../../transport/events/brokers/settings.ts';
import { brokerEvent, numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import { consumeMqtt, startMosquitto, type Mosquitto } from '../../support/brokers/mosquitto.ts';
import { certificates, type Certificates } from '../../support/certificates.ts';
import { freePort } from '../../support/free-ports.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { listening } from '../../support/listening.ts';

const test = await peerTest('mosquitto', 'mosquitto_sub');

const PLAIN: Omit<MqttSettings, 'urls'> = { adapter: 'mqtt', webSocketPath: null, qos: 1, auth: null, tls: null };

const LOGIN = { username: 'edge', password: 'the-password-of-edge' };

async function opened(
  t: ExecutionContext,
  settings: Partial<MqttSettings> & Pick<MqttSettings, 'urls'>,
): Promise<Broker> {
  const broker = await openMqtt({ ...PLAIN, ...settings }, silentLog);
  t.teardown(() => broker.close());
  return broker;
}

async function certificatesOf(t: ExecutionContext): Promise<Certificates> {
  return certificates(temporaryDirectory(t));
}

/** Fails unless opening is refused in time; the message. */
async function refusal(
  t: ExecutionContext,
  settings: Partial<MqttSettings> & Pick<MqttSettings, 'urls'>,
): Promise<string> {
  const error = await t.throwsAsync(openMqtt({ ...PLAIN, ...settings }, silentLog));
  t.notRegex(error.message, /\n/u);
  return error.message;
}

const urlOf = (server: Mosquitto, scheme = 'mqtt') => `${scheme}://localhost:${server.port}`;

/** Publishes one event and returns what the consumer got. */
async function carried(t: ExecutionContext, server: Mosquitto, broker: Broker) {
  const consumer = await consumeMqtt(t, server);
  const event = brokerEvent('edge.node.status_changed', 'node-1', { name: 'Größe "1"\n' });
  await broker.publish([event]);
  await until('the event to arrive', () => consumer.messages().length > 0);
  return { event, messages: consumer.messages() };
}

for (const qos of [0, 1, 2] as const) {
  for (const scheme of ['mqtt', 'ws'] as const) {
    test(`with QoS ${qos} over ${scheme} every event arrives once, in the order of each subject, on its topic, not retained`, async (t) => {
      const server = await startMosquitto(t, { isWebSocket: scheme === 'ws' });
      const consumer = await consumeMqtt(t, server);
      const broker = await opened(t, { urls: [urlOf(server, scheme)], qos });
      const events = numberedEvents(1_200, 7);

      for (let from = 0; from < events.length; from += 500) await broker.publish(events.slice(from, from + 500));
      await until('all events to arrive', () => consumer.messages().length >= events.length);

      const messages = consumer.messages();
      t.deepEqual(
        messages.map((message) => message.payload),
        events.map((event) => event.text),
      );
      t.deepEqual(
        new Set(messages.map(({ topic, qos: got, isRetained }) => JSON.stringify({ topic, got, isRetained }))),
        new Set([JSON.stringify({ topic: 'edge/command_execution/created', got: qos, isRetained: false })]),
      );
    });
  }
}

test('who signs in with user name and password is let in', async (t) => {
  const server = await startMosquitto(t, { login: LOGIN });
  const broker = await opened(t, { urls: [urlOf(server)], auth: LOGIN });

  const { event, messages } = await carried(t, server, broker);

  t.deepEqual(messages, [{ topic: 'edge/node/status_changed', qos: 1, isRetained: false, payload: event.text }]);
});

test('a JWT is sent as the password', async (t) => {
  const jwt = `${'h'.repeat(40)}.${'p'.repeat(300)}.${'s'.repeat(86)}`;
  const server = await startMosquitto(t, { login: { username: 'jwt', password: jwt } });
  const broker = await opened(t, { urls: [urlOf(server)], auth: { jwt, username: 'jwt' } });

  t.is((await carried(t, server, broker)).messages.length, 1);
});

test('a wrong password, a wrong JWT or none is told in one line without the secret', async (t) => {
  const server = await startMosquitto(t, { login: LOGIN });
  const urls = [urlOf(server)];

  const messages = [
    await refusal(t, { urls, auth: { username: 'edge', password: 'wrong-secret' } }),
    await refusal(t, { urls, auth: { username: 'edge', jwt: 'wrong-secret' } }),
    await refusal(t, { urls }),
  ];

  t.deepEqual(
    messages,
    Array.from(
      { length: 3 },
      () =>
        `No server of EVENT_BROKER_MQTT_URLS takes the connection (localhost:${server.port}: it refuses the user name, password or certificate).`,
    ),
  );
});

for (const scheme of ['mqtt', 'mqtts', 'ws'] as const) {
  test(`a server behind TLS is trusted by the authorities in the file (${scheme})`, async (t) => {
    const files = await certificatesOf(t);
    const server = await startMosquitto(t, {
      isWebSocket: scheme === 'ws',
      tls: { cert: files.server, key: files.serverKey },
    });
    const broker = await opened(t, { urls: [urlOf(server, scheme)], tls: { caFile: files.ca, client: null } });

    t.is((await carried(t, server, broker)).messages.length, 1);
  });
}

test('a server that none of the authorities vouches for, or whose name is another, is refused', async (t) => {
  const files = await certificatesOf(t);
  const others = await certificatesOf(t);
  const server = await startMosquitto(t, { tls: { cert: files.server, key: files.serverKey } });

  t.regex(
    await refusal(t, { urls: [urlOf(server)], tls: { caFile: others.ca, client: null } }),
    /its certificate is signed by nobody who is trusted here/u,
  );
  t.regex(
    await refusal(t, { urls: [urlOf(server, 'mqtts')] }),
    /its certificate is signed by nobody who is trusted here/u,
  );
  const relay = await recorder(t, server.port, '127.0.0.2');
  t.regex(
    await refusal(t, { urls: [`mqtt://127.0.0.2:${relay.port}`], tls: { caFile: files.ca, client: null } }),
    /its certificate is for another host/u,
  );
});

for (const scheme of ['mqtt', 'ws'] as const) {
  test(`mutual TLS: the client certificate lets in, and without it nobody gets in (${scheme})`, async (t) => {
    const files = await certificatesOf(t);
    const server = await startMosquitto(t, {
      isWebSocket: scheme === 'ws',
      tls: { cert: files.server, key: files.serverKey, clientCa: files.ca },
    });
    const urls = [urlOf(server, scheme)];
    const broker = await opened(t, {
      urls,
      tls: { caFile: files.ca, client: { certFile: files.client, keyFile: files.clientKey } },
    });

    t.is((await carried(t, server, broker)).messages.length, 1);
    t.regex(
      await refusal(t, { urls, tls: { caFile: files.ca, client: null } }),
      /^No server of EVENT_BROKER_MQTT_URLS takes the connection/u,
    );
  });
}

test('files that cannot be read, or hold something else, are named by their setting', async (t) => {
  const files = await certificatesOf(t);
  const path = join(temporaryDirectory(t), 'missing.pem');
  await writeFile(`${path}.txt`, 'no certificate');

  t.is(
    await refusal(t, { urls: ['mqtts://localhost:1'], tls: { caFile: path, client: null } }),
    `EVENT_BROKER_MQTT_CACERT_FILE is ${JSON.stringify(path)}: the file cannot be read (ENOENT).`,
  );
  t.is(
    await refusal(t, {
      urls: ['mqtts://localhost:1'],
      tls: { caFile: files.ca, client: { certFile: files.client, keyFile: path } },
    }),
    `EVENT_BROKER_MQTT_CLIENT_KEY_FILE is ${JSON.stringify(path)}: the file cannot be read (ENOENT).`,
  );
  t.regex(
    await refusal(t, {
      urls: ['mqtts://localhost:1'],
      tls: { caFile: files.ca, client: { certFile: `${path}.txt`, keyFile: files.clientKey } },
    }),
    /EVENT_BROKER_MQTT_CLIENT_CERT_FILE/u,
  );
});

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

  t.true(performance.now() - startMs < patient(7_000));
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

    t.true(performance.now() - startMs < patient(13_000));
    await broker.close();
    t.true(performance.now() - startMs < patient(15_000));
  });
}

test('events that are published while a server comes and goes all arrive, in order', async (t) => {
  const server = await startMosquitto(t);
  const consumer = await consumeMqtt(t, server);
  const events = numberedEvents(6_000, 11);
  let broker: Broker | null = null;
  let connections = 0;

  const restarted = (async () => {
    await until('the first events', () => consumer.messages().length > 600);
    await server.stop();
    await server.start();
  })();
  for (let from = 0; from < events.length;) {
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

test('a connection says MQTT 3.1.1 with a clean session, nothing is retained, and a WebSocket has its path and subprotocol', async (t) => {
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

/** Passes a connection on and keeps what the client sent. */
async function recorder(
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
  await once(server.listen(0, host), 'listening');
  t.teardown(() => {
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sent: () => Buffer.concat(pieces), open: () => open };
}
