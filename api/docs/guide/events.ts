/** `/guide/events`. */
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';

/** The page. */
export function eventsPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Events',
    title: 'Events',
    lead: 'Every change in the fleet is a CloudEvent, stored together with the change. Events go to terminals, to webhooks and, where one is configured, to a message broker.',
    sections: [
      { title: 'Before you begin', blocks: knowsAdmin(facts) },
      WATCH_THEM,
      A_WEBHOOK_TO_THIS_TERMINAL,
      A_WEBHOOK_TO_A_SERVICE,
      A_MESSAGE_BROKER,
      TYPES,
      SETTINGS,
      { title: 'Operations', blocks: [{ kind: 'operations', picks: (path) => /^\/(?:webhook|event)/u.test(path) }] },
    ],
  };
}

const WATCH_THEM: Section = {
  title: 'Watch them',
  blocks: [
    {
      kind: 'shell',
      where: 'another',
      commands: 'edge events tail',
      lasts: 'later',
      prints: '2026-11-21T18:36:48.681Z  edge.core.test  …',
    },
    { kind: 'text', text: 'A test event makes the round, with no other effect:' },
    {
      kind: 'shell',
      commands: 'edge events test',
      prints:
        'specversion      1.0\nid               4e000ea0-0f02-47a2-9921-5c2259847f79\nsource           /edge-fleet-control\ntype             edge.core.test\n…',
    },
  ],
};

const A_WEBHOOK_TO_THIS_TERMINAL: Section = {
  title: 'A webhook to this terminal',
  blocks: [
    {
      kind: 'text',
      text: 'A receiver for trying out: it makes a webhook, verifies each delivery, and removes the webhook at the end. It listens on this machine, so the admin must run here too with `WEBHOOK_ALLOW_PRIVATE_IPS=true`, or reach you at `--public-url`.',
    },
    {
      kind: 'shell',
      where: 'another',
      commands: 'edge webhook listen --on edge.core.test',
      lasts: 'later',
      prints: 'edge: listening on http://…\n2026-11-21T18:36:51.649Z  edge.core.test  …',
    },
    { kind: 'shell', commands: 'edge events test > /dev/null' },
    {
      kind: 'shell',
      commands: 'edge webhook deliveries',
      prints:
        'ID        WEBHOOK   TYPE            CREATED  STATUS     TRIES  ANSWER  ERROR\n01a1ff65  01a1ff65  edge.core.test  1s       delivered  1      204     -',
    },
  ],
};

const A_WEBHOOK_TO_A_SERVICE: Section = {
  title: 'A webhook to a service',
  blocks: [
    {
      kind: 'text',
      text: 'The receiver answers 2xx within 10 seconds. Its secret signs every delivery; one is made and shown once when you give none.',
    },
    {
      kind: 'shell',
      commands: 'edge webhook create https://receiver.example/hook --on edge.node.status_changed',
      prints: '…\nurl                https://receiver.example/hook\n…\nsecret             whsec_…',
    },
    {
      kind: 'text',
      text: 'The body is the event. `X-Edge-Signature` is `sha256=` and the hex HMAC-SHA256 of its bytes, and the headers of Standard Webhooks are there too, so that their libraries [verify it](/asyncdoc#webhooks).',
    },
    {
      kind: 'list',
      items: [
        'Anything else, network errors and time-outs too, is tried again with growing pauses, `WEBHOOK_MAX_ATTEMPTS` times in all; only a 410 ends it at once. Redirects are not followed.',
        'Events of one entity come in order. Each comes at least once, so drop what you have seen by its `id`.',
        'Loopback, private and link-local addresses are refused, at every delivery anew, unless `WEBHOOK_ALLOW_PRIVATE_IPS=true`; addresses of metadata services always.',
        'A webhook cannot be changed: make another one and remove the old one.',
      ],
    },
    {
      kind: 'shell',
      commands: 'edge webhook ls',
      prints:
        'ID        URL                            CREATED  EVENTS\n01a1ff65  https://receiver.example/hook  1s       edge.node.status_changed\n…',
    },
    {
      kind: 'text',
      text: '`edge webhook delivery ID` shows every try with what the receiver answered, `edge webhook redeliver ID` sends one again under the same event id.',
    },
  ],
};

const A_MESSAGE_BROKER: Section = {
  title: 'A message broker',
  blocks: [
    {
      kind: 'text',
      text: 'One at most, by settings of the admin. While it is away events wait, `/healthz` says how many, and commands go on.',
    },
    {
      kind: 'table',
      head: ['`EVENT_BROKER_ADAPTER`', 'Where an event goes, and its first setting'],
      rows: [
        [
          '`nats`',
          'The subject is the type; with `EVENT_BROKER_NATS_JETSTREAM=true` it is stored, in five streams. `EVENT_BROKER_NATS_URLS`',
        ],
        ['`kafka`', 'Five topics; the key is the id of the entity. `EVENT_BROKER_KAFKA_URLS`'],
        [
          '`amqp091`, `rabbitmq`',
          'The topic exchange `edge.events`; the routing key is the type. `EVENT_BROKER_RABBITMQ_URL`',
        ],
        ['`redis`', 'The channel is the type. Nothing is kept. `EVENT_BROKER_REDIS_URLS`'],
        ['`mqtt`', 'The topic is the type with slashes for dots. `EVENT_BROKER_MQTT_URLS`'],
        ['`cloud_a_sns`', 'Five topics, with attributes to filter by. `EVENT_BROKER_CLOUD_A_SNS_REGION`'],
        ['`cloud_b_pubsub`', 'Five topics, with attributes to filter by. `EVENT_BROKER_CLOUD_B_PUBSUB_PROJECT`'],
      ],
    },
    {
      kind: 'file',
      name: 'Environment of edge-admin, for example',
      content: 'EVENT_BROKER_ENABLED=true\nEVENT_BROKER_ADAPTER=nats\nEVENT_BROKER_NATS_URLS=nats://127.0.0.1:4222\n',
    },
  ],
};

const TYPES: Section = {
  title: 'Types',
  blocks: [
    {
      kind: 'text',
      text: 'Their fields and examples are on the page of [event types](/asyncdoc); `edge events explain TYPE` shows one. No secret and no output of a command is ever in an event.',
    },
    {
      kind: 'events',
      subjects: ['node', 'command_execution', 'self_update_request', 'enrollment_key', 'ssh_username', 'core'],
    },
  ],
};

const SETTINGS: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [
        ['WEBHOOK_MAX_ATTEMPTS', '`3`', 'Tries of one delivery.'],
        ['WEBHOOK_TIMEOUT_MS', '`10000`', 'How long a receiver may take.'],
        ['WEBHOOK_ALLOW_PRIVATE_IPS', '`false`', 'Whether receivers may stand in private networks.'],
        ['EVENT_RETENTION_DAYS', '`7`', 'Days for which events are kept.'],
        [
          'EVENT_DELIVERY_MAX_AGE_SECONDS',
          '`3600`',
          'Older events are not published to the broker any more after an outage.',
        ],
        ['CORE_NAME', '`default`', 'Name of this service in its events (`corename`).'],
      ],
    },
  ],
};
