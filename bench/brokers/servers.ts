/**
 * The real servers that the tests use, for the bench: how each is started, and how the admin and the bare client find
 * it.
 */
import { arnPrefix, provideSnsTopics, SNS_REGION, startMoto } from '../../test/support/brokers/moto.ts';
import { startKafka } from '../../test/support/brokers/kafka.ts';
import { startMosquitto } from '../../test/support/brokers/mosquitto.ts';
import { startNats } from '../../test/support/brokers/nats.ts';
import { providePubSub, PUBSUB_PROJECT, startPubSub } from '../../test/support/brokers/pubsub.ts';
import { bindQueue, startRabbit } from '../../test/support/brokers/rabbitmq.ts';
import { startRedis } from '../../test/support/brokers/redis.ts';
import type { Scope } from '../../test/support/scope.ts';

/** One adapter against one server. */
export interface BrokerServer {
  /** EVENT_BROKER_ADAPTER. */
  readonly adapter: string;
  /** The bare client; the adapter's name where they do not differ. */
  readonly client: string;
  /** Events in one run: more where a broker is fast. */
  readonly events: number;
  /** Starts it; answers the settings by their environment names. */
  readonly start: (scope: Scope) => Promise<Readonly<Record<string, string>>>;
}

/** All of them, by the name on the command line. */
export const BROKER_SERVERS: Readonly<Record<string, BrokerServer>> = {
  nats: { adapter: 'nats', client: 'nats', events: 50_000, start: async (scope) => (await startNats(scope)).env },
  jetstream: {
    adapter: 'nats',
    client: 'jetstream',
    events: 20_000,
    start: async (scope) => ({ ...(await startNats(scope)).env, EVENT_BROKER_NATS_JETSTREAM: 'true' }),
  },
  kafka: {
    adapter: 'kafka',
    client: 'kafka',
    events: 50_000,
    start: async (scope) => ({ EVENT_BROKER_KAFKA_URLS: (await startKafka(scope)).at('PLAINTEXT') }),
  },
  amqp091: {
    adapter: 'amqp091',
    client: 'amqp091',
    events: 20_000,
    async start(scope) {
      const server = await startRabbit(scope);
      const url = server.url();
      await bindQueue(url, 'bench');
      return { EVENT_BROKER_RABBITMQ_URL: url };
    },
  },
  redis: { adapter: 'redis', client: 'redis', events: 50_000, start: async (scope) => (await startRedis(scope)).env },
  mqtt: {
    adapter: 'mqtt',
    client: 'mqtt',
    events: 20_000,
    start: async (scope) => ({ EVENT_BROKER_MQTT_URLS: `mqtt://127.0.0.1:${(await startMosquitto(scope)).port}` }),
  },
  sns: {
    adapter: 'cloud_a_sns',
    client: 'cloud_a_sns',
    events: 1_000,
    async start(scope) {
      const server = await startMoto(scope);
      // no queue: moto looks at all that is in it whenever another message comes
      await provideSnsTopics(server, 'bench-');
      return {
        EVENT_BROKER_CLOUD_A_SNS_REGION: SNS_REGION,
        EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX: arnPrefix('bench-'),
        AWS_ENDPOINT_URL: server.url,
        AWS_ACCESS_KEY_ID: 'bench',
        AWS_SECRET_ACCESS_KEY: 'bench',
      };
    },
  },
  pubsub: {
    adapter: 'cloud_b_pubsub',
    client: 'cloud_b_pubsub',
    events: 20_000,
    async start(scope) {
      const server = await startPubSub(scope);
      await providePubSub(server, '');
      return { EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT: PUBSUB_PROJECT, PUBSUB_EMULATOR_HOST: server.host };
    },
  },
};
