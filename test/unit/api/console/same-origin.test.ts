/** Which pages may use a session: by HTTP and by WebSocket, beside the API, which knows no cookies. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { WebSocket } from 'ws';
import { asksThisMachine, otherPage } from '../../../../api/console/same-origin.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { ownPage, serveConsole } from './fixture.ts';

const host = 'admin.example:44000';
const origin = `https://${host}`;

/** What a browser says of a page, and whether that page may: read, change, and take a connection. */
const PAGES: readonly (readonly [headers: Record<string, string>, may: string])[] = [
  [{ host, origin, 'sec-fetch-site': 'same-origin' }, 'read change connect'],
  [{ host, 'sec-fetch-site': 'same-origin' }, 'read change'], // an upgrade always says its origin
  [{ host, 'sec-fetch-site': 'none' }, 'read'], // typed into the address bar
  [{ host, origin }, 'read change connect'], // a browser without Fetch Metadata, or plain HTTP
  [{ host, origin: `http://${host}` }, 'read change connect'],
  [{ host }, 'read'], // a program: it has no cookie
  [{ host, origin, 'sec-fetch-site': 'same-site' }, 'connect'], // cannot be: a browser contradicts itself
  [{ host, origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }, ''],
  [{ host, origin: 'https://other.example', 'sec-fetch-site': 'same-origin' }, 'read change'],
  [{ host, origin: 'https://other.example' }, ''],
  [{ host, origin: 'https://admin.example' }, ''], // another port
  [{ host, origin: 'https://admin.example:44000.other.example' }, ''],
  [{ host, origin: 'null' }, ''], // a sandboxed frame
  [{ host, origin: '' }, ''],
  [{ origin }, ''],
];

test('only pages of this very origin may use a session', (t) => {
  for (const [headers, may] of PAGES) {
    const allowed = Object.entries({
      read: { method: 'GET', headers },
      change: { method: 'DELETE', headers },
      connect: { method: 'GET', headers: { ...headers, upgrade: 'websocket' } },
    }).flatMap(([what, asked]) => (otherPage(asked as unknown as IncomingMessage) === null ? [what] : []));

    t.is(allowed.join(' '), may, JSON.stringify(headers));
  }
});

test('this machine is localhost and its addresses, however they are written', (t) => {
  for (const name of ['localhost', 'localhost:44000', 'a.localhost', '127.0.0.1:1', '127.9.9.9', '[::1]:44000'])
    t.true(asksThisMachine({ host: name }), name);
  for (const name of ['localhost.example', '128.0.0.1', '10.0.0.1:44000', '[::2]', '', '127.0.0.1.example'])
    t.false(asksThisMachine({ host: name }), name);
});

test('pages of others are refused before anything is looked up, and nothing is signed in or out', async (t) => {
  const { ask, signIn, rows, url } = await serveConsole(t);
  const cookie = await signIn();
  const attacks = [
    { origin: 'https://other.example', 'sec-fetch-site': 'cross-site', cookie },
    { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site', cookie },
    { origin: 'null', cookie },
    { cookie },
  ];

  for (const headers of attacks)
    for (const [method, path] of [
      ['POST', '/console/session'],
      ['DELETE', '/console/session'],
      ['DELETE', '/console/session/all/0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1001'],
    ] as const) {
      const { status } = await ask(method, path, { headers, ...(method === 'POST' && { body: { key: KEYS.api } }) });
      t.is(status, 403, JSON.stringify([method, headers]));
    }
  t.is((await rows.list()).length, 1);
  t.is((await ask('GET', '/console/session/all', { headers: { ...ownPage(url), cookie } })).status, 200);
});

test('over plain HTTP between two machines nobody signs in, unless a setting allows it', async (t) => {
  const plain = { host: 'admin.example', origin: 'http://admin.example', 'sec-fetch-site': 'same-origin' };
  const closed = await serveConsole(t);
  const open = await serveConsole(t, { isPlainAllowed: true });
  const body = { key: KEYS.api };

  const refused = await closed.ask('POST', '/console/session', { headers: plain, body });
  const allowed = await open.ask('POST', '/console/session', { headers: plain, body });

  t.is(refused.status, 403);
  t.regex(refused.body.error?.message ?? '', /CONSOLE_INSECURE_HTTP=true/u);
  t.is(allowed.status, 201);
  const cookie = String(allowed.headers['set-cookie']).split(';')[0] ?? '';
  const who = async ({ ask }: typeof open) =>
    (await ask('GET', '/console/session', { headers: { ...plain, cookie } })).body.data?.['principal'];
  t.deepEqual([await who(open), await who(closed)], ['api', null]);
});

test('the API knows no cookies, and the console no bearer keys', async (t) => {
  const { ask, signIn, url } = await serveConsole(t);
  const cookie = await signIn(KEYS.master);
  const headers = { ...ownPage(url), cookie };
  const authorization = `Bearer ${KEYS.master}`;

  for (const path of ['/api/v1/nodes', '/api/trpc/list_nodes', '/metrics/nodes'])
    t.not((await ask('GET', path, { headers })).status, 200, path);
  t.is((await ask('GET', '/api/v1/nodes', { headers: { authorization } })).status, 200);
  t.is((await ask('GET', '/console/session/all', { headers: { ...ownPage(url), authorization } })).status, 401);
});

/** What becomes of a WebSocket: the status of its refusal, or what a call over it is answered. */
async function connected(url: string, path: string, headers: Record<string, string>): Promise<unknown> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers });
  const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => statusCode as unknown);
  const opened = once(socket, 'open').then(async () => {
    const answered = once(socket, 'message') as Promise<[Buffer]>;
    socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'list_nodes', input: {} } }));
    const answer = JSON.parse((await answered)[0].toString()) as {
      error?: { data: { code: string } };
      result?: object;
    };
    return answer.error?.data.code ?? Object.keys(answer.result ?? {}).join();
  });
  socket.on('error', () => {});
  try {
    return await Promise.race([refused.catch(() => new Promise(() => {})), opened.catch(() => new Promise(() => {}))]);
  } finally {
    socket.terminate();
  }
}

test('a connection is taken by cookie and exact origin, and by nothing else', async (t) => {
  const { signIn, url } = await serveConsole(t);
  const cookie = await signIn(KEYS.master);
  const authorization = `Bearer ${KEYS.master}`;

  t.is(await connected(url, '/console/live', { origin: url, cookie }), 'type,data');
  t.is(await connected(url, '/console/live', { cookie }), 403);
  t.is(await connected(url, '/console/live', { origin: 'https://other.example', cookie }), 403);
  t.is(await connected(url, '/console/live', { origin: url }), 401);
  t.is(await connected(url, '/console/live', { origin: url, authorization }), 401);
  t.is(await connected(url, '/console/live', { origin: url, cookie: cookie.replace(/.$/u, '_') }), 401);
  t.is(await connected(url, '/api/trpc', { origin: url, cookie }), 'unauthorized');
});

test('where the API asks for no key, nobody has to sign in', async (t) => {
  const { ask, url } = await serveConsole(t, { gate: { apiAuthEnabled: false } });

  const { body } = await ask('GET', '/console/session');
  t.is(body.data?.['principal'], 'anonymous');
  t.is((await ask('POST', '/console/session', { body: { key: KEYS.api } })).status, 409);
  t.is(await connected(url, '/console/live', { origin: url }), 'type,data');
  t.is(await connected(url, '/console/live', { origin: 'https://other.example' }), 403);
});
