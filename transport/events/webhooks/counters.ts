/** What requests to webhooks came to, counted for the metrics. */
import { FAILURE_KINDS, type FailureKind } from './failures.ts';

/** Counts since the start. */
export interface WebhookCounters {
  /** Tries that were begun. */
  requests: number;
  /** By the first digit of their status. */
  readonly answers: Record<'2xx' | '3xx' | '4xx' | '5xx' | 'other', number>;
  readonly failures: Record<FailureKind, number>;
  /** Requests that found their connection closing, and went out on another. */
  resent: number;
  /** Tries that nobody counts: their webhook was deleted, or this admin may not deliver any more. */
  cut: number;
}

/** All at zero. */
export function createCounters(): WebhookCounters {
  return {
    requests: 0,
    answers: { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, other: 0 },
    failures: Object.fromEntries(FAILURE_KINDS.map((kind) => [kind, 0])) as Record<FailureKind, number>,
    resent: 0,
    cut: 0,
  };
}

/** The class of a status. */
export function answerClass(statusCode: number): keyof WebhookCounters['answers'] {
  const name = `${Math.trunc(statusCode / 100)}xx`;
  return name === '2xx' || name === '3xx' || name === '4xx' || name === '5xx' ? name : 'other';
}

/**
 * Statuses and failures in one list: a try comes to one of them. Those that were cut count for nobody, and are told all
 * the same.
 */
export function deliveriesOf({
  answers: { other, ...answers },
  failures: { other: otherFailure, ...failures },
  cut,
}: WebhookCounters): Readonly<Record<string, number>> {
  return {
    ...answers,
    other_status: other,
    ...Object.fromEntries(Object.entries(failures).map(([kind, count]) => [kind.replaceAll('-', '_'), count])),
    other_failure: otherFailure,
    cut,
  };
}
