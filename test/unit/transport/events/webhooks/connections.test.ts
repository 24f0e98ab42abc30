import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { createGuard } from '../../../../../transport/net/guard/guard.ts';
import { until } from '../../../../support/until.ts';
import {
  DELIVERY,
  ENVELOPE,
  posting,
  rawReceiver,
  receiver,
  webhookTo,
} from '../../../../support/webhook-receivers.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

// A clock that stands still in some tests: on a busy machine a turn of the event loop may take longer than a connection
// counts as just closing.

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

test('requests one after another share a connection', async (t) => {
  const there = await receiver(t, (_request, response) => response.end('ok'));
  const sender = posting(t);

  for (let count = 0; count < 20; count += 1)
    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.got.length, 20);
  t.is(there.connections(), 1);
});

test('there are no more connections than allowed, and requests beyond wait for their turn', async (t) => {
  const open: (() => unknown)[] = [];
  const there = await receiver(t, (_request, response) => {
    open.push(() => response.end());
    if (open.length === 3) for (const answer of open.splice(0)) answer();
  });
  const sender = posting(t, { connectionsMax: 3 });

  const attempts = await Promise.all(Array.from({ length: 12 }, () => sender.post(webhookTo(there.url), DELIVERY)));

  t.true(attempts.every((attempt) => attempt?.type === 'answered' && attempt.statusCode === 200));
  t.is(there.connections(), 3);
});

test('the time of those that wait in line runs too', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = posting(t, { connectionsMax: 1, timeoutMs: 500 });

  const attempts = await Promise.all([
    sender.post(webhookTo(there.url), DELIVERY),
    sender.post(webhookTo(there.url), DELIVERY),
  ]);

  t.deepEqual(
    attempts.map((attempt) => attempt?.type),
    ['failed', 'failed'],
  );
  t.is(sender.counters.failures['timed-out'], 2);
});

test('a receiver that hangs holds up no other', async (t) => {
  const hanging = await rawReceiver(t, (socket) => socket.resume());
  const there = await receiver(t, (_request, response) => response.end('ok'));
  const sender = posting(t, { timeoutMs: 30_000 });

  const hung = Array.from({ length: 8 }, () => sender.post(webhookTo(hanging.url, { id: 'hangs' }), DELIVERY));
  for (let count = 0; count < 20; count += 1)
    t.like(await sender.post(webhookTo(there.url, { id: 'well' }), DELIVERY), { statusCode: 200 });

  t.is(sender.counters.failures['timed-out'], 0);
  sender.cut('hangs');
  t.deepEqual(
    await Promise.all(hung),
    Array.from({ length: 8 }, () => null),
  );
});

test('of several requests to one webhook one that hangs holds up no other', async (t) => {
  const there = await receiver(t, (_request, response, count) => count > 1 && response.end('ok'));
  const sender = posting(t, { connectionsMax: 2, timeoutMs: 30_000 });

  const hung = sender.post(webhookTo(there.url), DELIVERY);
  await until('it has come in', () => there.got.length === 1);
  for (let count = 0; count < 10; count += 1)
    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.connections(), 2);
  sender.cut(webhookTo(there.url).id);
  t.is(await hung, null);
});

test('a connection that its server closed while it was idle is replaced without a failed try', async (t) => {
  const sockets: Socket[] = [];
  const there = await rawReceiver(t, (socket) => {
    sockets.push(socket);
    atEachRequest(socket, () => socket.write(OK));
  });
  const sender = posting(t);

  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  sockets[0]?.end();
  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

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
    const sender = posting(t, { monotonicMs: () => 0 });

    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

    t.is(requests, 3);
    t.like(sender.counters, { posts: 2, resent: 1 });
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
  const sender = posting(t, { monotonicMs: () => 0 });

  for (let count = 0; count < 100; count += 1) {
    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
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
  const sender = posting(t, { connectionsMax: 3, monotonicMs: () => 0 });
  const several = (): Promise<unknown[]> =>
    Promise.all(Array.from({ length: 3 }, () => sender.post(webhookTo(there.url), DELIVERY)));

  t.like(await several(), [{ statusCode: 200 }, { statusCode: 200 }, { statusCode: 200 }]);
  isClosing = true;
  t.like(await several(), [{ statusCode: 200 }, { statusCode: 200 }, { statusCode: 200 }]);

  t.is(there.connections(), 6);
  t.is(sender.counters.resent, 3);
});

test('it goes out on a new connection, not on another kept one, which may be closing too', async (t) => {
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
  const sender = posting(t, { monotonicMs: () => 0 });
  await Promise.all(Array.from({ length: 3 }, () => sender.post(webhookTo(there.url), DELIVERY)));

  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(requests, 5);
  t.is(there.connections(), 4);
});

test('it goes out once more only: a receiver that closes each connection has not answered', async (t) => {
  let requests = 0;
  const there = await rawReceiver(t, (socket) => {
    atEachRequest(socket, () => {
      requests += 1;
      if (requests === 1) socket.write(OK);
      else socket.end();
    });
  });
  const sender = posting(t, { monotonicMs: () => 0 });

  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  t.like(await sender.post(webhookTo(there.url), DELIVERY), {
    type: 'failed',
    error: 'The connection was closed before an answer came.',
  });

  t.is(requests, 3);
});

test('a new connection that closes at once has not met an old one closing: the receiver gets the request once in this try', async (t) => {
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
  const sender = posting(t, { monotonicMs: () => 0 });

  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  await until('the first is closed', () => closed === 1);
  t.like(await sender.post(webhookTo(there.url), DELIVERY), { type: 'failed' });

  t.is(requests, 2);
});

for (const [name, say] of [
  ['had it for a while', ''],
  ['began to answer', 'HTTP/1.1 20'],
] as const) {
  test(`a receiver that ${name} and closed gets it once in this try`, async (t) => {
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
    const sender = posting(t, { monotonicMs: () => nowMs });

    t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
    t.like(await sender.post(webhookTo(there.url), DELIVERY), { type: 'failed' });

    t.is(requests, 2);
  });
}

test('a webhook that is cut ends its requests at once, those on their way, those in line and those before their event is read', async (t) => {
  let closed = 0;
  const there = await rawReceiver(t, (socket) => {
    socket.resume().on('close', () => {
      closed += 1;
    });
  });
  let read = (_body: Uint8Array): void => {};
  const sender = posting(t, {
    connectionsMax: 2,
    bodyOf: (cursor) =>
      cursor === 'slow'
        ? new Promise((resolve) => {
            read = resolve;
          })
        : Promise.resolve(Buffer.from(ENVELOPE)),
  });
  const webhook = webhookTo(there.url);
  const attempts = [
    ...Array.from({ length: 4 }, () => sender.post(webhook, DELIVERY)),
    sender.post(webhook, { ...DELIVERY, cursor: 'slow' }),
  ];
  await until('two are there', () => there.connections() === 2);

  sender.cut(webhook.id);
  read(Buffer.from(ENVELOPE));

  t.deepEqual(await Promise.all(attempts), [null, null, null, null, null]);
  await until('both connections are closed', () => closed === 2);
  t.is(there.connections(), 2);
  t.is(sender.counters.cut, 5);
});

test('a webhook that is cut while its connection is dialled sends nothing', async (t) => {
  let bytes = 0;
  let closed = 0;
  const there = await rawReceiver(t, (socket) =>
    socket
      .on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
      })
      .on('close', () => {
        closed += 1;
      }),
  );
  const connector = createGuard({ allowPrivate: true }).connector();
  let dial = (): void => {};
  const sender = posting(t, {
    connect: (options, callback) => {
      dial = () => {
        connector(options, callback);
      };
    },
  });

  const attempt = sender.post(webhookTo(there.url), DELIVERY);
  await until('it is about to be dialled', () => sender.counters.posts === 1);
  sender.cut(webhookTo(there.url).id);
  dial();

  t.is(await attempt, null);
  await until('the connection that came too late is closed', () => closed === 1);
  t.is(bytes, 0);
});

test('an admin that may not deliver any more sends nothing: not at first, nor after the event was read, nor after the connection was dialled', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  let asked = 0;
  let lastYes = 0;
  const sender = posting(t, {
    mayDeliver: () => {
      asked += 1;
      return asked <= lastYes;
    },
  });

  const attempts: unknown[] = [];
  for (lastYes of [0, 1, 2, 3]) {
    asked = 0;
    attempts.push(await sender.post(webhookTo(there.url), DELIVERY));
  }

  t.deepEqual(attempts, [null, null, null, null]);
  t.is(asked, 4);
  t.is(there.got.length, 0);
  t.is(sender.counters.cut, 4);
});

test('after the end all that is under way comes to null, and nothing is begun', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = posting(t);
  const attempt = sender.post(webhookTo(there.url), DELIVERY);
  await until('it is there', () => there.connections() === 1);

  await sender.close();

  t.is(await attempt, null);
  t.is(await sender.post(webhookTo(there.url), DELIVERY), null);
  t.is(there.connections(), 1);
});

test('over IPv6', async (t) => {
  const there = await receiver(t, (_request, response) => response.end('six'), '::1');

  t.like(await posting(t).post(webhookTo(there.url), DELIVERY), { statusCode: 200, answer: 'six' });
  t.is(there.got[0]?.headers.host, `[::1]:${there.port}`);
});

test('proxies of the environment are not for webhooks', async (t) => {
  const proxy = await rawReceiver(t, (socket) => socket.end());
  const before = { ...process.env };
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'])
    process.env[name] = name.startsWith('NODE') ? '1' : proxy.url;
  t.teardown(() => {
    process.env = before;
  });
  const there = await receiver(t, (_request, response) => response.end());

  t.like(await posting(t).post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  t.is(proxy.connections(), 0);
});
