/** Tries of a webhook that fail: what the receiver did, in a sentence that repeats nothing secret. */
import test from 'ava';
import { createGuard } from '../../../transport/net/outbound-guard/guard.ts';
import { scaled } from '../../support/busy.ts';
import { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import {
  DELIVERY,
  ENVELOPE,
  fails,
  webhookSender,
  rawReceiver,
  receiver,
  webhookTo,
} from '../../support/webhooks/webhook-receivers.ts';

const CLOSED = 'The connection was closed before an answer came.';

/** Timeout of one answer, in ms: a receiver that answers does so within it, also on a busy machine. */
const TIMEOUT_MS = scaled(3_000);
const NO_ANSWER = `No answer came within ${TIMEOUT_MS} ms.`;
const NO_HTTP = 'What came was no HTTP/1.1 answer.';
const TOO_LARGE = 'The headers of the answer were too large.';

test('a receiver that never answers costs the time limit', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = webhookSender(t, { timeoutMs: TIMEOUT_MS });

  const attempt = await fails(t, sender, there.url, NO_ANSWER);

  t.true((attempt?.durationMs ?? 0) >= TIMEOUT_MS - 1);
  t.is(sender.counters.failures['timed-out'], 1);
});

test('a connection on which nothing came is not used again', async (t) => {
  let count = 0;
  const there = await rawReceiver(t, (socket, connection) =>
    socket.on('data', () => {
      count += 1;
      if (count === 1 || connection > 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    }),
  );
  const sender = webhookSender(t, { timeoutMs: TIMEOUT_MS });

  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  await fails(t, sender, there.url, NO_ANSWER);
  t.like(await sender.send(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.connections(), 2);
});

test('headers that come byte by byte are no answer when the time is over', async (t) => {
  const there = await rawReceiver(t, (socket) => {
    const text = 'HTTP/1.1 200 OK\r\nx-slow: yes\r\ncontent-length: 0\r\n\r\n';
    let at = 0;
    const dripping = setInterval(() => socket.write(text[at++ % text.length] ?? ''), TIMEOUT_MS / 25);
    socket.on('close', () => clearInterval(dripping)).resume();
  });

  await fails(t, webhookSender(t, { timeoutMs: TIMEOUT_MS }), there.url, NO_ANSWER);
});

test('a connection that does not open costs the time limit', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume()); // no TLS here: the handshake hangs

  const late = 'The connection was not open within 250 ms.';
  await fails(t, webhookSender(t, { timeoutMs: 250 }), there.url.replace('http', 'https'), late);
});

for (const [name, said, error] of [
  ['closes before a byte', '', CLOSED],
  ['closes in the status line', 'HTTP/1.1 2', CLOSED],
  ['closes in the headers', 'HTTP/1.1 200 OK\r\nx-half: ye', CLOSED],
  ['talks another protocol', 'SSH-2.0-OpenSSH_9.2p1\r\n', NO_HTTP],
  ['sends garbage', '\u0001\u0002\u0003\u00FF\u00FE'.repeat(100), NO_HTTP],
  ['answers in HTTP/0.9', '<html>hello</html>', NO_HTTP],
  ['smuggles a length', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy', NO_HTTP],
  ['sends 64 KiB of headers', `HTTP/1.1 200 OK\r\nx-big: ${'b'.repeat(65_536)}\r\n\r\n`, TOO_LARGE],
  ['sends 64 KiB of small headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(11_000)}\r\n`, TOO_LARGE],
  [
    'switches protocols',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    'The answer was a switch of protocols, or a 100, which nobody asked for.',
  ],
] as const) {
  test(`a receiver that ${name} has not answered`, async (t) => {
    const there = await rawReceiver(t, (socket) => socket.once('data', () => socket.end(said, 'latin1')));

    await fails(t, webhookSender(t), there.url, error);
    t.is(there.connections(), 1, 'one try is one request');
  });
}

test('a receiver that resets has not answered', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));

  await fails(t, webhookSender(t), there.url, CLOSED);
});

test('a port where nobody listens refuses the connection', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  there.server.close();

  await fails(t, webhookSender(t), there.url, 'The connection was refused.');
});

test('what the guard refuses is not dialled, and the sentence says so', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const guard = createGuard({ allowPrivate: false, resolve: () => Promise.resolve(['10.1.2.3']) });
  const sender = webhookSender(t, { connect: guard.connector() });

  for (const [id, url] of [
    ['w1', there.url],
    ['w2', 'http://rebound.example/'],
  ] as const) {
    const verdict = await guard.check(url);
    await fails(t, sender, url, verdict.ok ? '' : verdict.reason, id);
  }
  t.is(there.connections(), 0);
  t.is(sender.counters.failures['address-refused'], 2);
});

test('a name without an address is told as such', async (t) => {
  const sender = webhookSender(t, {
    connect: createGuard({ allowPrivate: true, resolve: () => Promise.resolve([]) }).connector(),
  });

  await fails(t, sender, 'https://gone.example/', 'gone.example has no address.');
});

test('an event that is gone is a failed try, and a database that does not answer is none', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  let reads = 0;
  const log = recordingLog();
  const sender = webhookSender(t, {
    log,
    bodyOf: (cursor) => {
      reads += 1;
      if (cursor === 'gone') return Promise.resolve(null);
      return reads === 2 ? Promise.reject(new Error('no database')) : Promise.resolve(Buffer.from(ENVELOPE));
    },
  });

  t.like(await sender.send(webhookTo(there.url), { ...DELIVERY, cursor: 'gone' }), {
    type: 'failed',
    error: 'The event is older than events are kept.',
  });
  t.like(await sender.send(webhookTo(there.url), DELIVERY), { type: 'answered', statusCode: 200 });
  t.is(reads, 3);
  t.is(there.got.length, 1);
  t.deepEqual(
    log.lines.map(({ message }) => message),
    ['an event could not be read for its webhooks'],
  );
});

test('events that could not be read together are read again one after the other', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const reads: string[] = [];
  const jitters = [1, 0];
  const sender = webhookSender(t, {
    random: () => jitters.shift() ?? 0,
    bodyOf: (cursor) => {
      reads.push(cursor);
      return reads.length <= 2 ? Promise.reject(new Error('no database')) : Promise.resolve(Buffer.from(ENVELOPE));
    },
  });

  await Promise.all(['1-1', '1-2'].map((cursor) => sender.send(webhookTo(there.url), { ...DELIVERY, cursor })));

  t.deepEqual(reads, ['1-1', '1-2', '1-2', '1-1']);
});

test('a secret that was sealed under another key is a failed try, and the log names the webhook and no secret', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const log = recordingLog();
  const sender = webhookSender(t, { log });

  t.like(await sender.send({ ...webhookTo(there.url), id: 'another' }, DELIVERY), {
    type: 'failed',
    error: 'The webhook could not be opened: its secret was stored under another key.',
  });
  t.is(there.connections(), 0);
  t.like(log.lines, [{ level: 'error', fields: { webhook: 'another' } }]);
});

test('no failure names an address that nobody wrote', async (t) => {
  const guard = createGuard({ allowPrivate: true, resolve: () => Promise.resolve(['127.0.0.1']) });
  const nobody = await receiver(t, (_request, response) => response.end());
  nobody.server.close();
  const closing = await rawReceiver(t, (socket) => socket.once('data', () => socket.end()));
  const sender = webhookSender(t, { connect: guard.connector() });

  const attempts = await Promise.all(
    [nobody, closing].map(({ port }, at) =>
      sender.send(webhookTo(`http://user.example:${port}/?token=t0ken`, { id: `w${at}` }), DELIVERY),
    ),
  );

  await until(
    'both counted',
    () => sender.counters.failures['connection-refused'] === 1 && sender.counters.failures.closed === 1,
  );
  t.notRegex(JSON.stringify(attempts), /127\.0\.0\.1|t0ken|user\.example/u);
});
