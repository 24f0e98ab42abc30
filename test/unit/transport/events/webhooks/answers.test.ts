import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { ANSWER_BODY_MS_MAX } from '../../../../../transport/events/webhooks/limits.ts';
import { until } from '../../../../support/until.ts';
import {
  DELIVERY,
  NOW_MS,
  webhookSender,
  rawReceiver,
  receiver,
  webhookTo,
} from '../../../../support/webhooks/webhook-receivers.ts';

/** What a raw server says once it has seen the end of the request. */
function afterRequest(socket: Socket, say: () => void): void {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (!text.endsWith('}')) return;
    text = '';
    say();
  });
}

function drip(socket: Socket): void {
  const dripping = setInterval(() => socket.write('.'), 40);
  socket.on('close', () => {
    clearInterval(dripping);
  });
}

for (const status of [200, 204, 400, 410, 429, 500]) {
  test(`${status} is an answer`, async (t) => {
    const there = await receiver(t, (_request, response) =>
      response.writeHead(status).end(status === 204 ? '' : `it is ${status}`),
    );

    t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), {
      type: 'answered',
      statusCode: status,
      retryAfterMs: null,
      answer: status === 204 ? '' : `it is ${status}`,
    });
  });
}

test('Retry-After is taken in seconds and as a date, and nonsense is not', async (t) => {
  const retryAfters = [
    '7',
    new Date(Math.floor(NOW_MS / 1_000) * 1_000 + 30_000).toUTCString(),
    'Sunday, 06-Nov-94 08:49:37 GMT',
    '86400',
    '99999999999999999999999',
    '-5',
    'soon',
    '1e3',
    '2027-01-01',
    '',
  ];
  const there = await receiver(t, (_request, response, count) =>
    response.writeHead(503, { 'Retry-After': retryAfters[count - 1] }).end(),
  );
  const sender = webhookSender(t);

  const taken: unknown[] = [];
  while (taken.length < retryAfters.length) {
    const attempt = await sender.send(webhookTo(there.url), DELIVERY);
    taken.push(attempt?.type === 'answered' ? attempt.retryAfterMs : attempt);
  }

  t.deepEqual(taken, [7_000, 29_500, 0, 900_000, 900_000, null, null, null, null, null]);
});

test('a redirect is an answer, and where it points to gets no packet', async (t) => {
  const elsewhere = await receiver(t, (_request, response) => response.end());
  const there = await receiver(t, (_request, response) =>
    response.writeHead(307, { Location: elsewhere.url }).end('over there'),
  );

  t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), {
    type: 'answered',
    statusCode: 307,
    answer: 'over there',
  });
  t.is(elsewhere.connections(), 0);
});

test('a receiver that takes long to accept the body gets all of it', async (t) => {
  const body = JSON.stringify({ output: 'x'.repeat(3_000_000) });
  const got: Buffer[] = [];
  const there = await rawReceiver(t, (socket) => {
    socket.pause();
    setTimeout(() => socket.resume(), 150);
    socket.on('data', (chunk: Buffer) => {
      got.push(chunk);
      if (chunk.at(-1) === 0x7d) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
  });

  t.like(
    await webhookSender(t, { bodyOf: () => Promise.resolve(Buffer.from(body)) }).send(webhookTo(there.url), DELIVERY),
    {
      type: 'answered',
      statusCode: 200,
    },
  );
  t.true(Buffer.concat(got).toString().endsWith(`\r\n\r\n${body}`));
});

test('102 and 103 before an answer are none', async (t) => {
  const there = await rawReceiver(t, (socket) => {
    afterRequest(socket, () =>
      socket.write(
        'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok',
      ),
    );
  });

  t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), {
    type: 'answered',
    statusCode: 201,
    answer: 'ok',
  });
});

for (const [name, rest] of [
  ['is cut', 'half'],
  ['drips', null],
  ['is garbage', 'ZZ\r\n\r\n'],
] as const) {
  test(`a 200 whose body ${name} is a 200`, async (t) => {
    const there = await rawReceiver(t, (socket) => {
      afterRequest(socket, () => {
        socket.write(
          name === 'is garbage'
            ? 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
            : 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n',
        );
        if (rest === null) drip(socket);
        else socket.end(rest);
      });
    });
    const startedMs = performance.now();

    const attempt = await webhookSender(t).send(webhookTo(there.url), DELIVERY);

    t.like(attempt, { type: 'answered', statusCode: 200 });
    if (name === 'drips')
      t.true(
        (attempt?.durationMs ?? Infinity) + ANSWER_BODY_MS_MAX <= performance.now() - startedMs + 5,
        'the time to the answer, not to the end of its body',
      );
  });
}

test('of a body of 100 MB the first 4 KiB are kept, and the rest is not read', async (t) => {
  let written = 0;
  const there = await receiver(t, (_request, response) => {
    response.writeHead(200);
    const block = Buffer.alloc(1_000_000, 'ab');
    const more = (): void => {
      while (written < 100 && !response.destroyed && response.write(block)) written += 1;
      if (written < 100 && !response.destroyed)
        response.once('drain', () => {
          written += 1;
          more();
        });
    };
    more();
  });
  const sender = webhookSender(t);

  const attempt = await sender.send(webhookTo(there.url), DELIVERY);

  t.is(attempt?.type === 'answered' ? attempt.answer : null, 'ab'.repeat(2_048));
  t.true(written < 50, `${written} MB went out`);
  t.like(
    await sender.send(webhookTo(there.url), DELIVERY),
    { type: 'answered', statusCode: 200 },
    'and the next request finds a connection',
  );
});

test('the kept text is at most 4 KiB of UTF-8, without NUL, half characters and wrong bytes', async (t) => {
  const bodies = [
    Buffer.from('東'.repeat(2_000)),
    Buffer.alloc(5_000, 0xff),
    Buffer.from('a\0b'),
    Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xc3]),
  ];
  const there = await receiver(t, (_request, response, count) => response.end(bodies[count - 1]));
  const sender = webhookSender(t);

  const kept: unknown[] = [];
  while (kept.length < bodies.length) {
    const attempt = await sender.send(webhookTo(there.url), DELIVERY);
    kept.push(attempt?.type === 'answered' ? attempt.answer : attempt);
  }

  t.deepEqual(kept, ['東'.repeat(1_365), '\uFFFD'.repeat(1_365), 'ab', '\uFEFFa\uFFFD']);
});

test('an answer that came in time counts, also when this process was held up until after', async (t) => {
  const timeoutMs = 2_000;
  // 1: the request is in, 2: the answer is out, or its connection is gone
  const steps = new Int32Array(new SharedArrayBuffer(4));
  const there = new Worker(
    `
    const { createServer } = require('node:http');
    const { parentPort, workerData } = require('node:worker_threads');
    const step = (number) => { Atomics.store(workerData, 0, number); Atomics.notify(workerData, 0); };
    const server = createServer((request, response) => request.resume().on('end', () => {
      response.on('close', () => step(2));
      step(1);
      setTimeout(() => response.end('in time'), 50);
    }));
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
  `,
    { eval: true, workerData: steps },
  );
  t.teardown(async () => void (await there.terminate()));
  const [port] = (await once(there, 'message')) as [number];

  const attempt = webhookSender(t, { timeoutMs }).send(webhookTo(`http://127.0.0.1:${port}/`), DELIVERY);
  await until('the request is in', () => Atomics.load(steps, 0) > 0);
  await immediate(); // what runs next in the event loop are timers
  Atomics.wait(steps, 0, 1);
  Atomics.wait(steps, 0, 2, timeoutMs);

  t.like(await attempt, { type: 'answered', statusCode: 200, answer: 'in time' });
});

test('a compressed answer is kept as it came: nothing is unpacked', async (t) => {
  const there = await receiver(t, (_request, response) =>
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('not gzip at all'),
  );

  t.like(await webhookSender(t).send(webhookTo(there.url), DELIVERY), { answer: 'not gzip at all' });
  t.is(there.got[0]?.headers['accept-encoding'], undefined);
});
