/** Settings of each kind of event broker that are wrong: what is said of them, by name and without a secret. */
import test from 'ava';
import { brokerSettings } from '../../support/brokers/settings.ts';

type Adapter = Parameters<typeof brokerSettings>[0];

/** What their settings begin with. */
const PREFIXES = {
  amqp091: 'EVENT_BROKER_RABBITMQ_',
  kafka: 'EVENT_BROKER_KAFKA_',
  mqtt: 'EVENT_BROKER_MQTT_',
  nats: 'EVENT_BROKER_NATS_',
  redis: 'EVENT_BROKER_REDIS_',
  cloud_a_sns: 'EVENT_BROKER_CLOUD_A_SNS_',
  cloud_b_pubsub: 'EVENT_BROKER_CLOUD_B_PUBSUB_',
} as const satisfies Partial<Record<Adapter, string>>;

const SNS = { REGION: 'eu-west-1', TOPIC_ARN_PREFIX: 'arn:aws:sns:eu-west-1:123456789012:any-' };

/** By adapter: settings without that beginning, and what is said of them, with `$` for it. */
const WRONG: Readonly<
  Record<keyof typeof PREFIXES, readonly (readonly [env: Readonly<Record<string, string>>, problem: RegExp])[]>
> = {
  amqp091: [
    [{}, /^\$URL is not set: /u],
    ...['http://edge:the-word@host', 'edge:the-word@host', 'amqp://edge:the-word%@host', 'amqp:///the-word'].map(
      (URL) => [{ URL }, /^\$URL .*it should be a URL like amqp:/u] as const,
    ),
    [{ URL: 'amqp://127.0.0.1', SSL: 'perhaps' }, /^\$SSL /u],
  ],
  kafka: [
    [{}, /^\$URLS is not set: /u],
    ...['127.0.0.1', 'kafka://127.0.0.1:9092', '127.0.0.1:99999', 'edge:the-word@127.0.0.1:9092'].map(
      (URLS) => [{ URLS }, /^\$URLS .*a comma-separated list of host:port/u] as const,
    ),
    [{ URLS: '127.0.0.1:9092', USERNAME: 'edge' }, /^\$PASSWORD is not set: /u],
    [{ URLS: '127.0.0.1:9092', PASSWORD: 'the-word' }, /^\$USERNAME is not set: /u],
    [{ URLS: '127.0.0.1:9092', SASL_MECHANISM: 'gssapi' }, /^\$SASL_MECHANISM /u],
  ],
  mqtt: [
    [{}, /^\$URLS is not set: /u],
    [{ URLS: 'http://localhost' }, /^\$URLS is "http:\/\/localhost": it should be .* mqtt:\/\//u],
    [
      { URLS: 'mqtt://edge:the-word@localhost' },
      /^\$URLS holds credentials: they should be in \$USERNAME and \$PASSWORD$/u,
    ],
    [{ URLS: 'mqtt://localhost', QOS: '3' }, /^\$QOS is "3": it should be one of 0, 1, 2$/u],
    [{ URLS: 'mqtt://localhost', USERNAME: 'edge' }, /^\$PASSWORD is not set: /u],
    [{ URLS: 'mqtt://localhost', WEBSOCKET_PATH: 'mqtt' }, /^\$WEBSOCKET_PATH .*a path that begins with/u],
  ],
  nats: [
    [{}, /^\$URLS is not set: /u],
    [
      { URLS: 'http://127.0.0.1:4222' },
      /^\$URLS is "http:\/\/127\.0\.0\.1:4222": it should be .* nats:\/\/ or tls:\/\//u,
    ],
    [
      { URLS: 'nats://edge:the-word@127.0.0.1:4222' },
      /^\$URLS holds credentials: they should be in \$USERNAME and \$PASSWORD$/u,
    ],
    [{ URLS: 'nats://127.0.0.1:4222', USERNAME: 'edge' }, /^\$PASSWORD is not set: /u],
    [{ URLS: 'nats://127.0.0.1:4222', NKEY_SEED: 'the-word' }, /^\$NKEY_SEED .*58 characters that begin with SU/u],
    [
      { URLS: 'nats://127.0.0.1:4222', NKEY_SEED: `SU${'A'.repeat(56)}` },
      /^\$NKEY_SEED .*the last of them a checksum/u,
    ],
    [{ URLS: 'nats://127.0.0.1:4222', JWT: 'a.b.c' }, /^\$NKEY_SEED is not set: with \$JWT/u],
  ],
  redis: [
    [{}, /^\$URLS is not set: /u],
    [
      { URLS: 'http://127.0.0.1:6379' },
      /^\$URLS is "http:\/\/127\.0\.0\.1:6379": it should be .* redis:\/\/ or rediss:\/\//u,
    ],
    [
      { URLS: 'redis://edge:the-word@127.0.0.1:6379' },
      /^\$URLS holds credentials: they should be in \$USERNAME and \$PASSWORD$/u,
    ],
    [{ URLS: 'redis://127.0.0.1:6379', MODE: 'sentinel' }, /^\$SENTINEL_GROUP is not set: /u],
    [{ URLS: 'redis://127.0.0.1:6379', MODE: 'swarm' }, /^\$MODE is "swarm": it should be /u],
  ],
  cloud_a_sns: [
    [{}, /^\$REGION is not set: .*\n\$TOPIC_ARN_PREFIX is not set: /u],
    [
      { ...SNS, TOPIC_ARN_PREFIX: 'edge-' },
      /^\$TOPIC_ARN_PREFIX is "edge-": it should be the beginning of a topic ARN/u,
    ],
    [
      { ...SNS, REGION: 'us-east-1' },
      /^\$REGION is "us-east-1": it should be eu-west-1, the region in \$TOPIC_ARN_PREFIX$/u,
    ],
  ],
  cloud_b_pubsub: [
    [{}, /^\$PROJECT is not set: /u],
    [{ PROJECT: 'projects/edge' }, /^\$PROJECT is "projects\/edge": it should be the id of a project$/u],
    [{ PROJECT: 'edge', TOPIC_ID_PREFIX: 'a/b' }, /^\$TOPIC_ID_PREFIX is "a\/b": it should be letters/u],
  ],
};

for (const [adapter, prefix] of Object.entries(PREFIXES) as [keyof typeof PREFIXES, string][]) {
  test(`what is wrong with settings for ${adapter} is said by the name of each, without a secret`, (t) => {
    for (const [env, problem] of WRONG[adapter]) {
      const named = Object.fromEntries(Object.entries(env).map(([name, value]) => [`${prefix}${name}`, value]));
      const { message } = t.throws(() => brokerSettings(adapter, named));
      t.regex(message.replaceAll(prefix, '$'), problem);
      t.false(message.includes('the-word'), message);
    }
  });
}

test('a JWT for MQTT may be long, and is the password of a user of that name', (t) => {
  const jwt = 'j'.repeat(20_000);

  t.like(brokerSettings('mqtt', { EVENT_BROKER_MQTT_URLS: 'mqtt://localhost', EVENT_BROKER_MQTT_JWT: jwt }), {
    auth: { jwt, username: 'jwt' },
  });
});
