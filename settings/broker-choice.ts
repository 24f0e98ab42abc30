/** What the settings of the event broker come to: the one adapter that is chosen, with what it needs. */
import type {
  BrokerSettings,
  Login,
  MqttSettings,
  NatsSettings,
  RedisSettings,
  SnsSettings,
} from '../transport/events/brokers/settings.ts';
import type { Settings } from './environment.ts';
import { ADAPTERS, type EVENT_BROKER_SETTINGS } from './event-broker.ts';
import { certificatesProblem, clientCertificateProblem } from './pem-files.ts';

type Read = Settings<typeof EVENT_BROKER_SETTINGS>;
type Name = keyof Read;

/** The broker to publish to, or null where none is enabled; or every problem, one line each. */
export type BrokerChoice =
  | { readonly ok: true; readonly broker: BrokerSettings | null }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Puts the settings of the chosen adapter together. Those of others are ignored. */
export function chooseBroker(read: Read): BrokerChoice {
  if (!read.EVENT_BROKER_ENABLED) return { ok: true, broker: null };
  const wanted = createWanted(read);
  const broker = chosen(read, wanted);
  return wanted.problems.length > 0 ? { ok: false, problems: wanted.problems } : { ok: true, broker };
}

function chosen(read: Read, wanted: Wanted): BrokerSettings | null {
  switch (read.EVENT_BROKER_ADAPTER) {
    case undefined:
      wanted.problems.push(
        `EVENT_BROKER_ADAPTER is not set: with EVENT_BROKER_ENABLED it should be one of ${ADAPTERS.join(', ')}`,
      );
      return null;
    case 'nats':
      return nats(read, wanted);
    case 'kafka':
      return kafka(read, wanted);
    case 'amqp091':
    case 'rabbitmq':
      return amqp(read, wanted);
    case 'redis':
      return redis(read, wanted);
    case 'mqtt':
      return mqtt(read, wanted);
    case 'cloud_a_sns':
      return sns(wanted);
    case 'cloud_b_pubsub':
      return pubsub(read, wanted);
    default:
      return read.EVENT_BROKER_ADAPTER satisfies never;
  }
}

/** Settings as an adapter asks for them, and what was wrong with what it asked for. */
interface Wanted {
  readonly problems: string[];
  /** One that the adapter cannot do without. */
  needed<N extends Name>(name: N, why: string): NonNullable<Read[N]>;
  /**
   * Servers that the adapter cannot do without. Credentials in them would be printed with them, and a query would be
   * lost.
   */
  servers(
    name: 'EVENT_BROKER_NATS_URLS' | 'EVENT_BROKER_REDIS_URLS' | 'EVENT_BROKER_MQTT_URLS',
    why: string,
  ): readonly string[];
  /** Both or none. */
  login(username: Name, secretName: Name): Login | null;
}

function createWanted(read: Read): Wanted {
  const problems: string[] = [];
  const needed: Wanted['needed'] = (name, why) => {
    const value = read[name];
    if (value === undefined || value === null) problems.push(`${name} is not set: ${why}`);
    return value as NonNullable<typeof value>;
  };

  return {
    problems,
    needed,
    servers(name, why) {
      const given = needed(name, why);
      if (given?.some((url) => /\/\/[^/]*@/u.test(url)))
        problems.push(
          `${name} holds credentials: they should be in ${name.replace('_URLS', '_USERNAME')} and ${name.replace('_URLS', '_PASSWORD')}`,
        );
      else if (given?.some((url) => /[?#]/u.test(url)))
        problems.push(`${name} has a ? or # in it, which no server would see: it should be hosts and ports`);
      return given;
    },
    login(username, secretName) {
      const [name, word] = [read[username], read[secretName]];
      if (name !== undefined && word !== undefined) return { username: String(name), password: String(word) };
      if (name !== undefined) problems.push(`${secretName} is not set: with ${username} it should be the password`);
      if (word !== undefined) problems.push(`${username} is not set: with ${secretName} it should be the user name`);
      return null;
    },
  };
}

function nats(read: Read, wanted: Wanted): BrokerSettings {
  return {
    adapter: 'nats',
    urls: wanted.servers('EVENT_BROKER_NATS_URLS', 'for nats it should be a list like nats://host:4222'),
    jetStream: read.EVENT_BROKER_NATS_JETSTREAM,
    auth: natsAuth(read, wanted),
  };
}

function natsAuth(read: Read, wanted: Wanted): NatsSettings['auth'] {
  const { EVENT_BROKER_NATS_TOKEN: token, EVENT_BROKER_NATS_NKEY_SEED: nkeySeed, EVENT_BROKER_NATS_JWT: jwt } = read;
  if (token !== undefined) return { token };
  const named = wanted.login('EVENT_BROKER_NATS_USERNAME', 'EVENT_BROKER_NATS_PASSWORD');
  if (named !== null) return named;
  if (nkeySeed !== undefined) return { nkeySeed, jwt: jwt ?? null };
  if (jwt !== undefined)
    wanted.problems.push(
      'EVENT_BROKER_NATS_NKEY_SEED is not set: with EVENT_BROKER_NATS_JWT it should be the seed of that user',
    );
  return null;
}

function kafka(read: Read, wanted: Wanted): BrokerSettings {
  const named = wanted.login('EVENT_BROKER_KAFKA_USERNAME', 'EVENT_BROKER_KAFKA_PASSWORD');
  return {
    adapter: 'kafka',
    brokers: wanted.needed('EVENT_BROKER_KAFKA_URLS', 'for kafka it should be a list like host:9092'),
    sasl: named && { ...named, mechanism: read.EVENT_BROKER_KAFKA_SASL_MECHANISM },
    ssl: read.EVENT_BROKER_KAFKA_SSL,
  };
}

function amqp(read: Read, wanted: Wanted): BrokerSettings {
  return {
    adapter: 'amqp091',
    url: wanted.needed(
      'EVENT_BROKER_RABBITMQ_URL',
      'for amqp091 it should be a URL like amqp://user:password@host:5672/vhost',
    ),
    ssl: read.EVENT_BROKER_RABBITMQ_SSL,
  };
}

function redis(read: Read, wanted: Wanted): BrokerSettings {
  return {
    adapter: 'redis',
    urls: wanted.servers('EVENT_BROKER_REDIS_URLS', 'for redis it should be a list like redis://host:6379'),
    mode: redisMode(read, wanted),
    username: read.EVENT_BROKER_REDIS_USERNAME ?? null,
    password: read.EVENT_BROKER_REDIS_PASSWORD ?? null,
    ssl: read.EVENT_BROKER_REDIS_SSL,
  };
}

function redisMode(read: Read, wanted: Wanted): RedisSettings['mode'] {
  if (read.EVENT_BROKER_REDIS_MODE !== 'sentinel') return { type: read.EVENT_BROKER_REDIS_MODE };
  const group = wanted.needed(
    'EVENT_BROKER_REDIS_SENTINEL_GROUP',
    'in sentinel mode it should be the name of the master',
  );
  return { type: 'sentinel', group, sentinelPassword: read.EVENT_BROKER_REDIS_SENTINEL_PASSWORD ?? null };
}

function mqtt(read: Read, wanted: Wanted): BrokerSettings {
  return {
    adapter: 'mqtt',
    urls: wanted.servers('EVENT_BROKER_MQTT_URLS', 'for mqtt it should be a list like mqtt://host:1883'),
    webSocketPath: read.EVENT_BROKER_MQTT_WEBSOCKET ? read.EVENT_BROKER_MQTT_WEBSOCKET_PATH : null,
    qos: Number(read.EVENT_BROKER_MQTT_QOS) as 0 | 1 | 2,
    auth: mqttAuth(read, wanted),
    tls: mqttTls(read, wanted.problems),
  };
}

function mqttAuth(read: Read, wanted: Wanted): MqttSettings['auth'] {
  if (read.EVENT_BROKER_MQTT_JWT === undefined)
    return wanted.login('EVENT_BROKER_MQTT_USERNAME', 'EVENT_BROKER_MQTT_PASSWORD');
  return { jwt: read.EVENT_BROKER_MQTT_JWT, username: read.EVENT_BROKER_MQTT_USERNAME ?? 'jwt' };
}

function mqttTls(read: Read, problems: string[]): MqttSettings['tls'] {
  const {
    EVENT_BROKER_MQTT_CACERT_FILE: caFile,
    EVENT_BROKER_MQTT_CLIENT_CERT_FILE: certFile,
    EVENT_BROKER_MQTT_CLIENT_KEY_FILE: keyFile,
  } = read;
  if ((certFile === undefined) !== (keyFile === undefined))
    problems.push(
      'EVENT_BROKER_MQTT_CLIENT_CERT_FILE and EVENT_BROKER_MQTT_CLIENT_KEY_FILE should both be set, or neither',
    );
  if (!read.EVENT_BROKER_MQTT_SSL) {
    if (certFile !== undefined || caFile !== undefined)
      problems.push('EVENT_BROKER_MQTT_SSL is "false": with certificate files it should be true');
    return null;
  }
  const client = certFile === undefined || keyFile === undefined ? null : { certFile, keyFile };
  const wrong = [
    caFile === undefined ? null : certificatesProblem('EVENT_BROKER_MQTT_CACERT_FILE', caFile),
    client &&
      clientCertificateProblem(
        { setting: 'EVENT_BROKER_MQTT_CLIENT_CERT_FILE', path: client.certFile },
        { setting: 'EVENT_BROKER_MQTT_CLIENT_KEY_FILE', path: client.keyFile },
      ),
  ];
  problems.push(...wrong.filter((problem) => problem !== null));
  return { caFile: caFile ?? null, client };
}

function sns(wanted: Wanted): SnsSettings {
  const region = wanted.needed(
    'EVENT_BROKER_CLOUD_A_SNS_REGION',
    'for cloud_a_sns it should be the region of the topics',
  );
  const topicArnPrefix = wanted.needed(
    'EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX',
    'for cloud_a_sns it should be the beginning of each topic ARN',
  );
  const named = topicArnPrefix?.split(':')[3];
  if (named !== undefined && region !== undefined && named !== region)
    wanted.problems.push(
      `EVENT_BROKER_CLOUD_A_SNS_REGION is "${region}": it should be ${named}, the region in EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX`,
    );
  return { adapter: 'cloud_a_sns', region, topicArnPrefix };
}

function pubsub(read: Read, wanted: Wanted): BrokerSettings {
  return {
    adapter: 'cloud_b_pubsub',
    project: wanted.needed(
      'EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT',
      'for cloud_b_pubsub it should be the project of the topics',
    ),
    topicIdPrefix: read.EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX ?? '',
  };
}
