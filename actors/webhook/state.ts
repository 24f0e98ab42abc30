/** What a webhook's actor holds: its record, and a window over its unfinished deliveries. */
import type { WebhookRecord } from '../records.ts';
import type { DeliveryRef } from './delivery.ts';

/** Where a delivery in the window is. `waiting` ones come back by a reminder. */
export interface Windowed {
  readonly ref: DeliveryRef;
  readonly phase: 'ready' | 'posting' | 'waiting';
  /** Asked for by hand: it keeps no order and holds up nobody. */
  readonly isRedelivery: boolean;
}

/** The state of one webhook. `record` is null only before its creation is stored. */
export interface WebhookState {
  readonly id: string;
  readonly record: WebhookRecord | null;
  /** Unfinished deliveries in the order of their events, at most WINDOW_DELIVERIES_MAX and those asked for by hand. */
  readonly window: readonly Windowed[];
  /** Where loading goes on: the cursor of the last delivery that was loaded. Null: at the beginning. */
  readonly loadedTo: string | null;
  /** `unloaded`: fresh from rows. `idle`: all that was there is loaded. `more`: there is more behind the window. `loading`: asked for; `loading-again`: and news came meanwhile. */
  readonly supply: 'unloaded' | 'idle' | 'more' | 'loading' | 'loading-again';
}

/** Deliveries of one webhook in memory. Without bodies, so a thousand webhooks need some ten MiB at most. */
export const WINDOW_DELIVERIES_MAX = 128;
