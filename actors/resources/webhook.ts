/** Webhooks and their deliveries as clients see them. Secrets and headers are never among their fields (E4). */
import { z } from 'zod';
import { Envelope, EVENT_TYPES } from '../events.ts';
import { resource, stored, type Given } from './resource.ts';

/** A webhook. */
export const WebhookResource = resource(
  'Webhook',
  'Where events are sent. It never changes: to change one, delete it and create another.',
  { id: z.uuid(), url: z.string(), subscribed_events: z.array(z.enum(EVENT_TYPES)), ...stored },
);
export type WebhookResource = z.output<typeof WebhookResource>;

/** All statuses of a delivery; the first is open. `dropped`: every try failed, or the receiver refused it. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'dropped'] as const;
/** How far a delivery is. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One try of a delivery. Without an answer its code and body are null. */
export const WebhookAttempt = z.object({
  number: z.int(),
  attempted_at: z.iso.datetime(),
  duration_ms: z.int(),
  status_code: z.int().nullable(),
  error: z.string().nullable(),
  response_body: z.string().nullable().describe('The first 4 KiB of the answer.'),
});
export type WebhookAttempt = Given<typeof WebhookAttempt>;

/** A delivery. The `last_` fields are those of its latest try, null before the first. */
export const WebhookDeliveryResource = resource(
  'WebhookDelivery',
  'One event for one webhook, and how its delivery went.',
  {
    id: z.uuid(),
    webhook_id: z.uuid(),
    event_id: z.uuid().describe('The same on every try, also in the webhook-id header.'),
    event_type: z.enum(EVENT_TYPES),
    status: z.enum(DELIVERY_STATUSES).describe('dropped: every try failed, or the receiver refused it for good.'),
    attempt_count: z.int(),
    last_status_code: z.int().nullable(),
    last_error: z.string().nullable(),
    last_duration_ms: z.int().nullable(),
    last_attempted_at: z.iso.datetime().nullable(),
    next_attempt_at: z.iso
      .datetime()
      .nullable()
      .describe('When it is tried again at the earliest, while it waits for that.'),
    event: Envelope.nullable()
      .optional()
      .describe('On single reads only: the body of each try. Null once the event is past its retention.'),
    attempts: z.array(WebhookAttempt).optional().describe('On single reads only, oldest first.'),
    ...stored,
  },
);
export type WebhookDeliveryResource = z.output<typeof WebhookDeliveryResource>;
