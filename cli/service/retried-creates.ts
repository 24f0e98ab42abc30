/**
 * Creates, each under a key of its own: one whose answer was lost, or that cannot be done just now, is sent again and
 * is the same create. What a person asks for once is made once, whatever becomes of an admin or of the path to it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isAnswerLost, lostAnswer, plainFetch, type Answer } from './plain-fetch.ts';
import { leavesOpen } from '../problem.ts';

/** When a create is sent again. */
export interface RetryLimits {
  /** Wait before the second try, in ms, doubled before each further one; the service may ask for a longer one. */
  readonly againMsMin: number;
  /** No try begins later than this after the first, in ms. */
  readonly triedMsMax: number;
}

/** Twice the time within which every cluster has an owner after a kill (O2). */
const RETRY_LIMITS: RetryLimits = { againMsMin: 500, triedMsMax: 10_000 };

/** Operations that take an Idempotency-Key. Source: docs/api.md, Retried creates. */
const CREATE = /\/create_\w+$/u;

/** What another try may better. */
interface Passing {
  /** What the service said; null: the answer was lost. */
  readonly refusal: Answer | null;
  /** Whether what was asked for may be done. */
  readonly isInDoubt: boolean;
  /** For how long the service asks to wait, in ms. */
  readonly againMs: number;
}

/**
 * As `plainFetch`, for calls of the service over tRPC. Rejects with a lost answer where a create may be done and no
 * further try said what came of it.
 */
export async function createsRetried(
  at: string | URL | Request,
  init: RequestInit = {},
  { againMsMin, triedMsMax }: RetryLimits = RETRY_LIMITS,
): Promise<Answer> {
  if (typeof at !== 'string' || init.method !== 'POST' || !CREATE.test(new URL(at).pathname))
    return plainFetch(at, init);
  const { randomUUID } = await import('node:crypto');
  const keyed = { ...init, headers: { ...(init.headers as Record<string, string>), 'idempotency-key': randomUUID() } };
  const untilMs = performance.now() + triedMsMax;
  let mayBeDone = false;
  for (let waitMs = againMsMin; ; waitMs *= 2) {
    const tried = await tryOnce(at, keyed, mayBeDone);
    if ('json' in tried) return tried;
    mayBeDone ||= tried.isInDoubt;
    const nextMs = Math.max(waitMs, tried.againMs);
    if (performance.now() + nextMs > untilMs) {
      if (mayBeDone || tried.refusal === null) throw lostAnswer();
      return tried.refusal;
    }
    await pause(nextMs, undefined, init.signal == null ? {} : { signal: init.signal });
  }
}

async function tryOnce(at: string, init: RequestInit, mayBeDone: boolean): Promise<Answer | Passing> {
  try {
    const answer = await plainFetch(at, init);
    return answer.status === 503 ? ((await passingIn(answer)) ?? answer) : answer;
  } catch (error) {
    // after the first cut, an admin that died takes no connection for a while
    if (mayBeDone || isAnswerLost(error)) return { refusal: null, isInDoubt: true, againMs: 0 };
    throw error;
  }
}

/**
 * What stands in a 503; null: it does not pass soon. A balancer that has no admin just now says it in words of its own.
 */
async function passingIn(refusal: Answer): Promise<Passing | null> {
  const { error } = (await refusal.json().catch(() => ({}))) as {
    readonly error?: {
      readonly message: string;
      readonly data?: { readonly code?: string; readonly retry_after_seconds?: number | null };
    };
  };
  const { code = 'service_unavailable', retry_after_seconds: seconds } = error?.data ?? {};
  if (code !== 'service_unavailable') return null;
  const askedMs = (seconds ?? 0) * 1_000; // NaN of a service that says anything else
  return { refusal, isInDoubt: leavesOpen(error?.message ?? ''), againMs: askedMs > 0 ? askedMs : 0 };
}
