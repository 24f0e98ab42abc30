/** What a webhook's actor holds: its record, and a window over its unfinished deliveries. */
import type { WebhookRecord } from '../records.ts';
import type { DeliveryRef } from './delivery.ts';

/**
 * Where a delivery in the window is. `waiting` ones come back by a reminder. Of an `unsure` one only the rows know what
 * became of its latest try: until they are read it is not sent, and holds up its subject.
 */
export interface Windowed {
  readonly ref: DeliveryRef;
  readonly phase: 'ready' | 'sending' | 'waiting' | 'unsure';
  /** Asked for by hand: it keeps no order and holds up nobody. */
  readonly isRedelivery: boolean;
}

/** The state of one webhook. `record` is null only before its creation is stored. */
export interface WebhookState {
  readonly id: string;
  readonly record: WebhookRecord | null;
  /**
   * First those asked for by hand, at most REDELIVERIES_MAX, then unfinished deliveries in the order of their events,
   * at most WINDOW_DELIVERIES_MAX, and half as many more behind the last `unsure` one when it is read.
   */
  readonly window: readonly Windowed[];
  /** Where loading goes on: the cursor of the last delivery that was loaded. Null: at the beginning. */
  readonly loadedTo: string | null;
  /** Number of the latest load. What an earlier one brings is old, and ignored. */
  readonly load: number;
  /**
   * `unloaded`: to be read from the beginning. `idle`: all that was there is loaded. `more`: there is more behind the
   * window. `loading`: asked for; `loading-again`: and news came meanwhile.
   */
  readonly supply: 'unloaded' | 'idle' | 'more' | 'loading' | 'loading-again';
  /** Deliveries that were finished while a load is under way: it may still bring them as unfinished. */
  readonly finished: readonly string[];
  /** Tries in a row that nobody answered, counted up to UNANSWERED_TRIES_MIN. */
  readonly unanswered: number;
  /** What may be sent now is to be looked for. */
  readonly isMoving: boolean;
}

/** One that is not stored yet. */
export function unborn(id: string): WebhookState {
  return {
    id,
    record: null,
    window: [],
    loadedTo: null,
    load: 0,
    supply: 'idle',
    finished: [],
    unanswered: 0,
    isMoving: false,
  };
}

/** A webhook as its rows have it: nothing is loaded yet. */
export function unloaded(record: WebhookRecord): WebhookState {
  return { ...unborn(record.id), record, supply: 'unloaded' };
}

/**
 * Deliveries of one webhook in memory. Without bodies, so a thousand webhooks that all have a backlog need some thirty
 * MiB.
 */
export const WINDOW_DELIVERIES_MAX = 128;

/** After so many tries in a row that nobody answered, a receiver is away. */
export const UNANSWERED_TRIES_MIN = 24;

/**
 * Of a receiver that is away so many deliveries are tried at a time, however long that takes: the others keep their
 * tries for when it is back.
 */
export const BEGUN_WHILE_AWAY_MAX = 8;

/**
 * One whose next try is further away than this, in ms, is not counted among them: another one begins, and finds out
 * whether the receiver is back.
 */
export const AWAY_LOOK_MS_MAX = 30_000;

/**
 * Deliveries of one webhook that were asked for by hand and are not sent yet. Beyond it, whoever asks comes back later.
 */
export const REDELIVERIES_MAX = 100;

/**
 * Tries of one delivery, those of WEBHOOK_MAX_ATTEMPTS and those asked for by hand. Each is kept with ANSWER_BYTES_MAX
 * of its answer, and a single read brings them all: 400 KiB at most.
 */
export const DELIVERY_TRIES_MAX = 100;
