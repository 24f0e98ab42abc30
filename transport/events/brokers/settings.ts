/**
 * How each broker is reached, as the operator configured it. Read from the environment by settings/broker-choice.ts.
 */

/** Name and password. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** `nats`: servers in order; with JetStream events are stored in streams. */
export interface NatsSettings {
  readonly adapter: 'nats';
  readonly urls: readonly string[];
  readonly jetStream: boolean;
  /** The first that is set, in this order. A JWT goes with the seed of its user. */
  readonly auth: { readonly token: string } | Login | { readonly nkeySeed: string; readonly jwt: string | null } | null;
}

/** `kafka`: bootstrap servers as host:port. */
export interface KafkaSettings {
  readonly adapter: 'kafka';
  readonly brokers: readonly string[];
  readonly sasl: (Login & { readonly mechanism: 'plain' | 'scram_sha_256' | 'scram_sha_512' }) | null;
  readonly ssl: boolean;
}

/** `amqp091`: RabbitMQ and others that speak AMQP 0-9-1. The URL holds the credentials. */
export interface AmqpSettings {
  readonly adapter: 'amqp091';
  readonly url: string;
  readonly ssl: boolean;
}

/** `redis`: one server, or the sentinels that know it, or some nodes of a cluster. */
export interface RedisSettings {
  readonly adapter: 'redis';
  readonly urls: readonly string[];
  readonly mode:
    | { readonly type: 'standalone' }
    | { readonly type: 'sentinel'; readonly group: string; readonly sentinelPassword: string | null }
    | { readonly type: 'cluster' };
  /** An ACL user; a password alone is that of the default user. */
  readonly username: string | null;
  readonly password: string | null;
  readonly ssl: boolean;
}

/** `mqtt`: MQTT 3.1.1, servers tried in order. */
export interface MqttSettings {
  readonly adapter: 'mqtt';
  readonly urls: readonly string[];
  /** Path of the WebSocket; null: plain TCP or TLS. */
  readonly webSocketPath: string | null;
  readonly qos: 0 | 1 | 2;
  /** A JWT is sent as the password. The protocol takes no password without a user name, so it goes with one too. */
  readonly auth: { readonly jwt: string; readonly username: string } | Login | null;
  /** Files are PEM. */
  readonly tls: {
    readonly caFile: string | null;
    readonly client: { readonly certFile: string; readonly keyFile: string } | null;
  } | null;
}

/** `cloud_a_sns`: the topic name is put behind the prefix. Credentials come from the standard chain. */
export interface SnsSettings {
  readonly adapter: 'cloud_a_sns';
  readonly region: string;
  readonly topicArnPrefix: string;
}

/** `cloud_b_pubsub`: the topic name is put behind the prefix. Credentials come from the standard chain. */
export interface PubSubSettings {
  readonly adapter: 'cloud_b_pubsub';
  readonly project: string;
  readonly topicIdPrefix: string;
}

/** The configured broker. */
export type BrokerSettings =
  | NatsSettings
  | KafkaSettings
  | AmqpSettings
  | RedisSettings
  | MqttSettings
  | SnsSettings
  | PubSubSettings;
