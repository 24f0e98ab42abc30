/** What becomes of a delivery after a try. Pure; `random` from 0 to 1 comes with the message. */
import type { DeliveryStatus } from '../resources/webhook.ts';
import type { Attempt, DeliveryRef } from './delivery.ts';

/** Each further wait is so many times as long. */
const GROWTH = 4;

/** Longest wait between two tries, in ms, unless the receiver wishes a longer one. */
export const RETRY_WAIT_MS_MAX = 600_000;

/** Longest wait that a receiver may wish for by Retry-After, in ms. A longer wish is taken for this one. */
export const RETRY_AFTER_MS_MAX = 900_000;

/** The one refusal for good. Any other may pass: a receiver that is being deployed answers 404 or 401 for a moment. */
const GONE = 410;

/** The delivery's new status; `nextAttemptAtMs` only while it is pending. */
export interface Verdict {
  readonly status: DeliveryStatus;
  readonly nextAttemptAtMs: number | null;
}

/**
 * 2xx is delivered; 410 ends it, and that its event is gone; anything else is tried again after an exponential wait
 * with jitter, not before the receiver's wish, as often as the delivery may be tried (V2). Source: docs/events.md.
 */
export function verdictOf(
  delivery: DeliveryRef,
  attempt: Attempt,
  baseMs: number,
  random: number,
  nowMs: number,
): Verdict {
  if (attempt.type === 'answered' && attempt.statusCode >= 200 && attempt.statusCode < 300)
    return { status: 'delivered', nextAttemptAtMs: null };
  const isLasting = attempt.type === 'answered' ? attempt.statusCode === GONE : attempt.isLasting === true;
  if (isLasting || delivery.attempts + 1 >= delivery.attemptsMax) return { status: 'dropped', nextAttemptAtMs: null };
  const waitMs = Math.min(RETRY_WAIT_MS_MAX, baseMs * GROWTH ** delivery.attempts);
  const askedMs = attempt.type === 'answered' ? (attempt.retryAfterMs ?? 0) : 0;
  return { status: 'pending', nextAttemptAtMs: nowMs + Math.max(askedMs, Math.round(waitMs * (0.5 + random / 2))) };
}
