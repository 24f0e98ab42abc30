/** How an MQTT server is signed in to and trusted. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openMqtt } from '../../../transport/events/brokers/mqtt.ts';
import { numberedEvents } from '../../support/brokers/events.ts';
import { consumeMqtt, startMosquitto } from '../../support/brokers/mosquitto.ts';
import { certificates, type Certificates } from '../../support/net/certificates.ts';
import { silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { outlivesDamage } from './contract.ts';
import { opened, refusal, urlOf, carried, PLAIN, recorder } from './mqtt-fixture.ts';

const test = await peerTest('mosquitto', 'mosquitto_sub');

const LOGIN = { username: 'edge', password: 'the-password-of-edge' };

async function certificatesOf(t: ExecutionContext): Promise<Certificates> {
  return certificates(temporaryDirectory(t));
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
  test(`with mutual TLS the client certificate lets in, and without it nobody gets in (${scheme})`, async (t) => {
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

for (const qos of [0, 1, 2] as const)
  test(`350 connections that are damaged while they are opened or amid publishing with QoS ${qos} end by themselves`, async (t) => {
    const server = await startMosquitto(t);

    await outlivesDamage(t, {
      port: server.port,
      connections: 350,
      pieces: 4 + 3 * qos,
      async opened(scope, at) {
        const broker = await openMqtt({ ...PLAIN, qos, urls: [`mqtt://127.0.0.1:${at}`] }, silentLog);
        scope.teardown(() => broker.close());
        return broker;
      },
    });
  });
