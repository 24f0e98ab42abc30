/** Settings of the event broker: which adapter, and how it reaches its servers. What they come to: broker-choice.ts. */
import { choice, flag, list, secret, text, urls } from './fields.ts';
import { isUserSeed } from './nkey.ts';

/** Kinds of broker. */
export const ADAPTERS = [
  'nats',
  'kafka',
  'amqp091',
  'rabbitmq',
  'redis',
  'mqtt',
  'cloud_a_sns',
  'cloud_b_pubsub',
] as const;

const HOST_PORT = /^(?:[^\s:/@,]+|\[[\da-f:]+\]):\d{1,5}$/iu;

const unset = { defaultText: 'none' } as const;
const user = (of: string) =>
  text({ max: 255 })
    .optional()
    .meta({ ...unset, description: `User name at ${of}.` });
const password = (of: string) =>
  secret()
    .optional()
    .meta({ ...unset, description: `Password at ${of}.` });
const ssl = (of: string) =>
  flag()
    .default(false)
    .describe(`Whether the connection to ${of} is encrypted (TLS). Further authorities: NODE_EXTRA_CA_CERTS.`);
const file = (what: string) =>
  text()
    .optional()
    .meta({ ...unset, description: `PEM file of ${what}.` });

/** Every setting of the event broker: environment variable → schema. Source: docs/brokers.md. */
export const EVENT_BROKER_SETTINGS = {
  EVENT_BROKER_ENABLED: flag().default(false).describe('Whether events are published to a message broker.'),
  EVENT_BROKER_ADAPTER: choice(ADAPTERS)
    .optional()
    .meta({ ...unset, description: 'Kind of broker. rabbitmq is another name of amqp091.' }),
  EVENT_BROKER_NATS_URLS: urls(['nats:', 'tls:'])
    .optional()
    .meta({ ...unset, description: 'NATS servers.' }),
  EVENT_BROKER_NATS_JETSTREAM: flag()
    .default(false)
    .describe('Whether events are stored in JetStream streams. Without it NATS keeps nothing.'),
  EVENT_BROKER_NATS_TOKEN: secret()
    .optional()
    .meta({ ...unset, description: 'Token at NATS. Comes before user name and nkey.' }),
  EVENT_BROKER_NATS_USERNAME: user('NATS'),
  EVENT_BROKER_NATS_PASSWORD: password('NATS'),
  EVENT_BROKER_NATS_NKEY_SEED: secret()
    .refine(isUserSeed)
    .meta({ expected: 'the seed of a user nkey (58 characters that begin with SU, the last of them a checksum)' })
    .optional()
    .meta({ ...unset, description: 'Seed of the nkey with which to sign in to NATS.' }),
  EVENT_BROKER_NATS_JWT: secret({ max: 65_536 })
    .optional()
    .meta({ ...unset, description: 'User JWT for NATS; needs EVENT_BROKER_NATS_NKEY_SEED.' }),
  EVENT_BROKER_KAFKA_URLS: list()
    .refine((entries) => entries.every(isHostAndPort))
    .meta({ expected: 'a comma-separated list of host:port' })
    .optional()
    .meta({ ...unset, description: 'Kafka bootstrap servers.' }),
  EVENT_BROKER_KAFKA_USERNAME: user('Kafka'),
  EVENT_BROKER_KAFKA_PASSWORD: password('Kafka'),
  EVENT_BROKER_KAFKA_SASL_MECHANISM: choice(['plain', 'scram_sha_256', 'scram_sha_512'])
    .default('plain')
    .describe('How to sign in to Kafka, when a user name is set.'),
  EVENT_BROKER_KAFKA_SSL: ssl('Kafka'),
  EVENT_BROKER_RABBITMQ_URL: secret()
    .refine(isAmqpUrl)
    .meta({ expected: 'a URL like amqp://user:password@host:5672/vhost, with %25 for a % and so on' })
    .optional()
    .meta({ ...unset, description: 'RabbitMQ, with its credentials.' }),
  EVENT_BROKER_RABBITMQ_SSL: ssl('RabbitMQ'),
  EVENT_BROKER_REDIS_URLS: urls(['redis:', 'rediss:'])
    .optional()
    .meta({ ...unset, description: 'Redis server, or the sentinels, or nodes of the cluster.' }),
  EVENT_BROKER_REDIS_USERNAME: user('Redis'),
  EVENT_BROKER_REDIS_PASSWORD: password('Redis'),
  EVENT_BROKER_REDIS_SSL: ssl('Redis'),
  EVENT_BROKER_REDIS_MODE: choice(['standalone', 'sentinel', 'cluster'])
    .default('standalone')
    .describe('What the Redis URLs are.'),
  EVENT_BROKER_REDIS_SENTINEL_GROUP: text({ max: 255 })
    .optional()
    .meta({ ...unset, description: 'Name of the master that the sentinels watch.' }),
  EVENT_BROKER_REDIS_SENTINEL_PASSWORD: password('the sentinels'),
  EVENT_BROKER_MQTT_URLS: urls(['mqtt:', 'mqtts:', 'tcp:', 'ssl:', 'ws:', 'wss:'])
    .optional()
    .meta({ ...unset, description: 'MQTT servers, tried in order.' }),
  EVENT_BROKER_MQTT_WEBSOCKET: flag().default(false).describe('Whether MQTT goes over WebSocket.'),
  EVENT_BROKER_MQTT_WEBSOCKET_PATH: text({
    max: 255,
    pattern: /^\/[^\s?#]*$/u,
    expected: 'a path that begins with /, without spaces, ? and #',
  })
    .default('/mqtt')
    .describe('Path of the WebSocket.'),
  EVENT_BROKER_MQTT_QOS: choice(['0', '1', '2']).default('1').describe('Quality of service of every MQTT publish.'),
  EVENT_BROKER_MQTT_JWT: secret({ max: 65_536 })
    .optional()
    .meta({
      ...unset,
      description:
        'JWT for MQTT, sent as the password, with the user name if one is set and else with the user name jwt. Comes before the password.',
    }),
  EVENT_BROKER_MQTT_USERNAME: user('MQTT'),
  EVENT_BROKER_MQTT_PASSWORD: password('MQTT'),
  EVENT_BROKER_MQTT_SSL: flag().default(false).describe('Whether the connection to MQTT is encrypted (TLS).'),
  EVENT_BROKER_MQTT_CACERT_FILE: file('the authorities that MQTT servers are trusted by'),
  EVENT_BROKER_MQTT_CLIENT_CERT_FILE: file('the client certificate for MQTT'),
  EVENT_BROKER_MQTT_CLIENT_KEY_FILE: file('the key of that certificate'),
  EVENT_BROKER_CLOUD_A_SNS_REGION: text({ max: 64, pattern: /^[a-z\d-]+$/u, expected: 'a region such as eu-west-1' })
    .optional()
    .meta({ ...unset, description: 'Region of the SNS topics.' }),
  EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX: text({
    max: 256,
    pattern: /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]*$/u,
    expected: 'the beginning of a topic ARN, such as arn:aws:sns:eu-west-1:123456789012:',
  })
    .optional()
    .meta({ ...unset, description: 'What stands before the topic name in each ARN.' }),
  EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT: text({
    max: 64,
    pattern: /^[a-z][a-z\d.:-]*$/u,
    expected: 'the id of a project',
  })
    .optional()
    .meta({ ...unset, description: 'Project of the Pub/Sub topics.' }),
  EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX: text({
    max: 128,
    pattern: /^(?!goog)[A-Za-z][\w.~+%-]*$/u,
    expected: 'letters, digits and the signs -_.~+%, that begin with a letter and not with goog',
  })
    .optional()
    .meta({ ...unset, description: 'What stands before the topic name in each topic id.' }),
} as const;

function isHostAndPort(value: string): boolean {
  const port = Number(value.split(':').at(-1));
  return HOST_PORT.test(value) && port >= 1 && port <= 65_535;
}

/** Whether it is one, and its parts can be decoded. */
function isAmqpUrl(value: string): boolean {
  try {
    const { protocol, hostname, username, password, pathname } = new URL(value);
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return ['amqp:', 'amqps:'].includes(protocol) && hostname !== '';
  } catch {
    return false;
  }
}
