/** Hears that events were stored, and that webhooks changed at other admins. */
import type { Listener, Subscription } from '../connections/listening.ts';
import { EVENTS_STORED, WEBHOOK_CHANGES } from './names.ts';

/** Who is told. Each returns at once. */
export interface EventNotices {
  /** There are events, or may be. */
  stored(): void;
  /** Another admin changed this webhook. */
  webhookChanged(id: string): void;
  /** It may have been missed which webhooks were changed, as nothing was heard for a while. */
  webhooksMissed(): void;
}

/**
 * Hears whenever events are stored, by whatever admin, until the result is stopped. While this one is alone it says
 * nothing: who stored them has said so.
 */
export function hearStoredEvents(
  { listener, peers }: { readonly listener: Pick<Listener, 'hear'>; readonly peers: { areThere(): boolean } },
  stored: () => void,
): Subscription {
  return listener.hear([EVENTS_STORED], () => {
    if (peers.areThere()) stored();
  });
}

/**
 * Hears until the result is stopped. What this admin did itself it is not told.
 */
export function hearEvents(listener: Pick<Listener, 'hear'>, adminId: string, told: EventNotices): Subscription {
  let hasListened = false;
  return listener.hear([EVENTS_STORED, WEBHOOK_CHANGES], (channel, payload) => {
    if (channel === EVENTS_STORED) return told.stored();
    if (payload === null) {
      if (hasListened) told.webhooksMissed();
    } else {
      const [by, id] = payload.split(' ');
      if (id !== undefined && by !== adminId) told.webhookChanged(id);
    }
    hasListened = true;
  });
}
