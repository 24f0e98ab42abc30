/** A webhook with deliveries. */
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import { id } from '../../../support/actors.ts';
import { delivery } from '../../../support/webhooks/webhook-actor.ts';

/** The subject of deliveries that must keep their order. */
export const SAME = id<string>('b', 77);

/** The message that brings deliveries of a load. */
export const loadedBy = (
  load: number,
  deliveries: readonly ReturnType<typeof delivery>[],
  more = false,
): WebhookMessage => ({
  type: 'deliveries-loaded',
  load,
  deliveries,
  more,
});

/** Numbers from one to another, both included. */
export const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
