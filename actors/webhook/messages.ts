/** Everything that can be said to a webhook. */
import type { EventType } from '../events.ts';
import type { ReplyTo } from '../reply-to.ts';
import type { Idempotency } from '../node/messages.ts';
import type { Refusal } from '../refusal.ts';
import type { Write } from '../writes.ts';
import type { Attempt, DeliveryRef } from './delivery.ts';

/** Requests in the imperative, facts in the past tense; an `replyTo` is answered exactly once. */
export type WebhookMessage =
  | {
      readonly type: 'create';
      readonly replyTo: ReplyTo;
      readonly id: string;
      readonly url: string;
      readonly subscribedEvents: readonly EventType[];
      readonly sealedSecret: string;
      readonly sealedHeaders: string;
      readonly idempotency: Idempotency | null;
    }
  | { readonly type: 'delete'; readonly replyTo: ReplyTo }
  /** One more try of a finished delivery. */
  | { readonly type: 'redeliver'; readonly replyTo: ReplyTo; readonly delivery: DeliveryRef }
  /** Deliveries were stored for it. */
  | { readonly type: 'deliveries-stored' }
  /** What load number `load` brought. */
  | {
      readonly type: 'deliveries-loaded';
      readonly load: number;
      readonly deliveries: readonly DeliveryRef[];
      readonly more: boolean;
    }
  /**
   * `random` is from 0 to 1 and spreads retries. A null attempt: this admin may not deliver any more, nothing was sent.
   */
  | {
      readonly type: 'delivery-attempted';
      readonly delivery: string;
      readonly attempt: Attempt | null;
      readonly random: number;
    }
  | { readonly type: 'delivery-due'; readonly delivery: string }
  | { readonly type: 'refused'; readonly write: Write; readonly refusal: Refusal };
