/** Sessions of the console at two admins: one that is ended is over at both within a second (E5). */
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { CONSOLE_TERMINAL_PATH, LIVE_PATH, SESSION_OVER_CLOSE } from '../../../api/console/connections.ts';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { patient } from '../../support/busy.ts';
import { urlOf } from '../../support/server.ts';

/** Source: E5. */
const CUT_MS_MAX = 1_000;

/** Two admins of one database. */
async function startAdmins(t: ExecutionContext): Promise<readonly [TestAdmin, TestAdmin]> {
  const first = await startTestAdmin(t, { ADMIN_NAME: 'one' });
  return [first, await startTestAdmin(t, { ADMIN_NAME: 'two', DATABASE_URL: urlOf(first.database) })];
}

/** Signs in: the cookie as browsers send it back. */
async function signIn({ url }: TestAdmin): Promise<string> {
  const answer = await fetch(`${url}/console/session`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ key: ADMIN_KEYS.API_KEY }),
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** A connection of a page. What comes of it: its close code, and when. */
async function openPage({ url }: TestAdmin, path: string, cookie: string) {
  const socket = new WebSocket(url.replace('http', 'ws') + path, ['edge.terminal.v1'], {
    headers: { origin: url, cookie },
  });
  await once(socket, 'open');
  const closed = once(socket, 'close').then(([code]) => ({ code: Number(code), atMs: performance.now() }));
  return { socket, closed };
}

test('a session that is ended at one admin is cut at both within a second, and no other one is', async (t) => {
  const admins = await startAdmins(t);
  const [ended, other] = [await signIn(admins[0]), await signIn(admins[0])];
  const pages = await Promise.all(
    admins.flatMap((admin) => [LIVE_PATH, CONSOLE_TERMINAL_PATH].map((path) => openPage(admin, path, ended))),
  );
  const stays = await Promise.all(admins.map((admin) => openPage(admin, LIVE_PATH, other)));

  const headers = { origin: admins[1].url, cookie: ended };
  const out = await fetch(`${admins[1].url}/console/session`, { method: 'DELETE', headers });
  const endedAtMs = performance.now();
  const closes = await Promise.all(pages.map(({ closed }) => closed));

  t.is(out.status, 204);
  t.deepEqual(
    closes.map(({ code }) => code),
    pages.map(() => SESSION_OVER_CLOSE),
  );
  const longestMs = Math.max(...closes.map(({ atMs }) => atMs)) - endedAtMs;
  t.true(longestMs < patient(CUT_MS_MAX), `${longestMs} ms`);
  t.deepEqual(
    stays.map(({ socket }) => socket.readyState),
    stays.map(() => WebSocket.OPEN),
  );
  for (const { socket } of stays) socket.close();
});
