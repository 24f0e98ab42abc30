/** Webhooks and their deliveries as clients see them. Secrets and headers are never among their fields (E4). */
import { z } from 'zod';
import { EVENT_TYPES } from '../../actors/events.ts';
import { DELIVERY_STATUSES, type WebhookDeliveryResource, type WebhookResource } from '../../actors/resources.ts';

/** A webhook: the fields of `WebhookResource`. */
export const WebhookView: z.ZodType<WebhookResource> = z
  .object({
    id: z.uuid(),
    url: z.string(),
    subscribed_events: z.array(z.enum(EVENT_TYPES)),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({
    id: 'Webhook',
    description: 'Where events are sent. It never changes: to change one, delete it and create another.',
  });

/** A delivery: the fields of `WebhookDeliveryResource`. */
export const WebhookDeliveryView: z.ZodType<WebhookDeliveryResource> = z
  .object({
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
    attempts: z
      .array(
        z.object({
          number: z.int(),
          attempted_at: z.iso.datetime(),
          duration_ms: z.int(),
          status_code: z.int().nullable(),
          error: z.string().nullable(),
          response_body: z.string().nullable().describe('The first 4 KiB of the answer.'),
        }),
      )
      .optional()
      .describe('On single reads only, oldest first.'),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event for one webhook, and how its delivery went.' });
