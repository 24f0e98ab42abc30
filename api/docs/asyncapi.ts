/** The AsyncAPI 3.1 document, made from the catalogue of events: what is sent where, and how it looks. */
import { CATALOGUE_VERSION } from '../../actors/catalogue-version.ts';
import { EVENT_DEFINITIONS, explainEventType } from '../../actors/event-catalogue.ts';
import { TOPICS, topicOf } from '../../actors/event-topics.ts';
import { EVENT_TYPES, type EventType } from '../../actors/events.ts';
import { EVENT_SECURITY_SCHEMES, eventServers } from './event-servers.ts';
import { envelopeSchema } from './event-schemas.ts';
import { WEBHOOK_HEADERS } from './webhook-headers.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * What every message is: a CloudEvent whose envelope is the whole body. Source: CloudEvents 1.0.2, JSON event format,
 * 3.
 */
export const EVENT_CONTENT_TYPE = 'application/cloudevents+json';

/** The document. `coreName` is that of the examples. */
export function asyncApi(coreName: string): Json {
  const ways = [webhookWay(), mqttWay(), ...TOPICS.map(topicWay), ...EVENT_TYPES.map(typeWay)];
  return {
    asyncapi: '3.1.0',
    id: 'urn:edge-fleet-control',
    info: {
      title: 'Edge fleet control events',
      version: CATALOGUE_VERSION,
      description:
        'What happens in the fleet, as CloudEvents 1.0. Every event is sent to the webhooks that subscribed to its type and, where one is configured, to a message broker. Delivery is at least once and in order for each node, execution, request or key; drop what comes twice by its id. The data is the whole object at that moment, never a difference; what is nothing is null; secrets are never in it.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      contact: { name: 'Edge fleet control' },
      tags: [...new Set(EVENT_TYPES.map(subjectOf))].map((name) => ({ name })),
    },
    defaultContentType: EVENT_CONTENT_TYPE,
    servers: eventServers(),
    channels: Object.fromEntries(ways.map(({ key, channel }) => [key, channel])),
    operations: Object.fromEntries(
      ways.map(({ key, operation, types }) => [
        `send.${key}`,
        {
          action: 'send',
          channel: { $ref: `#/channels/${key}` },
          ...operation,
          messages: types.map((type) => ({ $ref: `#/channels/${key}/messages/${type}` })),
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(EVENT_TYPES.map((type) => [type, messageOf(type, coreName)])),
      schemas: {
        ...Object.fromEntries(EVENT_TYPES.map((type) => [type, envelopeSchema(type)])),
        webhookHeaders: WEBHOOK_HEADERS,
      },
      messageTraits: { webhook: { headers: { $ref: '#/components/schemas/webhookHeaders' } } },
      securitySchemes: EVENT_SECURITY_SCHEMES,
    },
  };
}

/** A channel with the one operation on it. */
interface Way {
  readonly key: string;
  readonly types: readonly EventType[];
  readonly channel: Json;
  readonly operation: Json;
}

function webhookWay(): Way {
  return {
    key: 'webhook',
    types: EVENT_TYPES,
    channel: {
      address: null,
      title: 'Webhooks',
      description: 'The URL that a webhook was created with.',
      servers: servers('webhook'),
      // Only here have messages headers of ours.
      messages: Object.fromEntries(
        EVENT_TYPES.map((type) => [
          type,
          {
            ...describedMessage(type),
            payload: schema(type),
            traits: [{ $ref: '#/components/messageTraits/webhook' }],
          },
        ]),
      ),
    },
    operation: {
      title: 'Webhooks',
      summary: 'POST each event to every webhook that subscribed to its type.',
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
    },
  };
}

function mqttWay(): Way {
  const words = EVENT_TYPES.map((type) => type.split('.'));
  return {
    key: 'mqtt',
    types: EVENT_TYPES,
    channel: {
      address: 'edge/{subject}/{happening}',
      title: 'MQTT topics',
      description: 'The type with slashes for dots.',
      servers: servers('mqtt'),
      parameters: {
        subject: { description: 'Second word of the type.', enum: [...new Set(words.map(([, subject]) => subject))] },
        happening: {
          description: 'Third word of the type.',
          enum: [...new Set(words.map(([, , happening]) => happening))],
        },
      },
      messages: messages(EVENT_TYPES),
    },
    operation: {
      title: 'MQTT topics',
      summary: 'Publish each event to the topic of its type.',
      bindings: { mqtt: { qos: 1, retain: false, bindingVersion: '0.2.0' } },
    },
  };
}

function topicWay(topic: (typeof TOPICS)[number]): Way {
  const types = EVENT_TYPES.filter((type) => topicOf(type) === topic);
  return {
    key: topic,
    types,
    channel: {
      address: topic,
      title: topic,
      description: 'A topic of Kafka, Amazon SNS or Google Cloud Pub/Sub.',
      servers: servers('kafka', 'sns', 'pubsub'),
      messages: messages(types),
    },
    operation: { title: topic, summary: `Publish to ${topic}.` },
  };
}

function typeWay(type: EventType): Way {
  return {
    key: type,
    types: [type],
    channel: {
      address: type,
      title: type,
      description: EVENT_DEFINITIONS[type].description,
      servers: servers('nats', 'amqp', 'redis'),
      messages: messages([type]),
      bindings: {
        amqp: {
          is: 'routingKey',
          exchange: { name: 'edge.events', type: 'topic', durable: true, autoDelete: false },
          bindingVersion: '0.3.0',
        },
      },
    },
    operation: {
      title: type,
      summary: EVENT_DEFINITIONS[type].description,
      tags: [{ name: subjectOf(type) }],
      bindings: { amqp: { deliveryMode: 2, bindingVersion: '0.3.0' } },
    },
  };
}

function messageOf(type: EventType, coreName: string): Json {
  return {
    ...describedMessage(type),
    payload: schema(type),
    examples: [{ name: 'example', payload: explainEventType(type, coreName).example }],
  };
}

function describedMessage(type: EventType): Json {
  return {
    name: type,
    title: type,
    summary: EVENT_DEFINITIONS[type].description,
    contentType: EVENT_CONTENT_TYPE,
    tags: [{ name: subjectOf(type) }],
  };
}

function messages(types: readonly EventType[]): Json {
  return Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${type}` }]));
}

function schema(type: EventType): Json {
  return { $ref: `#/components/schemas/${type}` };
}

function servers(...keys: readonly string[]): readonly Json[] {
  return keys.map((key) => ({ $ref: `#/servers/${key}` }));
}

function subjectOf(type: EventType): string {
  return type.split('.')[1] ?? '';
}
