/** Live connections: who may have one, and for how long without a key. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { WebSocket } from 'ws';
import { createShares } from '../../../../api/shares.ts';
import { MESSAGE_CALLS_MAX } from '../../../../api/trpc/encoder.ts';
import { CLOSE_GRACE_MS } from '../../../../api/trpc/sockets.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { cutGreedy, UNREAD_BYTES_MAX, UNREAD_TOTAL_BYTES_MAX } from '../../../../api/trpc/unread-bytes.ts';
import {
  createUnauthenticatedConnections,
  SIGN_IN_MS_MAX,
  UNAUTHENTICATED_BYTES_MAX,
  UNAUTHENTICATED_MAX,
} from '../../../../api/trpc/unauthenticated-connections.ts';
import { LABELS_MAX } from '../../../../transport/protocol/labels.ts';
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts';
import { serve, type Served } from '../../../support/api/served.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { openSocket } from '../../../support/api/trpc-clients.ts';
import { until } from '../../../support/until.ts';

/** A server whose time is the test's. */
async function start(t: ExecutionContext, gate: object = {}): Promise<Served & { readonly clock: FakeClock }> {
  const clock = createFakeClock(0);
  return Object.assign(await serve(t, { mounts: ({ feeds }) => [mountTrpc(feeds, clock)], gate }), { clock });
}

/** A connection that answers pings and says nothing by itself. */
async function open(
  t: ExecutionContext,
  url: string,
  headers: Record<string, string> = {},
  query = '',
): Promise<WebSocket> {
  const socket = await openSocket(t, url, headers, query);
  socket.on('message', (data: Buffer) => {
    if (data.toString() === 'PING') socket.send('PONG');
  });
  return socket;
}

/** Resolves when the server has heard what was sent before. */
async function heard(socket: WebSocket): Promise<void> {
  socket.send('PING');
  await once(socket, 'message');
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('a connection that shows no key, or a wrong one, is closed when the time to sign in is over', async (t) => {
  const { url, clock } = await start(t);
  const without = [
    await open(t, url),
    await open(t, url, bearer('wrong')),
    await open(t, url, {}, '?connectionParams=1'),
  ];
  const withKey = [
    await open(t, url, bearer(KEYS.api)),
    await open(t, url, bearer(KEYS.metrics)),
    await open(t, url, {}, '?connectionParams=1'),
  ];
  withKey[2]?.send(JSON.stringify({ method: 'connectionParams', data: bearer(KEYS.api) }));
  await Promise.all(withKey.map(heard));
  const closed = without.map((socket) => once(socket, 'close'));

  clock.pass(SIGN_IN_MS_MAX);

  t.deepEqual(
    (await Promise.all(closed)).map(([code]) => code as number),
    [1008, 1008, 1008],
  );
  await Promise.all(withKey.map(heard));
  t.deepEqual(
    withKey.map(({ readyState }) => readyState),
    [WebSocket.OPEN, WebSocket.OPEN, WebSocket.OPEN],
  );
});

test('an upgrade or a call whose Host is no host is refused, and nothing ends by it', async (t) => {
  const { url, log } = await start(t);
  const ask = async (path: string, host: string, upgrade: string): Promise<string> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.end(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n`);
    return text(socket);
  };
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

  for (const host of ['[', '', 'a b', 'h:99999', '1.2.3.4.5.', '%00', 'ex ample:80']) {
    t.regex(await ask('/api/trpc', host, upgrade), /^HTTP\/1\.1 400 /u, `upgrade, ${host}`);
    t.regex(await ask('/api/trpc/list_nodes', host, 'Connection: close\r\n'), /^HTTP\/1\.1 400 /u, host);
  }

  t.deepEqual(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  );
  await heard(await open(t, url, bearer(KEYS.api)));
});

test('each of more calls in one message than may be under way is refused, and all labels of as many are read', async (t) => {
  const { url } = await start(t);
  const socket = await open(t, url, bearer(KEYS.api));
  const answers: { readonly id: unknown; readonly error?: { readonly message: string } }[] = [];
  socket.on('message', (data: Buffer) => {
    if (/^[[{]/u.test(data.toString())) answers.push(JSON.parse(data.toString()) as (typeof answers)[number]);
  });
  const calls = (count: number, input: object = {}) =>
    JSON.stringify(
      Array.from({ length: count }, (_, id) => ({ id, method: 'query', params: { path: 'nowhere', input } })),
    );

  socket.send(calls(MESSAGE_CALLS_MAX + 1));
  await until('an answer for each', () => answers.length === MESSAGE_CALLS_MAX + 1);
  t.deepEqual([...new Set(answers.map(({ error }) => error?.message))], ['Batch call exceeds maximum size']);
  t.is(new Set(answers.map(({ id }) => id)).size, MESSAGE_CALLS_MAX + 1);

  answers.length = 0;
  socket.send(calls(4 * MESSAGE_CALLS_MAX + 1));
  await heard(socket);
  t.deepEqual(
    answers.map(({ id }) => id),
    [null],
  );

  answers.length = 0;
  const labels = Object.fromEntries(Array.from({ length: LABELS_MAX }, (_, n) => [`key-${n}`, '']));
  socket.send(calls(MESSAGE_CALLS_MAX, { id: randomUUID(), labels }));
  await until('an answer for each', () => answers.length === MESSAGE_CALLS_MAX);
  t.is(new Set(answers.map(({ id }) => id)).size, MESSAGE_CALLS_MAX);
  t.is(socket.readyState, WebSocket.OPEN);
});

test('who sends much before a key that is known here is hung up on, and who shows one first is not', async (t) => {
  const { url, clock } = await start(t);
  const much = JSON.stringify({ id: 1, method: 'query', params: { path: 'x'.repeat(UNAUTHENTICATED_BYTES_MAX) } });
  const strangers = [await open(t, url), await open(t, url, bearer('wrong'))];
  const known = [await open(t, url, bearer(KEYS.api)), await open(t, url, {}, '?connectionParams=1')];
  const closed = strangers.map((socket) => once(socket, 'close'));
  known[1]?.send(JSON.stringify({ method: 'connectionParams', data: bearer(KEYS.api) }));

  for (const socket of [...strangers, ...known]) socket.send(much);
  await Promise.all(known.map(heard));
  await until('they are told', () => strangers.every(({ readyState }) => readyState !== WebSocket.OPEN));
  clock.pass(CLOSE_GRACE_MS);

  t.deepEqual(
    (await Promise.all(closed)).map(([code]) => code as number),
    [1008, 1008],
  );
  await Promise.all(known.map(heard));
  t.deepEqual(
    known.map(({ readyState }) => readyState),
    [WebSocket.OPEN, WebSocket.OPEN],
  );
});

test('where no key is asked for, none has to be shown', async (t) => {
  const { url, clock } = await start(t, { apiAuthEnabled: false });
  const socket = await open(t, url);
  await heard(socket);

  clock.pass(SIGN_IN_MS_MAX);

  await heard(socket);
  t.is(socket.readyState, WebSocket.OPEN);
});

test('what is no WebSocket, or larger than is taken, ends its connection and is no bug in the log', async (t) => {
  const { url, log } = await start(t);
  const socket = await open(t, url);
  const closed = once(socket, 'close');

  socket.send('x'.repeat(2_000_000));
  const [code] = (await closed) as [number];

  t.is(code, 1009);
  t.deepEqual(
    log.lines.filter(({ level }) => level === 'error' || level === 'warn'),
    [],
  );
});

test(`at most ${UNAUTHENTICATED_MAX} wait, and the network that floods makes room for the others`, (t) => {
  const clock = createFakeClock(0);
  const unauthenticated = createUnauthenticatedConnections(clock);
  const left: string[] = [];
  for (let n = 0; n < UNAUTHENTICATED_MAX - 1; n += 1)
    unauthenticated.enter(`2001:db8::${n.toString(16)}`, new Socket(), () => left.push(`flood ${n}`));
  unauthenticated.enter('192.0.2.1', new Socket(), () => left.push('honest'));

  for (let n = 0; n < 3; n += 1) unauthenticated.enter('2001:db8:0:0:ffff::1', new Socket(), () => left.push('more'));
  t.deepEqual(left, ['flood 0', 'flood 1', 'flood 2']);

  clock.pass(SIGN_IN_MS_MAX);
  t.is(left.length, UNAUTHENTICATED_MAX + 3);
  t.is(clock.waiting(), 0);
});

test('a flood of connections without a key, all answering pings, keeps nobody with a key out', async (t) => {
  const { url } = await start(t);
  const flood: WebSocket[] = [];
  while (flood.length < UNAUTHENTICATED_MAX + 50)
    flood.push(...(await Promise.all(Array.from({ length: 50 }, () => open(t, url)))));
  const closed = Promise.all(
    flood.slice(0, 50).map(async (socket) => {
      if (socket.readyState !== WebSocket.CLOSED) await once(socket, 'close');
    }),
  );

  const honest = await open(t, url, bearer(KEYS.api));
  await heard(honest);
  await closed;

  t.is(honest.readyState, WebSocket.OPEN);
  // it waited there too, for a moment
  t.is(flood.filter(({ readyState }) => readyState === WebSocket.OPEN).length, UNAUTHENTICATED_MAX - 1);
});

test('places have a share for one key and for one address, of which IPv6 has one for each /64', (t) => {
  const shares = createShares({ placesMax: 5, ofOneKeyMax: 3, ofOneAddressMax: 2 });

  const first = shares.take('api', '2001:db8::1');
  t.truthy(shares.take('api', '2001:db8::2'));
  t.is(shares.take('api', '2001:db8::3'), null);
  t.truthy(shares.take('api', '192.0.2.1'));
  t.is(shares.take('api', '192.0.2.2'), null);
  t.truthy(shares.take('master', '192.0.2.2'));
  t.truthy(shares.take('metrics', '192.0.2.3'));
  t.is(shares.take('mcp', '192.0.2.4'), null);
  first?.();
  first?.();
  t.truthy(shares.take('mcp', '192.0.2.4'));
  t.is(shares.take('mcp', '192.0.2.5'), null);
});

test('bytes that wait are bounded for one socket and for all, and whose network holds most is cut first', (t) => {
  const cut: string[] = [];
  const client = (name: string, address: string, bufferedAmount: number) => ({
    address,
    socket: { bufferedAmount, terminate: () => void cut.push(name) },
  });
  const mebibyte = 1_048_576;
  const greedy = Array.from({ length: 10 }, (_none, n) => client(`greedy ${n}`, `2001:db8::${n}`, (20 + n) * mebibyte));

  cutGreedy([client('one', '192.0.2.1', UNREAD_BYTES_MAX + 1), client('other', '192.0.2.2', 10 * mebibyte)]);
  t.deepEqual(cut.splice(0), ['one']);
  cutGreedy([...greedy, client('honest', '192.0.2.3', 30 * mebibyte)]);

  const total = (245 + 30) * mebibyte;
  t.deepEqual(cut, ['greedy 9']);
  t.true(total > UNREAD_TOTAL_BYTES_MAX && total - 29 * mebibyte <= UNREAD_TOTAL_BYTES_MAX);
});
