/** A delivery of an event to a webhook, and what a try of it came to. */
import type { EventType } from '../events.ts';

/** A delivery that is not finished, as its webhook's actor holds it: no body, that is read when it is sent. */
export interface DeliveryRef {
  readonly id: string;
  /** Cursor of its event: deliveries of a webhook are in the order of these. */
  readonly cursor: string;
  readonly eventId: string;
  /** The entity that the event tells of: those of one subject are delivered one after another (V2). */
  readonly subject: string;
  /** Tries made so far. */
  readonly attempts: number;
  /** Tries after which it is dropped. */
  readonly attemptsMax: number;
  /** Not before this time, in Unix ms; null: at once. */
  readonly dueAtMs: number | null;
  /** What its row is to say besides. Null: it has one; else it gets that with what came of its first try. */
  readonly unstored: Unstored | null;
}

/** Of a delivery that has no row yet. */
export interface Unstored {
  readonly eventType: EventType;
  /** When its event was stored, Unix ms: from then on it waits. */
  readonly storedAtMs: number;
}

/** What one try came to. `atMs` is when it began, in Unix ms. */
export type Attempt = {
  readonly atMs: number;
  readonly durationMs: number;
} &
  /**
   * The receiver answered. `retryAfterMs` is its wish; `answer` the beginning of its body, at most ANSWER_BYTES_MAX.
   */
  (
    | {
        readonly type: 'answered';
        readonly statusCode: number;
        readonly retryAfterMs: number | null;
        readonly answer: string;
      }
    /**
     * It did not: `error` says why in one sentence that names no internal address. `isLasting`: no further try could
     * come to anything else, as there is nothing to send any more.
     */
    | { readonly type: 'failed'; readonly error: string; readonly isLasting?: boolean }
  );

/** Kept of the receiver's answer, in bytes: what a person reads of it. */
export const ANSWER_BYTES_MAX = 4_096;
