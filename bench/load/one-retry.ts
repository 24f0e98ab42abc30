/** Clients of several admins that ask another one, once, when the first does not do it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** Timeout of one admin, in ms: above the longest that one may take (docs/promises.md, L3). */
const ANSWER_MS_MAX = 6_000;

/** Admins that are asked for one call. */
const TRIES_MAX = 2;

/** Failures that are told with their reasons. */
const REASONS_MAX = 5;

/** An answer that counts, or why there is none. */
type Tried = { readonly ok: true; readonly data: unknown } | { readonly ok: false; readonly why: string };

/** Whom to ask, and how. */
export interface Callers {
  /** Ports of all admins of now. */
  readonly ports: () => readonly number[];
  readonly masterKey: string;
}

/** What came of the calls so far. */
export interface CallCounts {
  calls: number;
  /** Those that the first admin did not do. */
  retried: number;
  /** Those that neither of two admins did. */
  failed: number;
  readonly reasons: string[];
}

/** Counts that begin. */
export function noCalls(): CallCounts {
  return { calls: 0, retried: 0, failed: 0, reasons: [] };
}

/** One call, under one Idempotency-Key. Undefined: neither did it. `from`: whom to ask first; then the next one. */
export async function callOnce(
  { ports, masterKey }: Callers,
  counts: CallCounts,
  from: number,
  [method, path, body]: readonly [method: string, path: string, body: object],
): Promise<unknown> {
  counts.calls += 1;
  const key = randomUUID();
  const all = ports();
  const whys: string[] = [];
  for (let place = 0; place < Math.min(TRIES_MAX, all.length); place += 1) {
    const port = all[(from + place) % all.length] ?? 0;
    const tried = await attempt(port, masterKey, key, method, path, body);
    if (tried.ok) return tried.data;
    if (place === 0) counts.retried += 1;
    whys.push(tried.why);
  }
  counts.failed += 1;
  if (counts.reasons.length < REASONS_MAX) counts.reasons.push(`${method} ${path}: ${whys.join(' | ')}`);
  return undefined;
}

async function attempt(
  port: number,
  masterKey: string,
  key: string,
  method: string,
  path: string,
  body: object,
): Promise<Tried> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${masterKey}`,
        'content-type': 'application/json',
        ...(method === 'POST' && { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await answer.text();
    if (answer.ok) return { ok: true, data: (JSON.parse(text) as { readonly data: unknown }).data };
    return { ok: false, why: `${answer.status} ${text.slice(0, 200)}` };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
    return { ok: false, why: `${String(error)} ${cause}` };
  }
}

/** Work that is done again and again, so many ms apart, until it is stopped. `stop` resolves when all of it is over. */
export function repeated(everyMs: number, work: (turn: number) => Promise<void>): { stop(): Promise<void> } {
  const over = new AbortController();
  const underWay = new Set<Promise<void>>();
  const run = async (): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const one = work(turn).finally(() => underWay.delete(one));
      underWay.add(one);
      await delay(everyMs);
    }
  };
  const running = run();
  return {
    async stop() {
      over.abort();
      await running;
      await Promise.all(underWay);
    },
  };
}
