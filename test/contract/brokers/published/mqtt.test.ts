/**
 * Events by MQTT, end to end: a whole admin, a real server in every way of connecting, and an independent client with a
 * lasting session.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Envelope } from '../../../../actors/events.ts';
import {
  consumeMqtt,
  startMosquitto,
  type Mosquitto,
  type MosquittoOptions,
} from '../../../support/brokers/mosquitto.ts';
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { certificates, type Certificates } from '../../../support/net/certificates.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { allCame, envelopes, eventsAcross, isWell, publishesWhatHappens, toldOnce } from './contract.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import type { Env } from '../contract.ts';

const { serial: test } = await peerTest('mosquitto', 'mosquitto_sub'); // serial: an admin each

const PASSWORD = 'the-password-of-edge';
const JWT = `${'h'.repeat(40)}.${'p'.repeat(300)}.${'s'.repeat(86)}`;

/** How a server is set up, and what the admin is told of it. */
interface Mode {
  readonly server: (files: Certificates) => MosquittoOptions;
  readonly env: (server: Mosquitto, files: Certificates) => Readonly<Record<string, string>>;
}

const url = (server: Mosquitto, scheme = 'mqtt'): string => `${scheme}://localhost:${server.port}`;
const tls = (files: Certificates) => ({ cert: files.server, key: files.serverKey });
const trusting = (files: Certificates) => ({ EVENT_BROKER_MQTT_SSL: 'true', EVENT_BROKER_MQTT_CACERT_FILE: files.ca });

const MODES: Readonly<Record<string, Mode>> = {
  'to anybody, with QoS 0': {
    server: () => ({}),
    env: (server) => ({ EVENT_BROKER_MQTT_URLS: url(server), EVENT_BROKER_MQTT_QOS: '0' }),
  },
  'to anybody, with QoS 2': {
    server: () => ({}),
    env: (server) => ({ EVENT_BROKER_MQTT_URLS: url(server, 'tcp'), EVENT_BROKER_MQTT_QOS: '2' }),
  },
  'with a password': {
    server: () => ({ login: { username: 'edge', password: PASSWORD } }),
    env: (server) => ({
      EVENT_BROKER_MQTT_URLS: url(server),
      EVENT_BROKER_MQTT_USERNAME: 'edge',
      EVENT_BROKER_MQTT_PASSWORD: PASSWORD,
    }),
  },
  'with a JWT and no user name': {
    server: () => ({ login: { username: 'jwt', password: JWT } }),
    env: (server) => ({ EVENT_BROKER_MQTT_URLS: url(server), EVENT_BROKER_MQTT_JWT: JWT }),
  },
  'with a JWT, which comes before the password': {
    server: () => ({ login: { username: 'edge', password: JWT } }),
    env: (server) => ({
      EVENT_BROKER_MQTT_URLS: url(server),
      EVENT_BROKER_MQTT_JWT: JWT,
      EVENT_BROKER_MQTT_USERNAME: 'edge',
      EVENT_BROKER_MQTT_PASSWORD: PASSWORD,
    }),
  },
  'with TLS': {
    server: (files) => ({ tls: tls(files) }),
    env: (server, files) => ({ EVENT_BROKER_MQTT_URLS: url(server, 'mqtts'), ...trusting(files) }),
  },
  'with mutual TLS': {
    server: (files) => ({ tls: { ...tls(files), clientCa: files.ca } }),
    env: (server, files) => ({
      EVENT_BROKER_MQTT_URLS: url(server),
      ...trusting(files),
      EVENT_BROKER_MQTT_CLIENT_CERT_FILE: files.client,
      EVENT_BROKER_MQTT_CLIENT_KEY_FILE: files.clientKey,
    }),
  },
  'by WebSocket': {
    server: () => ({ isWebSocket: true }),
    env: (server) => ({ EVENT_BROKER_MQTT_URLS: url(server, 'ws'), EVENT_BROKER_MQTT_WEBSOCKET: 'true' }),
  },
  'by WebSocket with mutual TLS and a password': {
    server: (files) => ({
      isWebSocket: true,
      login: { username: 'edge', password: PASSWORD },
      tls: { ...tls(files), clientCa: files.ca },
    }),
    env: (server, files) => ({
      EVENT_BROKER_MQTT_URLS: url(server, 'wss'),
      EVENT_BROKER_MQTT_WEBSOCKET: 'true',
      EVENT_BROKER_MQTT_WEBSOCKET_PATH: '/events',
      EVENT_BROKER_MQTT_USERNAME: 'edge',
      EVENT_BROKER_MQTT_PASSWORD: PASSWORD,
      ...trusting(files),
      EVENT_BROKER_MQTT_CLIENT_CERT_FILE: files.client,
      EVENT_BROKER_MQTT_CLIENT_KEY_FILE: files.clientKey,
    }),
  },
};

/** What a consumer got. */
const textsOf = (consumer: Awaited<ReturnType<typeof consumeMqtt>>) => () =>
  consumer.messages().map(({ payload }) => payload);

for (const [mode, { server: options, env }] of Object.entries(MODES)) {
  test(`connected ${mode}, the admin publishes what happens under its type`, async (t) => {
    const files = await certificates(temporaryDirectory(t));
    const server = await startMosquitto(t, options(files));
    const consumer = await consumeMqtt(t, server);
    const admin = await startPublishingAdmin(t, 'mqtt', env(server, files));

    await publishesWhatHappens(t, admin, textsOf(consumer));

    t.deepEqual(
      consumer.messages().map(({ topic }) => topic),
      consumer.messages().map(({ payload }) => (JSON.parse(payload) as Envelope).type.replaceAll('.', '/')),
    );
  });
}

test('a server that goes and comes back while events flow has passed on all of them, in order', async (t) => {
  const server = await startMosquitto(t);
  const consumer = await consumeMqtt(t, server);
  const admin = await startPublishingAdmin(t, 'mqtt', { EVENT_BROKER_MQTT_URLS: url(server) });
  const events = await eventsAcross(admin, {
    goes: () => server.stop(),
    comes: () => server.start(),
    flowing: 100,
  });

  await allCame(admin, textsOf(consumer), events);
  t.deepEqual(envelopes(textsOf(consumer)()), events);
  await isWell(admin);
});

test('when the first server is away, the second gets the events', async (t) => {
  const second = await startMosquitto(t);
  const consumer = await consumeMqtt(t, second);
  const admin = await startPublishingAdmin(t, 'mqtt', {
    EVENT_BROKER_MQTT_URLS: `mqtt://localhost:${await freePort()},${url(second)}`,
  });

  const events = await admin.testEvents(3);

  await until('the events', () => consumer.messages().length >= events.length);
  t.deepEqual(envelopes(textsOf(consumer)()), events);
  await isWell(admin);
});

test('a wrong password delays no command, is told once, and is in no log line', async (t) => {
  const server = await startMosquitto(t, { login: { username: 'edge', password: PASSWORD } });
  const admin = await startPublishingAdmin(t, 'mqtt', {
    EVENT_BROKER_MQTT_URLS: url(server),
    EVENT_BROKER_MQTT_USERNAME: 'edge',
    EVENT_BROKER_MQTT_PASSWORD: 'a-wrong-password',
  });

  await toldOnce(
    t,
    admin,
    `No server of EVENT_BROKER_MQTT_URLS takes the connection (localhost:${server.port}: it refuses the user name, password or certificate).`,
    ['a-wrong-password'],
  );
});

test('files of certificates that are wrong stop the start, with a line that names the setting of each', async (t) => {
  const [files, others] = [await certificates(temporaryDirectory(t)), await certificates(temporaryDirectory(t))];
  const path = join(temporaryDirectory(t), 'file.pem');
  const TLS = { EVENT_BROKER_MQTT_URLS: 'mqtt://localhost', EVENT_BROKER_MQTT_SSL: 'true' };
  const CLIENT = { ...TLS, EVENT_BROKER_MQTT_CLIENT_CERT_FILE: files.client };
  const problem = (env: Env) => t.throws(() => brokerSettings('mqtt', env)).message;
  const shown = JSON.stringify(path);

  t.regex(
    problem({ ...CLIENT, EVENT_BROKER_MQTT_SSL: 'false', EVENT_BROKER_MQTT_CLIENT_KEY_FILE: files.clientKey }),
    /^EVENT_BROKER_MQTT_SSL is "false": with certificate files it should be true$/u,
  );
  t.regex(
    problem(CLIENT),
    /^EVENT_BROKER_MQTT_CLIENT_CERT_FILE and EVENT_BROKER_MQTT_CLIENT_KEY_FILE should both be set, or neither$/u,
  );

  t.is(
    problem({ ...TLS, EVENT_BROKER_MQTT_CACERT_FILE: path }),
    `EVENT_BROKER_MQTT_CACERT_FILE is ${shown}: the file cannot be read (ENOENT); it should be a PEM file of certificates`,
  );
  await writeFile(path, 'no certificate');
  t.is(
    problem({ ...TLS, EVENT_BROKER_MQTT_CACERT_FILE: path }),
    `EVENT_BROKER_MQTT_CACERT_FILE is ${shown}: the file holds none; it should be a PEM file of certificates`,
  );
  await writeFile(path, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  t.is(
    problem({ ...TLS, EVENT_BROKER_MQTT_CACERT_FILE: path }),
    `EVENT_BROKER_MQTT_CACERT_FILE is ${shown}: the file holds none that can be read; it should be a PEM file of certificates`,
  );
  t.is(
    problem({ ...CLIENT, EVENT_BROKER_MQTT_CLIENT_KEY_FILE: path }),
    `EVENT_BROKER_MQTT_CLIENT_KEY_FILE is ${shown}: the file holds none that can be read; it should be a PEM file of an unencrypted private key`,
  );
  t.is(
    problem({ ...CLIENT, EVENT_BROKER_MQTT_CLIENT_KEY_FILE: others.clientKey }),
    `EVENT_BROKER_MQTT_CLIENT_KEY_FILE is ${JSON.stringify(others.clientKey)}: it is not the key of the certificate in EVENT_BROKER_MQTT_CLIENT_CERT_FILE`,
  );
  t.like(
    brokerSettings('mqtt', {
      ...CLIENT,
      EVENT_BROKER_MQTT_CACERT_FILE: files.ca,
      EVENT_BROKER_MQTT_CLIENT_KEY_FILE: files.clientKey,
    }),
    { tls: { caFile: files.ca, client: { certFile: files.client, keyFile: files.clientKey } } },
  );
});
