/** Subscriptions outlive an admin that cannot serve them, and refusals are read from what calls throw. */
import { createServer } from 'node:http';
import test from 'ava';
import { v7 } from 'uuid';
import { WebSocketServer } from 'ws';
import {
  createClient,
  createLiveClient,
  refusalOf,
  subscribePatiently,
  type Handlers,
} from '../../../../api/client/client.ts';
import { listening, origin } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';

function refused(code: string, retryAfterSeconds: number | null = null): Error {
  return Object.assign(new Error(`no: ${code}`), {
    data: {
      code,
      details: { id: ['is wrong'] },
      request_id: 'r-1',
      retry_after_seconds: retryAfterSeconds,
      httpStatus: 503,
    },
  });
}

/** A feed that is asked again: what it was given, and how it ended. */
function feed() {
  const asked: { readonly lastEventId: string | undefined; readonly handlers: Handlers<string> }[] = [];
  let ended = 0;
  const told: string[] = [];
  const failures: unknown[] = [];
  const subscription = subscribePatiently<string>(
    (handlers, lastEventId) => {
      asked.push({ handlers, lastEventId });
      return { unsubscribe: () => (ended += 1) };
    },
    { data: (message) => told.push(message), failed: (error) => failures.push(error) },
  );
  return { asked, told, failures, subscription, ended: () => ended };
}

test('a subscription that is refused for a while goes on after the last message that it had', async (t) => {
  const { asked, told, failures } = feed();

  asked[0]?.handlers.onData({ id: '7', data: 'one' });
  asked[0]?.handlers.onError(refused('service_unavailable', 0.01));
  await until('the second subscription', () => asked.length === 2);
  asked[1]?.handlers.onData({ id: '8', data: 'two' });
  asked[1]?.handlers.onError(refused('rate_limited', 0.01));
  await until('the third subscription', () => asked.length === 3);

  t.deepEqual(
    asked.map(({ lastEventId }) => lastEventId),
    [undefined, '7', '8'],
  );
  t.deepEqual([told, failures], [['one', 'two'], []]);
});

test('a refusal that stays is told, and nothing is asked again', (t) => {
  const { asked, failures, subscription, ended } = feed();
  const error = refused('forbidden');

  asked[0]?.handlers.onError(error);
  subscription.unsubscribe();

  t.deepEqual([asked.length, failures, ended()], [1, [error], 1]);
});

for (const seconds of [2_147_484, 1e12, Infinity])
  test(`a service that says to come back in ${seconds} s is not asked at once`, async (t) => {
    const { asked, subscription } = feed();

    asked[0]?.handlers.onError(refused('service_unavailable', seconds));
    // one that is asked for after a wait that began later, and is longer than none
    const other = feed();
    other.asked[0]?.handlers.onError(refused('service_unavailable', 0.05));
    await until('the other one to be asked for again', () => other.asked.length === 2);

    other.subscription.unsubscribe();
    subscription.unsubscribe();
    t.is(asked.length, 1);
  });

test('a subscription that was given up while it waits is not asked for again', async (t) => {
  const { asked, subscription } = feed();

  asked[0]?.handlers.onError(refused('service_unavailable', 0.01));
  subscription.unsubscribe();
  // one that is asked for after the same wait, which began later
  const other = feed();
  other.asked[0]?.handlers.onError(refused('service_unavailable', 0.01));
  await until('the other one to be asked for again', () => other.asked.length === 2);
  other.subscription.unsubscribe();

  t.is(asked.length, 1);
});

test('a live connection that went silent without an end is opened again, and its subscriptions go on', async (t) => {
  let connections = 0;
  const server = createServer();
  new WebSocketServer({ server, path: '/api/trpc' }).on('connection', (socket, request) => {
    connections += 1;
    const number = connections;
    socket.on('message', (message: Buffer) => {
      const { id, method } = parsed(message.toString('utf8'));
      if (method !== 'subscription') return;
      socket.send(JSON.stringify({ id, result: { type: 'started' } }));
      socket.send(
        JSON.stringify({ id, result: { type: 'data', id: `${number}`, data: { id: `${number}`, data: number } } }),
      );
      request.socket.pause(); // what comes is not read, and not refused
    });
  });
  const live = createLiveClient(
    { url: `http://127.0.0.1:${await listening(t, server)}`, key: null },
    {},
    { pingMs: 100, pongMsMax: 100 },
  );
  t.teardown(() => live.close());
  const told: unknown[] = [];

  live.api.nodes.watch.subscribe({}, { onData: ({ data }) => told.push(data) });

  await until('another connection', () => told.length > 1);
  t.is(new Set(told).size, told.length, 'each of a connection of its own');
});

/** A message of tRPC; some are a word. */
function parsed(message: string): { readonly id?: number; readonly method?: string } {
  return message.startsWith('{') ? (JSON.parse(message) as { readonly id?: number; readonly method?: string }) : {};
}

test('a client takes the URL of the service with and without what stands behind it', async (t) => {
  const asked: string[] = [];
  const url = await origin(t, (request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'application/json').end('{"result":{"data":{}}}');
  });

  for (const behind of ['', '/', '/api/v1', '/api/v1/', '//'])
    await createClient({ url: url + behind, key: null }).get_admin.query({});

  t.deepEqual([...new Set(asked.map((path) => path.split('?')[0]))], ['/api/trpc/get_admin']);
});

test('a query is a GET, and one that is too long for a URL a POST', async (t) => {
  const asked: string[] = [];
  const url = await origin(t, (request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    if ((request.url?.length ?? 0) > 8_000) asked.push('which is too long');
    response.setHeader('content-type', 'application/json').end('{"result":{"data":{}}}');
  });
  const api = createClient({ url, key: null });

  for (const ids of [1, 170, 190, 500])
    await api.list_nodes.query({ node_id__in: Array.from({ length: ids }, () => v7()) });
  await api.get_admin.query({});

  t.deepEqual(asked, [
    'GET /api/trpc/list_nodes',
    'GET /api/trpc/list_nodes',
    'POST /api/trpc/list_nodes',
    'POST /api/trpc/list_nodes',
    'GET /api/trpc/get_admin',
  ]);
});

test('a URL that is none is told at once', (t) => {
  for (const url of [
    '',
    'fleet.example:44000',
    'ftp://fleet.example',
    'http://',
    'http:///',
    'http://user:password@a b',
  ])
    for (const create of [createClient, createLiveClient])
      t.throws(() => create({ url, key: null }), {
        instanceOf: TypeError,
        message: 'the URL of the service should be such as https://fleet.example:44000',
      });
});

test('a refusal is read from what a call threw, and nothing else is', (t) => {
  t.deepEqual(refusalOf(refused('not_found', 5)), {
    code: 'not_found',
    message: 'no: not_found',
    details: { id: ['is wrong'] },
    request_id: 'r-1',
    retry_after_seconds: 5,
  });
  t.deepEqual(refusalOf(Object.assign(new Error('short'), { data: { code: 'x' } })), {
    code: 'x',
    message: 'short',
    details: null,
    request_id: null,
    retry_after_seconds: null,
  });
  for (const other of [
    new TypeError('fetch failed'),
    Object.assign(new Error('x'), { data: null }),
    'text',
    null,
    undefined,
  ])
    t.is(refusalOf(other), null);
});
