/**
 * Clients that go on calling several admins while these are restarted, as people's programs do: one retry elsewhere.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isCrowded } from '../busy.ts';
import type { Answer, Rest } from './rest.ts';

/** Between two calls of a client, in ms. */
const PAUSE_MS = 20;

/** Tries of a call: two, and more where a takeover may last longer than an admin lets its callers wait. */
const tries = (): number => (isCrowded() ? 5 : 2);

/** What clients saw so far. */
export interface ClientCounts {
  calls: number;
  /** That failed once, and were answered by the retry. */
  retried: number;
  /** That failed at both: what each said. */
  readonly failed: string[];
}

/** Clients that call. */
export interface CallingClients {
  readonly counts: ClientCounts;
  /** Resolves when the last call is over. */
  stop(): Promise<ClientCounts>;
}

/** One call: a method, a path below /api/v1, and a body. */
export interface ClientCall {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object;
}

/**
 * A client for each admin, which calls that one first and, where it does not answer as wanted, another one once more
 * after `waitMs` (at once where the connection was refused), under the same idempotency key; on a crowded machine a few
 * times. `next` makes the next call.
 */
export function callingClients(
  admins: readonly Rest[],
  next: (count: number) => ClientCall,
  told: (call: ClientCall, answer: Answer<unknown>) => void = () => {},
  waitMs = 1_000,
): CallingClients {
  const counts: ClientCounts = { calls: 0, retried: 0, failed: [] };
  const over = new AbortController();
  const once = async (rest: Rest | undefined, call: ClientCall, key: string): Promise<string | null> => {
    try {
      const sent = { headers: { 'idempotency-key': key }, ...(call.body !== undefined && { body: call.body }) };
      const answer = await rest!.call(call.method, call.path, sent);
      if (answer.status >= 400) return `${answer.status} ${answer.text.slice(0, 200)}`;
      told(call, answer);
      return null;
    } catch (error) {
      return String((error as Error).cause ?? error);
    }
  };
  /** Null: it was answered in the end. */
  const problemsOf = async (
    place: number,
    call: ClientCall,
    key: string,
    triesMax: number,
  ): Promise<readonly string[] | null> => {
    const problems: string[] = [];
    while (problems.length < triesMax) {
      const last = problems.at(-1);
      if (last !== undefined && !last.includes('ECONNREFUSED')) await delay(waitMs); // nobody is there: elsewhere at once, as programs do
      const problem = await once(admins[(place + problems.length) % admins.length], call, key);
      if (problem === null) {
        if (problems.length > 0) counts.retried += 1;
        return null;
      }
      problems.push(problem);
    }
    return problems;
  };
  const clients = admins.map(async (_rest, place) => {
    while (!over.signal.aborted) {
      counts.calls += 1;
      const [call, key] = [next(counts.calls), randomUUID()];
      const problems = await problemsOf(place, call, key, tries());
      if (problems !== null) counts.failed.push(`${call.method} ${call.path}: ${problems.join('; ')}`);
      await delay(PAUSE_MS);
    }
  });
  return {
    counts,
    async stop() {
      over.abort();
      await Promise.all(clients);
      return counts;
    },
  };
}
