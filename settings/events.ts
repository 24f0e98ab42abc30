/** Settings of webhooks. Those of brokers: event-broker.ts; how long events are kept: storage.ts. */
import { durationMs, flag, integer } from './fields.ts';

/** Webhooks and events. */
export const EVENT_SETTINGS = {
  WEBHOOK_MAX_ATTEMPTS: integer({ min: 1, max: 20 }).default(3).describe('Tries of one delivery before it is dropped.'),
  WEBHOOK_CONCURRENCY: integer({ min: 1, max: 64 }).default(4).describe('Requests in flight to one webhook.'),
  WEBHOOK_TIMEOUT_MS: durationMs({ min: 100, max: 60_000 })
    .default(10_000)
    .describe('Timeout of one request to a webhook.'),
  WEBHOOK_RETRY_BASE_MS: durationMs({ min: 1, max: 600_000 })
    .default(2_000)
    .describe('Wait before the second try of a delivery; each further one waits four times as long.'),
  WEBHOOK_ALLOW_PRIVATE_IPS: flag()
    .default(false)
    .describe('Whether webhooks may go to private and loopback addresses. Metadata addresses stay closed.'),
  WEBHOOK_DELIVERY_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(7)
    .describe('Days for which finished deliveries are kept. One can be sent again for as long as its event is kept.'),
  EVENT_DELIVERY_MAX_AGE_SECONDS: integer({ min: 1, max: 31_536_000 })
    .default(3_600)
    .describe('Events stored longer ago than this are not published to the broker any more, after an outage.'),
};
