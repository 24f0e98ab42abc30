/** Clients that ask for much in one piece: what they may cost, and that others are answered beside them. */
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { boundPipelining, PIPELINED_REQUESTS_MAX } from '../../../../../transport/net/streams/pipelining.ts';
import { selfSigned } from '../../../../../transport/vpn/relay/self-signed.ts';
import { listening } from '../../../../support/net/listening.ts';

const ASKED = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** Resolves when it is closed, by a reset too. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.resume().once('close', () => resolve()));
}

async function serving(t: ExecutionContext, listener: RequestListener, isTls = false) {
  let made = 0;
  class Counted extends IncomingMessage {
    constructor(socket: Socket) {
      super(socket);
      made += 1;
    }
  }
  const options = { IncomingMessage: Counted };
  const { certificate, key } = isTls ? selfSigned('localhost', Date.now()) : { certificate: '', key: '' };
  const server = isTls
    ? createTlsServer({ ...options, cert: certificate, key }, listener)
    : createServer(options, listener);
  const port = await listening(t, boundPipelining(server));
  const dial = (): Socket => {
    const place = { port, host: '127.0.0.1' };
    const socket = isTls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
    t.teardown(() => {
      socket.destroy();
    });
    return socket.on('error', () => {});
  };
  return { dial, server, made: () => made };
}

/** Requests that are handed over, and such as Node answers itself without a word to anybody. */
const KINDS = {
  'that are handed over': ASKED,
  'without a host': 'GET / HTTP/1.1\r\n\r\n',
  'that expect what there is not': 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n',
};

for (const isTls of [false, true])
  for (const [kind, request] of Object.entries(KINDS))
    test(`pipelined requests ${kind}${isTls ? ', over TLS,' : ''} are read up to the limit, then cut off`, async (t) => {
      let asked = 0;
      const { dial, made } = await serving(
        t,
        () => {
          asked += 1; // and no answer
        },
        isTls,
      );
      const sockets = Array.from({ length: 10 }, dial);

      const ends = sockets.map((socket) => closed(socket));
      for (const socket of sockets) socket.write(request.repeat(2_000));
      await Promise.all(ends);

      t.is(made(), sockets.length * (PIPELINED_REQUESTS_MAX + 1));
      t.is(asked, request === ASKED ? sockets.length * PIPELINED_REQUESTS_MAX : 0);
    });

test('an upgrade behind as many as may wait is refused with its connection, and handed over to nobody', async (t) => {
  const { dial, server } = await serving(t, () => {});
  let upgrades = 0;
  server.on('upgrade', () => (upgrades += 1)).on('connect', () => (upgrades += 1));
  for (const last of [
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  ]) {
    const socket = dial();
    const isClosed = closed(socket);

    socket.write(ASKED.repeat(PIPELINED_REQUESTS_MAX) + last);
    await isClosed;
  }

  t.is(upgrades, 0);
});

test('as many as may wait are answered in their order, and as many again behind them', async (t) => {
  const waiting: ServerResponse[] = [];
  let asked = 0;
  const { dial } = await serving(t, (_request, response) => {
    asked += 1;
    response.setHeader('content-length', String(asked).length);
    waiting.push(response);
    if (waiting.length < PIPELINED_REQUESTS_MAX) return;
    const first = asked - waiting.length + 1;
    for (const [at, answer] of [...waiting.splice(0).entries()].toReversed()) answer.end(String(first + at));
  });
  const socket = dial();
  socket.write(ASKED.repeat(PIPELINED_REQUESTS_MAX));
  await once(socket, 'readable');
  for (let read = ''; !read.endsWith(`\r\n\r\n${PIPELINED_REQUESTS_MAX}`); read += socket.read() ?? '')
    await once(socket, 'readable');
  socket.write(ASKED.repeat(PIPELINED_REQUESTS_MAX - 1) + LAST);

  const bodies = [...(await text(socket)).matchAll(/\r\n\r\n(\d+)/gu)].map(([, body]) => Number(body));

  t.deepEqual(
    bodies,
    Array.from({ length: PIPELINED_REQUESTS_MAX }, (_, at) => PIPELINED_REQUESTS_MAX + 1 + at),
  );
});

test('one after another there may be any number', async (t) => {
  const { dial } = await serving(t, (_request, response) => response.end('x'));
  const socket = dial();
  let answers = 0;

  for (; answers < 4 * PIPELINED_REQUESTS_MAX; answers += 1) {
    socket.write(ASKED);
    await once(socket, 'data');
  }

  t.false(socket.destroyed);
});
