/** Connections that a receiver closed: what goes out once more, and what does not. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { until } from '../../../../support/until.ts';
import {
  DELIVERY,
  ENVELOPE,
  webhookSender,
  rawReceiver,
  webhookTo,
} from '../../../../support/webhooks/webhook-receivers.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Says what it is told to, each time a request has come in whole. */
function atEachRequest(socket: Socket, say: () => void): void {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (!text.endsWith(ENVELOPE)) return;
    text = '';
    say();
  });
}

test('a connection that its server closed while it was idle is replaced without a failed try', async (t) => {
  const sockets: Socket[] = [];
  const there = await rawReceiver(t, (socket) => {
    sockets.push(socket);
    atEachRequest(socket, () => socket.write(OK));
  });
  const sender = webhookSender(t, { monotonicMs: () => 0 });

  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  sockets[0]?.end();
  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.connections(), 2);
});

for (const how of ['ends', 'resets'] as const) {
  test(`a request that meets a kept connection at the moment its server ${how} it goes out once more, as the same try`, async (t) => {
    let requests = 0;
    const there = await rawReceiver(t, (socket, connection) => {
      atEachRequest(socket, () => {
        requests += 1;
        if (requests === 1 || connection > 1) socket.write(OK);
        else if (how === 'ends') socket.end();
        else socket.resetAndDestroy();
      });
    });
    const sender = webhookSender(t, { monotonicMs: () => 0 });

    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

    t.is(requests, 3);
    t.like(sender.counters, { requests: 2, resent: 1 });
    t.is(sender.counters.failures.closed, 0);
  });
}

test('requests at the very time at which their server closes idle connections all arrive', async (t) => {
  const idleMs = 6;
  const there = await rawReceiver(t, (socket) => {
    let closing: NodeJS.Timeout | undefined;
    atEachRequest(socket, () => {
      clearTimeout(closing);
      socket.write(OK);
      closing = setTimeout(() => socket.end(), idleMs);
    });
  });
  const sender = webhookSender(t, { monotonicMs: () => 0 });

  for (let count = 0; count < 100; count += 1) {
    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
    await delay(idleMs - 1 + (count % 3));
  }

  t.true(there.connections() > 1);
});

test('each of several requests that meet closing connections goes out on a new one', async (t) => {
  let isClosing = false;
  const there = await rawReceiver(t, (socket, connection) => {
    atEachRequest(socket, () => {
      if (isClosing && connection <= 3) socket.end();
      else setTimeout(() => socket.write(OK), 10);
    });
  });
  const sender = webhookSender(t, { connectionsMax: 3, monotonicMs: () => 0 });
  const several = (): Promise<unknown[]> =>
    Promise.all(Array.from({ length: 3 }, () => sender.send(webhookTo(there.url), DELIVERY)));

  t.like(await several(), [{ statusCode: 200 }, { statusCode: 200 }, { statusCode: 200 }]);
  isClosing = true;
  t.like(await several(), [{ statusCode: 200 }, { statusCode: 200 }, { statusCode: 200 }]);

  t.is(there.connections(), 6);
  t.is(sender.counters.resent, 3);
});

test('a request that meets a closing connection goes out on a new one, not on another kept one, which may be closing too', async (t) => {
  let requests = 0;
  const there = await rawReceiver(t, (socket, connection) => {
    atEachRequest(socket, () => {
      requests += 1;
      if (requests > 3 && connection <= 3) socket.end();
      else if (requests === 3) for (const kept of sockets) kept.write(OK);
      else if (requests > 3) socket.write(OK);
    });
    sockets.push(socket);
  });
  const sockets: Socket[] = [];
  const sender = webhookSender(t, { monotonicMs: () => 0 });
  await Promise.all(Array.from({ length: 3 }, () => sender.send(webhookTo(there.url), DELIVERY)));

  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(requests, 5);
  t.is(there.connections(), 4);
});

test('a request goes out once more only: a receiver that closes each connection has not answered', async (t) => {
  let requests = 0;
  const there = await rawReceiver(t, (socket) => {
    atEachRequest(socket, () => {
      requests += 1;
      if (requests === 1) socket.write(OK);
      else socket.end();
    });
  });
  const sender = webhookSender(t, { monotonicMs: () => 0 });

  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  t.like(await sender.send(webhookTo(there.url), DELIVERY), {
    type: 'failed',
    error: 'The connection was closed before an answer came.',
  });

  t.is(requests, 3);
});

test('a new connection that closes at once is no closing old one: the receiver gets one request in this try', async (t) => {
  let requests = 0;
  let closed = 0;
  const there = await rawReceiver(t, (socket, connection) => {
    socket.on('close', () => {
      closed += 1;
    });
    atEachRequest(socket, () => {
      requests += 1;
      if (connection === 1) socket.end(OK);
      else socket.end();
    });
  });
  const sender = webhookSender(t, { monotonicMs: () => 0 });

  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  await until('the first is closed', () => closed === 1);
  t.like(await sender.send(webhookTo(there.url), DELIVERY), { type: 'failed' });

  t.is(requests, 2);
});

for (const [name, say] of [
  ['had it for a while', ''],
  ['began to answer', 'HTTP/1.1 20'],
] as const) {
  test(`a receiver that ${name} and closed gets the request once in this try`, async (t) => {
    let requests = 0;
    let nowMs = 0;
    const there = await rawReceiver(t, (socket) => {
      atEachRequest(socket, () => {
        requests += 1;
        if (requests === 1) return void socket.write(OK);
        if (say === '') nowMs = 300;
        return void socket.end(say);
      });
    });
    const sender = webhookSender(t, { monotonicMs: () => nowMs });

    t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
    t.like(await sender.send(webhookTo(there.url), DELIVERY), { type: 'failed' });

    t.is(requests, 2);
  });
}
