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
  /** That failed at first, and were answered by a retry. */
  retried: number;
  /** That failed at all of their tries: what each said. */
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

/** How clients try again. */
export interface Trying {
  /** Before the retry of what was answered, in ms. */
  readonly waitMs?: number;
  /** Tries that are answered, or cut, at most. */
  readonly triesMax?: number;
}

/** What is said of a connection that nobody takes. */
const NOBODY_THERE = 'ECONNREFUSED';

/**
 * A client for each admin, which calls that one first and, where it does not answer as wanted, another one once more
 * after `waitMs`, under the same idempotency key; on a crowded machine a few times. Where nobody is there, nobody was
 * asked: it goes to the next one at once, as programs do, and that is no try. `next` makes the next call.
 */
export function callingClients(
  admins: readonly Rest[],
  next: (count: number) => ClientCall,
  told: (call: ClientCall, answer: Answer<unknown>) => void = () => {},
  { waitMs = 1_000, triesMax }: Trying = {},
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
    most: number,
  ): Promise<readonly string[] | null> => {
    const problems: string[] = [];
    const isOver = (): boolean =>
      problems.length >= most * admins.length || problems.filter((one) => !one.includes(NOBODY_THERE)).length >= most;
    while (!isOver()) {
      const last = problems.at(-1);
      if (last !== undefined && !last.includes(NOBODY_THERE)) await delay(waitMs);
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
      const problems = await problemsOf(place, call, key, triesMax ?? tries());
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
