/** Sessions of the console: how one begins, what it reaches, and everything that ends it. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import test from 'ava';
import { WebSocket } from 'ws';
import { SESSION_OVER_CLOSE } from '../../../../api/console/session-watch.ts';
import {
  SESSION_AGE_MS_MAX,
  SESSION_IDLE_MS_MAX,
  SESSION_LOOK_MS,
  USER_AGENT_CHARACTERS_MAX,
} from '../../../../api/console/limits.ts';
import type { SessionRows } from '../../../../api/console/ports.ts';
import { CLOSE_GRACE_MS } from '../../../../api/trpc/sockets.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { memorySessionRows } from '../../../support/api/session-rows.ts';
import { KEYS, SOME_ID } from '../../../support/api/fakes.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { ownPage, serveConsole } from './fixture.ts';

const MINUTE_MS = 60_000;

test('a key is exchanged for a cookie that scripts, other sites and other hosts never get', async (t) => {
  const { url, ask } = await serveConsole(t);
  const secure = { ...ownPage(url), origin: url.replace('http:', 'https:') };

  const plain = await ask('POST', '/console/session', { body: { key: KEYS.api } });
  const encrypted = await ask('POST', '/console/session', { body: { key: KEYS.master }, headers: secure });

  t.deepEqual([plain.status, encrypted.status], [201, 201]);
  t.regex(
    String(plain.headers['set-cookie']),
    /^edge-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/u,
  );
  t.regex(
    String(encrypted.headers['set-cookie']),
    /^__Host-edge-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=43200$/u,
  );
  for (const { text } of [plain, encrypted]) t.notRegex(text, /master-key|api-key/u);
});

test('whoever is signed in sees what the key reaches, and the sessions that there are', async (t) => {
  const { ask, signIn, url } = await serveConsole(t);
  const headers = { ...ownPage(url), 'user-agent': `Browser\u00e9\u00ff${'x'.repeat(1_000)}` };
  const first = await ask('POST', '/console/session', { body: { key: KEYS.api }, headers });
  const cookie = await signIn(KEYS.master);

  const me = await ask('GET', '/console/session', { headers: { ...ownPage(url), cookie } });
  const all = await ask('GET', '/console/session/all', { headers: { ...ownPage(url), cookie } });

  t.is(me.body.data?.['principal'], 'master');
  t.deepEqual(me.body.data?.['admin'], { name: 'one', version: '0.0.0-test' });
  t.deepEqual(
    all.body.data?.map(({ principal, is_current: isCurrent, address }) => [principal, isCurrent, address]),
    [
      ['master', true, '127.0.0.1'],
      ['api', false, '127.0.0.1'],
    ],
  );
  const agent = String(all.body.data?.[1]?.['user_agent']);
  t.is(agent.length, USER_AGENT_CHARACTERS_MAX);
  t.regex(agent, /^Browser[?]+x+$/u);
  t.is(first.status, 201);
});

test('a wrong key is counted as elsewhere, one that does not reach the API is refused, and no body is no key', async (t) => {
  const { ask } = await serveConsole(t, { gate: { failuresPerMinuteMax: 2 } });
  const status = async (body: unknown) => (await ask('POST', '/console/session', { body })).status;

  t.deepEqual(
    [await status({ key: 'wrong' }), await status({ key: 'wrong' }), await status({ key: 'wrong' })],
    [401, 401, 429],
  );
  t.deepEqual(
    [await status({ key: KEYS.metrics }), await status({}), await status({ key: 'x'.repeat(513) })],
    [403, 422, 422],
  );
  t.is(await status({ key: 'x'.repeat(4_096) }), 413);
  t.is(await status({ key: KEYS.api }), 201, 'a right key always gets in');
});

test('a page that only asks who is signed in uses nothing', async (t) => {
  const { ask, signIn, clock, url } = await serveConsole(t);
  const cookie = await signIn();
  const who = async (path: string) =>
    (await ask('GET', path, { headers: { ...ownPage(url), cookie } })).body.data?.['principal'];

  clock.pass(SESSION_IDLE_MS_MAX - 1);
  t.is(await who('/console/session'), 'api');
  clock.pass(1);
  t.is(await who('/console/session?use=true'), null);
});

test('a session is over when nobody used it for half an hour, and after twelve hours whatever is done with it', async (t) => {
  const { ask, signIn, clock, url } = await serveConsole(t);
  const who = async (cookie: string) =>
    (await ask('GET', '/console/session?use=true', { headers: { ...ownPage(url), cookie } })).body.data?.['principal'];
  const idle = await signIn();
  const used = await signIn();

  for (let passed = 0; passed + 29 * MINUTE_MS < SESSION_AGE_MS_MAX; passed += 29 * MINUTE_MS) {
    clock.pass(29 * MINUTE_MS);
    t.is(await who(used), 'api');
    if (passed === 0) t.is(await who(idle), 'api');
  }
  t.is(await who(idle), null);

  clock.pass(SESSION_AGE_MS_MAX % (29 * MINUTE_MS));
  t.is(await who(used), null);

  const last = await signIn();
  clock.pass(SESSION_IDLE_MS_MAX - 1);
  t.is(await who(last), 'api');
  clock.pass(SESSION_IDLE_MS_MAX);
  t.is(await who(last), null);
});

test('a session ends with its key, lives as long as the former one is let in, and is known at every admin', async (t) => {
  const rows = memorySessionRows(createFakeClock());
  const before = await serveConsole(t, { rows });
  const cookie = await before.signIn(KEYS.api);
  const rotated = 'another-key-of-the-tests-12345';
  const other = await serveConsole(t, { rows });
  const during = await serveConsole(t, {
    rows,
    gate: { apiKey: rotated, formerKeys: [{ principal: 'api', key: KEYS.api }] },
  });
  const after = await serveConsole(t, { rows, gate: { apiKey: rotated } });

  const principals = [];
  for (const admin of [before, other, during, after]) {
    const { body } = await admin.ask('GET', '/console/session', { headers: { ...ownPage(admin.url), cookie } });
    principals.push(body.data?.['principal']);
  }

  t.deepEqual(principals, ['api', 'api', 'api', null]);
});

test('a row that somebody wrote into the database lets nobody in', async (t) => {
  const { ask, rows, signIn, url } = await serveConsole(t);
  await signIn();
  const [known] = await rows.list();
  const token = 'A'.repeat(43);
  const hash = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)));
  await rows.create(
    { ...known!, id: known!.id.replace(/.$/u, '9'), tokenHash: hash },
    { idleMsMax: SESSION_IDLE_MS_MAX, ageMsMax: SESSION_AGE_MS_MAX, sessionsMax: 10 },
  );

  const { body } = await ask('GET', '/console/session', {
    headers: { ...ownPage(url), cookie: `edge-console=${token}` },
  });

  t.is(body.data?.['principal'], null);
});

test('signing out and revoking end a session, whose page is cut within a second', async (t) => {
  const { ask, signIn, clock, url } = await serveConsole(t);
  const [mine, other] = [await signIn(), await signIn()];
  const own = { ...ownPage(url), cookie: mine };
  const { body } = await ask('GET', '/console/session/all', { headers: own });
  const id = String(body.data?.find(({ is_current: isCurrent }) => isCurrent !== true)?.['id']);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/console/live`, {
    headers: { origin: url, cookie: other },
  });
  await once(socket, 'open');
  const closed = once(socket, 'close');

  t.is((await ask('DELETE', `/console/session/all/${id}`, { headers: own })).status, 204);
  t.is((await ask('DELETE', `/console/session/all/${id}`, { headers: own })).status, 404);
  clock.pass(SESSION_LOOK_MS);

  t.is((await closed)[0], SESSION_OVER_CLOSE);
  const out = await ask('DELETE', '/console/session', { headers: own });
  t.is(out.status, 204);
  t.deepEqual(
    out.headers['set-cookie']?.map((cookie) => /^([\w-]+)=;.*Max-Age=0/u.exec(cookie)?.[1]),
    ['__Host-edge-console', 'edge-console'],
  );
  t.is((await ask('GET', '/console/session/all', { headers: own })).status, 401);
});

test('a page that goes on after the end of its session does nothing more, and is cut (E5)', async (t) => {
  const { ask, signIn, clock, url, api, asked } = await serveConsole(t);
  const cookie = await signIn();
  const upgraded = once(api.server, 'upgrade') as Promise<[unknown, Socket]>;
  const page = new WebSocket(`${url.replace('http', 'ws')}/console/live`, { headers: { origin: url, cookie } });
  t.teardown(() => page.terminate());
  await once(page, 'open');
  const [, connection] = await upgraded;
  const act = (id: number): void =>
    page.send(JSON.stringify({ id, method: 'mutation', params: { path: 'delete_node', input: { id: SOME_ID } } }));
  act(1);
  await once(page, 'message');
  t.is(asked.length, 1);

  page.pause(); // it hears no goodbye
  await ask('DELETE', '/console/session', { headers: { ...ownPage(url), cookie } });
  const { bytesRead, bytesWritten } = connection;
  clock.pass(SESSION_LOOK_MS);
  await until('the goodbye', () => connection.bytesWritten > bytesWritten);
  act(2);
  await until('what it sends is heard', () => connection.bytesRead > bytesRead);
  const cut = once(connection, 'close');
  clock.pass(CLOSE_GRACE_MS);
  await cut;

  t.is(asked.length, 1);
});

test('a sign-in without a key is told what is missing', async (t) => {
  const { ask } = await serveConsole(t);
  const detailsOf = async (body: object) => (await ask('POST', '/console/session', { body })).body.error?.details;

  t.deepEqual(await detailsOf({}), { key: ['is required'] });
  t.deepEqual(await detailsOf({ key: '' }), { key: ['must not be empty'] });
});

test('sign-ins are counted by what came of them, and connections while they are open', async (t) => {
  const { ask, signIn, counters, url } = await serveConsole(t, { gate: { failuresPerMinuteMax: 1 } });
  const cookie = await signIn();
  for (const key of ['wrong', 'wrong', KEYS.metrics, '']) await ask('POST', '/console/session', { body: { key } });
  const far = { ...ownPage(url), host: 'admin.example', origin: 'http://admin.example' };
  await ask('POST', '/console/session', { body: { key: KEYS.api }, headers: far });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/console/live`, { headers: { origin: url, cookie } });
  await once(socket, 'open');

  t.deepEqual(counters.readings(), {
    connections: 1,
    signIns: {
      signed_in: 1,
      wrong_key: 1,
      throttled: 1,
      forbidden: 1,
      insecure: 1,
      unneeded: 0,
      invalid: 1,
      unavailable: 0,
    },
  });
  socket.close();
  await until('the end of the connection', () => counters.readings().connections === 0);
});

test('a sign-in without a database, and one where no key is asked for, are counted as such', async (t) => {
  const rows: SessionRows = {
    ...memorySessionRows(createFakeClock()),
    create: () => Promise.reject(new DatabaseUnavailable('The database is not available.')),
  };
  const away = await serveConsole(t, { rows });
  const open = await serveConsole(t, { gate: { apiAuthEnabled: false } });

  const statuses = [];
  for (const { ask } of [away, open])
    statuses.push((await ask('POST', '/console/session', { body: { key: KEYS.api } })).status);

  t.deepEqual(statuses, [503, 409]);
  t.is(away.counters.readings().signIns.unavailable, 1);
  t.is(open.counters.readings().signIns.unneeded, 1);
});
