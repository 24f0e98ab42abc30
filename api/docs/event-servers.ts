/**
 * Where events go, as AsyncAPI describes it: the receivers of webhooks, and the brokers of which an admin publishes to
 * one at most.
 */

type Json = Readonly<Record<string, unknown>>;

/** A place that events go to, under its key in the document. */
interface Server {
  readonly key: string;
  readonly protocol: string;
  readonly title: string;
  readonly description: string;
  readonly host: string;
  readonly variables: Json;
  readonly security?: readonly string[];
}

/** Settings are named by their beginnings; docs/settings.md lists all of them. Source: docs/brokers.md. */
const SERVERS: readonly Server[] = [
  {
    key: 'webhook',
    protocol: 'https',
    title: 'Receiver of a webhook',
    host: '{receiver}',
    variables: variable('receiver', 'hooks.example.com', 'Host of the URL that the webhook was made with.'),
    description:
      'Each webhook gets the types that it subscribed to, by POST to its URL. Any 2xx within WEBHOOK_TIMEOUT_MS (10 seconds) is delivered. Anything else is tried again with growing pauses, up to WEBHOOK_MAX_ATTEMPTS times; only a 410 ends it at once. Retry-After is honoured and redirects are not followed.',
  },
  {
    key: 'nats',
    protocol: 'nats',
    title: 'NATS',
    host: '{server}',
    variables: variable('server', 'nats.example.com:4222', 'One of EVENT_BROKER_NATS_URLS.'),
    description:
      'EVENT_BROKER_ADAPTER=nats. The subject is the type. With EVENT_BROKER_NATS_JETSTREAM=true the streams EDGE_NODES_EVENTS, EDGE_COMMANDS_EVENTS, EDGE_SELF_UPDATES_EVENTS, EDGE_SSH_EVENTS and EDGE_CORE_EVENTS keep events; without it nothing does.',
    security: ['userPassword'],
  },
  {
    key: 'amqp',
    protocol: 'amqp',
    title: 'RabbitMQ',
    host: '{server}',
    variables: variable('server', 'rabbitmq.example.com:5672', 'Of EVENT_BROKER_RABBITMQ_URL.'),
    description:
      'EVENT_BROKER_ADAPTER=amqp091 or rabbitmq. The durable topic exchange edge.events, the type as routing key, messages persistent. Queues are yours to bind.',
    security: ['userPassword'],
  },
  {
    key: 'redis',
    protocol: 'redis',
    title: 'Redis',
    host: '{server}',
    variables: variable('server', 'redis.example.com:6379', 'One of EVENT_BROKER_REDIS_URLS.'),
    description:
      'EVENT_BROKER_ADAPTER=redis. PUBLISH to the channel of the type. Who does not listen at that moment misses it.',
    security: ['userPassword'],
  },
  {
    key: 'mqtt',
    protocol: 'mqtt',
    title: 'MQTT 3.1.1',
    host: '{server}',
    variables: variable('server', 'mqtt.example.com:1883', 'One of EVENT_BROKER_MQTT_URLS.'),
    description:
      'EVENT_BROKER_ADAPTER=mqtt. The topic is the type with slashes for dots. Never retained. Drop what comes twice by its id.',
    security: ['userPassword', 'clientCertificate'],
  },
  {
    key: 'kafka',
    protocol: 'kafka',
    title: 'Kafka',
    host: '{server}',
    variables: variable('server', 'kafka.example.com:9092', 'One of EVENT_BROKER_KAFKA_URLS.'),
    description: 'EVENT_BROKER_ADAPTER=kafka. Five topics; the partition key keeps the events of one thing in order.',
    security: ['saslPlain', 'saslScramSha256', 'saslScramSha512'],
  },
  {
    key: 'sns',
    protocol: 'sns',
    title: 'Amazon SNS',
    host: 'sns.{region}.amazonaws.com',
    variables: variable('region', 'eu-central-1', 'EVENT_BROKER_CLOUD_A_SNS_REGION.'),
    description:
      'EVENT_BROKER_ADAPTER=cloud_a_sns. Five topics under EVENT_BROKER_CLOUD_A_SNS_TOPIC_ARN_PREFIX, which must exist. The attributes type and corename are there to filter by.',
  },
  {
    key: 'pubsub',
    protocol: 'googlepubsub',
    title: 'Google Cloud Pub/Sub',
    host: 'pubsub.googleapis.com',
    variables: {},
    description:
      'EVENT_BROKER_ADAPTER=cloud_b_pubsub. Five topics of EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT, which must exist. The attributes type and corename are there to filter by.',
  },
];

/** The `servers` of the document. */
export function eventServers(): Json {
  return Object.fromEntries(
    SERVERS.map(({ key, security, variables, ...server }) => [
      key,
      {
        ...server,
        ...(Object.keys(variables).length > 0 && { variables }),
        ...(security && { security: security.map((scheme) => ({ $ref: `#/components/securitySchemes/${scheme}` })) }),
      },
    ]),
  );
}

/** How brokers are logged in to. Webhooks are signed instead. */
export const EVENT_SECURITY_SCHEMES: Json = {
  userPassword: { type: 'userPassword' },
  clientCertificate: { type: 'X509', description: 'EVENT_BROKER_MQTT_CLIENT_CERT_FILE and _CLIENT_KEY_FILE.' },
  saslPlain: { type: 'plain', description: 'EVENT_BROKER_KAFKA_SASL_MECHANISM=plain, which is the default.' },
  saslScramSha256: { type: 'scramSha256', description: 'EVENT_BROKER_KAFKA_SASL_MECHANISM=scram_sha_256.' },
  saslScramSha512: { type: 'scramSha512', description: 'EVENT_BROKER_KAFKA_SASL_MECHANISM=scram_sha_512.' },
};

function variable(name: string, value: string, description: string): Json {
  return { [name]: { default: value, description } };
}
