/** A webhook as clients see it. */
import type { WebhookRecord } from '../records.ts';
import { instant } from '../resources/instant.ts';
import type { WebhookResource } from '../resources/webhook.ts';

/**
 * The resource of a webhook: without its secret and headers (E4). It never changes, so both dates are that of its
 * creation.
 */
export function webhookResource(record: WebhookRecord): WebhookResource {
  const at = instant(record.insertedAtMs);
  return {
    id: record.id,
    url: record.url,
    subscribed_events: record.subscribedEvents,
    inserted_at: at,
    updated_at: at,
  };
}
