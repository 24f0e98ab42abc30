/** Webhooks: where events are sent, signed; and the log of what was sent. */
import { z } from 'zod';
import { envelope, EVENT_TYPES } from '../../actors/events.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { WebhookDeliveryResource, WebhookResource } from '../../actors/resources/webhook.ts';
import { webhookHeaders, webhookSecret } from '../../actors/sealed-columns.ts';
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  headerProblem,
  isHeaderName,
} from '../../actors/webhook/headers.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { storableText } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { found, NOT_FOUND, page } from '../reading.ts';

/** Bounds of a webhook. Source: docs/api.md, Resources. */
const URL_CHARS_MAX = 2_048;
const SECRET_CHARS_MAX = 256;
const SUBSCRIBED_EVENTS_MAX = 20;
const HEADERS_MAX = 20;
const HEADER_CHARS_MAX = 4_096;

const headers = z
  .record(storableText(HEADER_CHARS_MAX), storableText(HEADER_CHARS_MAX))
  .superRefine((given, context) => {
    const names = Object.keys(given);
    if (names.length > HEADERS_MAX)
      context.addIssue({ code: 'custom', message: `must be at most ${HEADERS_MAX} headers` });
    if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
      context.addIssue({ code: 'custom', message: 'must not name a header twice' });
    for (const [name, value] of Object.entries(given)) {
      const problem = headerProblem(name, value);
      // What is no name may be a value given in its place: it is not told (E4).
      if (problem !== null)
        context.addIssue({ code: 'custom', path: isHeaderName(name) ? [name] : [], message: problem });
    }
  })
  .meta({
    maxProperties: HEADERS_MAX,
    propertyNames: { pattern: HEADER_NAME_PATTERN },
    additionalProperties: { type: 'string', maxLength: HEADER_CHARS_MAX, pattern: HEADER_VALUE_PATTERN },
  });

export const create_webhook = operation({
  name: 'create_webhook',
  kind: 'mutation',
  summary: 'Have events of some types sent to a URL, signed with a secret. Secret and headers are never shown again.',
  rest: { method: 'POST', path: '/webhooks', status: 201 },
  hints: { destructive: false, idempotent: false, openWorld: true },
  creates: true,
  input: z.strictObject({
    url: storableText(URL_CHARS_MAX)
      .min(1)
      .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' })
      .describe('http or https. Private, loopback and metadata addresses are refused unless the operator allows them.'),
    secret: storableText(SECRET_CHARS_MAX)
      .min(1)
      .describe('Signs every delivery. 32 or more random characters are advised.'),
    subscribed_events: z
      .array(z.enum(EVENT_TYPES))
      .min(1)
      .max(SUBSCRIBED_EVENTS_MAX)
      .refine((types) => new Set(types).size === types.length, 'must not name a type twice')
      .meta({ uniqueItems: true })
      .describe('Types of events, no wildcards.'),
    headers: headers.nullish().describe('Sent with every delivery.'),
  }),
  output: WebhookResource,
  handle: async ({ url, secret, subscribed_events: subscribedEvents, headers: given }, { ports, idempotency }) => {
    const problem = await ports.urlGuard.problem(url);
    if (problem !== null) return refuse('validation_failed', 'Validation failed', { url: [problem] });
    const id = ports.newId();
    const sealedSecret = ports.vault.seal(secret, webhookSecret(id));
    const sealedHeaders = ports.vault.seal(JSON.stringify(given ?? {}), webhookHeaders(id));
    return ports.ask<WebhookResource>((replyTo) => ({
      to: { kind: 'webhook', id },
      message: { type: 'create', replyTo, id, url, subscribedEvents, sealedSecret, sealedHeaders, idempotency },
    }));
  },
});

export const list_webhooks = operation({
  name: 'list_webhooks',
  kind: 'query',
  summary: 'List webhooks.',
  rest: { method: 'GET', path: '/webhooks', status: 200 },
  list: true,
  input: listInput('webhooks'),
  output: WebhookResource,
  handle: (query, { ports }) => page(ports.reads.list('webhooks', query)),
});

export const get_webhook = operation({
  name: 'get_webhook',
  kind: 'query',
  summary: 'Get a webhook.',
  rest: { method: 'GET', path: '/webhooks/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: WebhookResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('webhooks', id)),
});

export const delete_webhook = operation({
  name: 'delete_webhook',
  kind: 'mutation',
  summary: 'Delete a webhook. Its deliveries end at once.',
  rest: { method: 'DELETE', path: '/webhooks/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  ownedBy: async ({ id }, { reads }) =>
    (await reads.get('webhooks', id)) === null ? null : { kind: 'webhooks', orHere: true },
  doneWhenMissing: true,
  handle: ({ id }, { ports }) =>
    ports.ask<null>((replyTo) => ({ to: { kind: 'webhook', id }, message: { type: 'delete', replyTo } })),
});

export const list_webhook_deliveries = operation({
  name: 'list_webhook_deliveries',
  kind: 'query',
  summary: 'List deliveries of webhooks, with how their latest try went.',
  rest: { method: 'GET', path: '/webhook_deliveries', status: 200 },
  list: true,
  input: listInput('webhook_deliveries'),
  output: WebhookDeliveryResource,
  handle: (query, { ports }) => page(ports.reads.list('webhook_deliveries', query)),
});

export const get_webhook_delivery = operation({
  name: 'get_webhook_delivery',
  kind: 'query',
  summary:
    'Get a delivery with what was sent and all of its tries: status, duration, and the beginning of each answer.',
  rest: { method: 'GET', path: '/webhook_deliveries/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: WebhookDeliveryResource,
  handle: async ({ id }, { ports }) => {
    const [delivery, event] = await Promise.all([
      ports.reads.get('webhook_deliveries', id),
      ports.reads.deliveredEvent(id),
    ]);
    if (delivery === null) return refuse('not_found', NOT_FOUND);
    return ok({ ...delivery, event: event === null ? null : envelope(event, ports.settings.coreName) });
  },
});

const EVENT_GONE = 'The event of this delivery is past its retention: there is nothing to send any more.';

export const redeliver_webhook_delivery = operation({
  name: 'redeliver_webhook_delivery',
  kind: 'mutation',
  summary: 'Send a finished delivery once more, under the same event id.',
  rest: { method: 'POST', path: '/webhook_deliveries/:id/redeliver', status: 202 },
  conflicts: true,
  hints: { destructive: false, idempotent: false, openWorld: true },
  input: z.strictObject({ id: Uuid }),
  output: WebhookDeliveryResource,
  ownedBy: () => ({ kind: 'webhooks' }),
  handle: async ({ id }, { ports }) => {
    const delivery = await ports.reads.delivery(id);
    if (delivery === null) return refuse('not_found', NOT_FOUND);
    if (!delivery.hasEvent) return refuse('conflict', EVENT_GONE);
    if (!ports.deliversWebhooks())
      return {
        ok: false,
        refusal: {
          code: 'service_unavailable',
          message: 'Another admin delivers webhooks now. Ask that one, or try again shortly.',
          retryAfterSeconds: 5,
          notOwner: true,
        },
      };
    const asked = await ports.ask<null>((replyTo) => ({
      to: { kind: 'webhook', id: delivery.webhook },
      message: { type: 'redeliver', replyTo, delivery: delivery.ref },
    }));
    return asked.ok ? found(ports.reads.get('webhook_deliveries', id)) : asked;
  },
});
