/** What webhooks ask for. */
import type { EventType } from '../events.ts';
import type { WebhookRecord } from '../records.ts';
import type { DeliveryRef } from './delivery.ts';

/** Of webhooks. */
export type WebhookEffect =
  /** Unfinished deliveries of this webhook behind a cursor come back as `deliveries-loaded`, under the same number. */
  | {
      readonly type: 'load-deliveries';
      readonly load: number;
      readonly subscribedEvents: readonly EventType[];
      readonly after: string | null;
      readonly limit: number;
    }
  /** The delivery of the event at this cursor has its row now. */
  | { readonly type: 'delivery-stored'; readonly cursor: string }
  /** One try of a delivery: comes back as `delivery-attempted`. */
  | { readonly type: 'send-delivery'; readonly webhook: WebhookRecord; readonly delivery: DeliveryRef }
  /** Requests of this webhook that are under way are cut. */
  | { readonly type: 'abort-deliveries' };
