/** A small client of the REST API. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isCrowded, scaled } from '../busy.ts';

/** One answer. `data` and `error` are what the envelope holds; both undefined when there is none. */
export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: T;
  readonly error: { readonly code: string; readonly message: string; readonly details: unknown } | undefined;
  readonly total: number;
}

/** What a request may carry. */
export interface Sent {
  /** Sent as JSON, unless it is text already. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Timeout of one answer, in ms: above the longest that an admin may take (docs/promises.md, L3). */
const ANSWER_MS_MAX = 15_000;

/**
 * How long something that cannot be done right now is asked for again, in ms: leases that were lost are back by then.
 */
const RETRY_MS_MAX = 10_000;

/** Calls of one admin under one key. Every call rejects only when there is no answer at all. */
export interface Rest {
  call<T = Record<string, unknown>>(method: string, path: string, sent?: Sent): Promise<Answer<T>>;
  /**
   * Reads, and as its users should asks again where the service cannot do it right now, for RETRY_MS_MAX; rejects
   * unless the answer is a 2xx. What must succeed at once is a `call`; this one waits longer on a machine that is busy.
   */
  get<T>(path: string): Promise<T>;
  /** Creates or acts, asking again as `get`, under the same key. */
  post<T>(path: string, body?: unknown): Promise<T>;
}

/** A client of the admin that `url` names at the time of each call. A null key sends no credential. */
export function restClient(url: () => string, key: string | null): Rest {
  async function asked<T>(method: string, path: string, { body, headers }: Sent, msMax: number): Promise<Answer<T>> {
    const response = await fetch(`${url()}/api/v1${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(msMax),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, ...envelope<T>(text) };
  }

  const call = <T>(method: string, path: string, sent: Sent = {}): Promise<Answer<T>> =>
    asked(method, path, sent, scaled(ANSWER_MS_MAX));

  async function insisted<T>(method: 'GET' | 'POST', path: string, sent: Sent): Promise<T> {
    const began = performance.now();
    for (;;) {
      const answer = await asked<T>(method, path, sent, scaled(ANSWER_MS_MAX)).catch((error: unknown) => {
        throw new Error(`${method} ${path} was not answered`, { cause: error });
      });
      if (answer.status < 300) return answer.data;
      if (answer.status !== 503 || performance.now() - began > scaled(RETRY_MS_MAX))
        throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
      await delay(Number(answer.headers.get('retry-after') ?? 1) * 1_000);
    }
  }

  return {
    call,
    get: (path) => insisted('GET', path, {}),
    post: (path, body) =>
      insisted('POST', path, {
        headers: { 'idempotency-key': randomUUID() },
        ...(body !== undefined && { body }),
      }),
  };
}

/**
 * The answer to a call, whatever it is; where the service cannot do it right now the call is made again, as `get` does.
 * It must be one that may be made twice.
 */
export async function settledAnswer<T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
  const began = performance.now();
  for (;;) {
    const answer = await call();
    if (answer.error?.code !== 'service_unavailable' || performance.now() - began > scaled(RETRY_MS_MAX)) return answer;
    await delay(Number(answer.headers.get('retry-after') ?? 1) * 1_000);
  }
}

/**
 * The answer to a call, whatever it is; on a crowded machine, where an admin may not have had the time for it, as
 * `settledAnswer`.
 */
export function timelyAnswer<T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
  return isCrowded() ? settledAnswer(call) : call();
}

function envelope<T>(text: string): Pick<Answer<T>, 'data' | 'error' | 'total'> {
  let parsed: { data?: T; error?: Answer<T>['error']; meta?: { pagination?: { total_count?: number } } } = {};
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch {
    // no body, or none of ours
  }
  return { data: parsed.data as T, error: parsed.error, total: parsed.meta?.pagination?.total_count ?? 0 };
}
