/** What clients of several admins take for an answer. */
import test from 'ava';
import type { Answer, Rest, Sent } from './rest.ts';
import { callingClients, type ClientCall } from './clients.ts';
import { until } from '../until.ts';

const READ: ClientCall = { method: 'GET', path: '/nodes' };

/** An admin that answers so. */
const admin = (call: (key: string) => number | Promise<never>): Rest => ({
  async call(_method: string, _path: string, { headers }: Sent = {}) {
    const status = await call(headers?.['idempotency-key'] ?? '');
    return { status, text: '' } as Answer<never>;
  },
  get: () => Promise.reject(new Error('not asked')),
  post: () => Promise.reject(new Error('not asked')),
});

const refused = (): Promise<never> =>
  Promise.reject(new Error('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:8081') }));

/** What clients of these saw once so many calls were made. */
async function seen(admins: readonly Rest[], calls: number) {
  const clients = callingClients(admins, () => READ, undefined, { waitMs: 0, triesMax: 2 });
  await until('the calls', () => clients.counts.calls >= calls);
  return clients.stop();
}

test('an admin that is not there costs no try: the retry after an answer goes to one that is, under the same key', async (t) => {
  const asked = new Map<string, number>();
  const there = admin((key) => {
    asked.set(key, (asked.get(key) ?? 0) + 1);
    return asked.get(key) === 1 ? 503 : 201;
  });

  const counts = await seen([there, admin(refused)], 6);

  t.deepEqual(counts.failed, []);
  t.deepEqual([counts.retried, asked.size], [counts.calls, counts.calls]);
  t.deepEqual([...new Set(asked.values())], [2]);
});

test('a call has one retry after an answer, and fails where nobody is there', async (t) => {
  const busy = await seen([admin(() => 503)], 1);
  const gone = await seen([admin(refused), admin(refused)], 1);

  t.is(busy.failed[0], 'GET /nodes: 503 ; 503 ');
  t.regex(gone.failed[0] ?? '', /^GET \/nodes: (?:Error: connect ECONNREFUSED 127\.0\.0\.1:8081(?:; |$)){4}$/u);
});
