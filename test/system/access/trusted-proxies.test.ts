/** Wrong keys behind a proxy: counted by the client where the proxy is trusted, and by the proxy where it is not. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { SESSION_PATH, SESSION_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import { startTestAdmin, type TestAdmin } from '../../support/admin.ts';

/** Wrong keys that an address may show in a minute. */
const FAILURES_MAX = 2;

const start = (t: ExecutionContext, trusted: Readonly<Record<string, string>>): Promise<TestAdmin> =>
  startTestAdmin(t, { AUTH_FAILURES_PER_MINUTE_MAX: String(FAILURES_MAX), ...trusted });

/** Statuses of so many requests with a wrong key that say that they are of this client. */
async function guesses(url: string, client: string, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const headers = { authorization: `Bearer wrong-key-number-${client}-${index}`, 'x-forwarded-for': client };
    statuses.push((await fetch(`${url}/api/v1/nodes`, { headers })).status);
  }
  return statuses;
}

/** The same of sessions of agents. */
async function sessionGuesses(url: string, client: string, count: number): Promise<(number | undefined)[]> {
  const statuses: (number | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${SESSION_PATH}`, SESSION_SUBPROTOCOL, {
      headers: { authorization: `Bearer wrong-token-${client}-${index}`, 'x-forwarded-for': client },
    });
    socket.on('error', () => {});
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    answer.resume();
    statuses.push(answer.statusCode);
    socket.terminate();
  }
  return statuses;
}

test('behind a trusted proxy one who guesses keys shuts out nobody else, over HTTP and at the gate of agents', async (t) => {
  const { url } = await start(t, { TRUSTED_PROXIES: '127.0.0.1' });

  t.deepEqual(await guesses(url, '203.0.113.9', 4), [401, 401, 429, 429]);
  t.deepEqual(await guesses(url, '203.0.113.9, 198.51.100.1', 1), [401]);
  t.deepEqual(await guesses(url, '198.51.100.2, 203.0.113.9', 1), [429]);
  t.deepEqual(await sessionGuesses(url, '203.0.113.10', 4), [401, 401, 429, 429]);
  t.deepEqual(await sessionGuesses(url, '203.0.113.11', 1), [401]);
});

test('whoever is no trusted proxy gains nothing by naming others', async (t) => {
  const [nobody, elsewhere] = [await start(t, {}), await start(t, { TRUSTED_PROXIES: '10.0.0.5' })];

  for (const { url } of [nobody, elsewhere]) {
    t.deepEqual(await guesses(url, '203.0.113.9', 2), [401, 401]);
    t.deepEqual(await guesses(url, '203.0.113.10', 1), [429]);
    t.deepEqual(await sessionGuesses(url, '203.0.113.9', 2), [401, 401]);
    t.deepEqual(await sessionGuesses(url, '203.0.113.10', 1), [429]);
  }
});
