/** A small client of the REST API. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

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

/** Patience with one answer, in ms: above the longest that an admin may take (docs/promises.md, L3). */
const ANSWER_MS_MAX = 15_000;

/** How long something that cannot be done right now is asked for again, in ms: leases that were lost are back by then. */
const PATIENCE_MS_MAX = 10_000;

/** Calls of one admin under one key. Every call rejects only when there is no answer at all. */
export interface Rest {
  call<T = Record<string, unknown>>(method: string, path: string, sent?: Sent): Promise<Answer<T>>;
  /**
   * Reads, and as its users should asks again where the service cannot do it right now, for PATIENCE_MS_MAX; rejects
   * unless the answer is a 2xx. What must succeed at once is a `call`.
   */
  get<T>(path: string): Promise<T>;
  /** Creates or acts, asking again as `get`, under the same key. */
  post<T>(path: string, body?: unknown): Promise<T>;
}

/** A client of the admin that `url` names at the time of each call. A null key sends no credential. */
export function restClient(url: () => string, key: string | null): Rest {
  async function call<T>(method: string, path: string, { body, headers }: Sent = {}): Promise<Answer<T>> {
    const response = await fetch(`${url()}/api/v1${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, ...envelope<T>(text) };
  }

  async function patient<T>(method: 'GET' | 'POST', path: string, sent: Sent): Promise<T> {
    const began = performance.now();
    for (;;) {
      const answer = await call<T>(method, path, sent);
      if (answer.status < 300) return answer.data;
      if (answer.status !== 503 || performance.now() - began > PATIENCE_MS_MAX)
        throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
      await delay(Number(answer.headers.get('retry-after') ?? 1) * 1_000);
    }
  }

  return {
    call,
    get: (path) => patient('GET', path, {}),
    post: (path, body) =>
      patient('POST', path, {
        headers: { 'idempotency-key': randomUUID() },
        ...(body !== undefined && { body }),
      }),
  };
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
