/**
 * Worker: the floor. A client of each broker, as its manual shows it, publishes the same texts in the same batches and
 * waits for the confirmation of each, with nothing around it.
 */
import { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import { v1, PubSub } from '@google-cloud/pubsub';
import { jetstream } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { Producer, stringSerializers } from '@platformatic/kafka';
import { Redis } from 'ioredis';
import { connectAsync as connectMqtt } from 'mqtt';
import { Connection as RabbitConnection } from 'rabbitmq-client';
import { BATCH_EVENTS_MAX } from '../../actors/published-event.ts';
import { serveQuestions } from '../method/worker.ts';

/** What to publish, and where to: the settings of the adapter by their environment names. */
export interface BareLoad {
  readonly adapter: string;
  readonly env: Readonly<Record<string, string>>;
  readonly events: number;
  readonly text: string;
}

const TYPE = 'edge.node.status_changed';
const TOPIC = 'edge-nodes-events';

interface Bare {
  /** Resolves when `count` events are confirmed. */
  batch(texts: readonly string[]): Promise<unknown>;
  close(): Promise<unknown>;
}

const CLIENTS: Readonly<Record<string, (env: Readonly<Record<string, string>>) => Promise<Bare>>> = {
  async nats(env) {
    const connection = await connectNats({ servers: env['EVENT_BROKER_NATS_URLS'] ?? '' });
    return {
      batch: (texts) => {
        for (const text of texts) connection.publish(TYPE, text);
        return connection.flush();
      },
      close: () => connection.close(),
    };
  },
  async jetstream(env) {
    const connection = await connectNats({ servers: env['EVENT_BROKER_NATS_URLS'] ?? '' });
    const client = jetstream(connection);
    return {
      batch: (texts) => Promise.all(texts.map((text) => client.publish(TYPE, text, { msgID: crypto.randomUUID() }))),
      close: () => connection.close(),
    };
  },
  async kafka(env) {
    const producer = new Producer({
      clientId: 'bare',
      bootstrapBrokers: (env['EVENT_BROKER_KAFKA_URLS'] ?? '').split(','),
      serializers: stringSerializers,
    });
    return {
      batch: (texts) =>
        producer.send({
          messages: texts.map((value, index) => ({ topic: TOPIC, key: String(index % 100), value })),
          acks: -1,
        }),
      close: () => producer.close(),
    };
  },
  async amqp091(env) {
    const connection = new RabbitConnection(env['EVENT_BROKER_RABBITMQ_URL'] ?? '');
    const publisher = connection.createPublisher({
      confirm: true,
      exchanges: [{ exchange: 'edge.events', type: 'topic', durable: true }],
    });
    return {
      batch: (texts) =>
        Promise.all(
          texts.map((text) => publisher.send({ exchange: 'edge.events', routingKey: TYPE, durable: true }, text)),
        ),
      close: async () => {
        await publisher.close();
        await connection.close();
      },
    };
  },
  async redis(env) {
    const client = new Redis(env['EVENT_BROKER_REDIS_URLS'] ?? '');
    return {
      batch: (texts) => {
        const pipeline = client.pipeline();
        for (const text of texts) pipeline.publish(TYPE, text);
        return pipeline.exec();
      },
      close: () => client.quit(),
    };
  },
  async mqtt(env) {
    const client = await connectMqtt(env['EVENT_BROKER_MQTT_URLS'] ?? '', { protocolVersion: 4 });
    return {
      batch: (texts) =>
        Promise.all(texts.map((text) => client.publishAsync(TYPE.replaceAll('.', '/'), text, { qos: 1 }))),
      close: () => client.endAsync(),
    };
  },
  async cloud_a_sns(env) {
    const client = new SNSClient({
      region: env['EVENT_BROKER_CLOUD_A_SNS_REGION'] ?? '',
      endpoint: env['AWS_ENDPOINT_URL'] ?? '',
      credentials: { accessKeyId: env['AWS_ACCESS_KEY_ID'] ?? '', secretAccessKey: env['AWS_SECRET_ACCESS_KEY'] ?? '' },
    });
    const TopicArn = `${env['EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX']}${TOPIC}`;
    return {
      async batch(texts) {
        for (let from = 0; from < texts.length; from += 10) {
          const entries = texts.slice(from, from + 10).map((Message, index) => ({
            Id: String(index),
            Message,
            MessageAttributes: {
              type: { DataType: 'String', StringValue: TYPE },
              corename: { DataType: 'String', StringValue: 'default' },
            },
          }));
          await client.send(new PublishBatchCommand({ TopicArn, PublishBatchRequestEntries: entries }));
        }
      },
      close: async () => client.destroy(),
    };
  },
  async cloud_b_pubsub(env) {
    process.env['PUBSUB_EMULATOR_HOST'] = env['PUBSUB_EMULATOR_HOST'] ?? '';
    const { options } = new PubSub({ projectId: env['EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT'] ?? '' });
    const client = new v1.PublisherClient({ ...options });
    const topic = `projects/${env['EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT']}/topics/${env['EVENT_BROKER_CLOUD_B_PUBSUB_TOPIC_ID_PREFIX'] ?? ''}${TOPIC}`;
    return {
      // The same messages: a request has one ordering key, and the adapter has 16 of them.
      batch: (texts) =>
        Promise.all(
          [
            ...Map.groupBy(
              texts.map((text, index) => ({
                data: Buffer.from(text),
                attributes: { type: TYPE, corename: 'default' },
                orderingKey: String(index % 16),
              })),
              ({ orderingKey }) => orderingKey,
            ).values(),
          ].map((messages) => client.publish({ topic, messages })),
        ),
      close: () => client.close(),
    };
  },
};

/** Publishes all of it, a tenth before the clock starts. Answers the seconds. */
async function run({ adapter, env, events, text }: BareLoad): Promise<number> {
  const client = await CLIENTS[adapter]?.(env);
  if (client === undefined) throw new Error(`no bare client of ${adapter}`);
  const loop = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += BATCH_EVENTS_MAX)
      await client.batch(Array.from({ length: Math.min(BATCH_EVENTS_MAX, count - sent) }, () => text));
  };
  await loop(Math.ceil(events / 10));
  const began = performance.now();
  await loop(events);
  const seconds = (performance.now() - began) / 1_000;
  await client.close();
  return seconds;
}

serveQuestions({ run });
