import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createTlsServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createGuard } from '../../../transport/net/guard/guard.ts';
import { certificates, type Certificates } from '../../support/certificates.ts';
import { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { DELIVERY, ENVELOPE, posting, rawReceiver, receiver, webhookTo } from '../../support/webhook-receivers.ts';
import { listening } from '../../support/listening.ts';

const CLOSED = 'The connection was closed before an answer came.';
const NO_HTTP = 'What came was no HTTP/1.1 answer.';

const run = promisify(execFile);

let made: Certificates;
let directory: string;

test.before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'edge-webhooks-'));
  made = await certificates(directory);
});

test.after.always(() => rm(directory, { recursive: true, force: true }));

/** A TLS server with a certificate for localhost, 127.0.0.1 and ::1. */
async function tlsReceiver(t: ExecutionContext): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createTlsServer(
    { key: await readFile(made.serverKey), cert: await readFile(made.server) },
    (_request, response) => response.end('over TLS'),
  );
  await once(server.listen(0, '::'), 'listening');
  t.teardown(() => {
    server.close().closeAllConnections();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** A guard for loopback whose connector trusts the tests' authority, and knows one more name for it. */
async function trusting(): Promise<ReturnType<ReturnType<typeof createGuard>['connector']>> {
  return createGuard({ allowPrivate: true, resolve: () => Promise.resolve(['127.0.0.1']) }).connector({
    ca: await readFile(made.ca, 'utf8'),
  });
}

test('a receiver that never answers costs the time limit', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = posting(t, { timeoutMs: 1_000 });

  const attempt = await sender.post(webhookTo(there.url), DELIVERY);

  t.like(attempt, { type: 'failed', error: 'No answer came within 1000 ms.' });
  t.true((attempt?.durationMs ?? 0) >= 999);
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
  const sender = posting(t, { timeoutMs: 1_000 });

  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });
  t.like(await sender.post(webhookTo(there.url), DELIVERY), {
    type: 'failed',
    error: 'No answer came within 1000 ms.',
  });
  t.like(await sender.post(webhookTo(there.url), DELIVERY), { statusCode: 200 });

  t.is(there.connections(), 2);
});

test('headers that come byte by byte are no answer when the time is over', async (t) => {
  const there = await rawReceiver(t, (socket) => {
    const text = 'HTTP/1.1 200 OK\r\nx-slow: yes\r\ncontent-length: 0\r\n\r\n';
    let at = 0;
    const dripping = setInterval(() => socket.write(text[at++ % text.length] ?? ''), 20);
    socket
      .on('close', () => {
        clearInterval(dripping);
      })
      .resume();
  });

  t.like(await posting(t, { timeoutMs: 1_000 }).post(webhookTo(there.url), DELIVERY), {
    type: 'failed',
    error: 'No answer came within 1000 ms.',
  });
});

test('a connection that does not open costs the time limit', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume()); // no TLS here: the handshake hangs

  t.like(await posting(t, { timeoutMs: 250 }).post(webhookTo(there.url.replace('http', 'https')), DELIVERY), {
    type: 'failed',
    error: 'The connection was not open within 250 ms.',
  });
});

for (const [name, said, error] of [
  ['closes before a byte', '', CLOSED],
  ['closes in the status line', 'HTTP/1.1 2', CLOSED],
  ['closes in the headers', 'HTTP/1.1 200 OK\r\nx-half: ye', CLOSED],
  ['talks another protocol', 'SSH-2.0-OpenSSH_9.2p1\r\n', NO_HTTP],
  ['sends garbage', '\u0001\u0002\u0003\u00FF\u00FE'.repeat(100), NO_HTTP],
  ['answers in HTTP/0.9', '<html>hello</html>', NO_HTTP],
  ['smuggles a length', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy', NO_HTTP],
  [
    'sends 64 KiB of headers',
    `HTTP/1.1 200 OK\r\nx-big: ${'b'.repeat(65_536)}\r\n\r\n`,
    'The headers of the answer were too large.',
  ],
  [
    'sends 64 KiB of small headers',
    `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(11_000)}\r\n`,
    'The headers of the answer were too large.',
  ],
  [
    'switches protocols',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    'The answer was a switch of protocols, or a 100, which nobody asked for.',
  ],
] as const) {
  test(`a receiver that ${name} has not answered`, async (t) => {
    const there = await rawReceiver(t, (socket) => socket.once('data', () => socket.end(said, 'latin1')));

    t.like(await posting(t).post(webhookTo(there.url), DELIVERY), { type: 'failed', error });
    t.is(there.connections(), 1, 'one try is one request');
  });
}

test('a receiver that resets has not answered', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));

  t.like(await posting(t).post(webhookTo(there.url), DELIVERY), { type: 'failed', error: CLOSED });
});

test('nobody at the port', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  there.server.close();

  t.like(await posting(t).post(webhookTo(there.url), DELIVERY), {
    type: 'failed',
    error: 'The connection was refused.',
  });
});

test('what the guard refuses is not dialled, and the sentence says so', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const guard = createGuard({ allowPrivate: false, resolve: () => Promise.resolve(['10.1.2.3']) });
  const sender = posting(t, { connect: guard.connector() });

  for (const [id, url] of [
    ['w1', there.url],
    ['w2', 'http://rebound.example/'],
  ] as const) {
    const verdict = await guard.check(url);
    t.like(await sender.post(webhookTo(url, { id }), DELIVERY), {
      type: 'failed',
      error: verdict.ok ? '' : verdict.reason,
    });
  }
  t.is(there.connections(), 0);
  t.is(sender.counters.failures['address-refused'], 2);
});

test('a name without an address', async (t) => {
  const sender = posting(t, {
    connect: createGuard({ allowPrivate: true, resolve: () => Promise.resolve([]) }).connector(),
  });

  t.like(await sender.post(webhookTo('https://gone.example/'), DELIVERY), {
    type: 'failed',
    error: 'gone.example has no address.',
  });
});

test('TLS is verified', async (t) => {
  const { port } = await tlsReceiver(t);
  const connect = await trusting();
  const sender = posting(t, { connect });

  t.like(await sender.post(webhookTo(`https://localhost:${port}/`), DELIVERY), {
    type: 'answered',
    statusCode: 200,
    answer: 'over TLS',
  });
  t.like(await sender.post(webhookTo(`https://[::1]:${port}/`, { id: 'w2' }), DELIVERY), {
    type: 'answered',
    statusCode: 200,
  });
  t.like(await sender.post(webhookTo(`https://other.example:${port}/`, { id: 'w3' }), DELIVERY), {
    type: 'failed',
    error: 'The certificate is for another host.',
  });
  t.like(await posting(t).post(webhookTo(`https://localhost:${port}/`), DELIVERY), {
    type: 'failed',
    error: 'The certificate comes from no known authority, or its chain is not complete.',
  });
});

for (const [name, days, error] of [
  ['that it made itself', '2', 'The certificate is self-signed.'],
  ['that has expired', '-1', 'The certificate has expired.'],
] as const) {
  test(`a server with a certificate ${name} is not trusted`, async (t) => {
    const [key, asked, cert] = ['key', 'asked', 'cert'].map((part) => join(directory, `${days}-${part}.pem`)) as [
      string,
      string,
      string,
    ];
    await run('openssl', [
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-noenc',
      '-subj',
      '/CN=localhost',
      '-keyout',
      key,
      '-out',
      asked,
    ]);
    await run('openssl', ['x509', '-req', '-in', asked, '-signkey', key, '-days', days, '-out', cert]);
    const ca = days === '2' ? made.ca : cert;
    const server = createTlsServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) =>
      response.end(),
    );
    const port = await listening(t, server);
    let requests = 0;
    server.on('request', () => {
      requests += 1;
    });
    const sender = posting(t, {
      connect: createGuard({ allowPrivate: true }).connector({ ca: await readFile(ca, 'utf8') }),
    });

    t.like(await sender.post(webhookTo(`https://localhost:${port}/`), DELIVERY), {
      type: 'failed',
      error,
    });
    t.is(requests, 0);
  });
}

test('a server that speaks no TLS where it is wanted, and one that speaks only HTTP/2', async (t) => {
  const plain = await rawReceiver(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  );
  const h2 = createSecureServer({
    key: await readFile(made.serverKey),
    cert: await readFile(made.server),
    ALPNProtocols: ['h2'],
  });
  await listening(t, h2);
  const h2c = createHttp2Server();
  await listening(t, h2c);
  const sender = posting(t, { connect: await trusting(), timeoutMs: 5_000 });
  const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

  const attempts = [
    await sender.post(webhookTo(plain.url.replace('http', 'https'), { id: 'w1' }), DELIVERY),
    await sender.post(webhookTo(`https://localhost:${portOf(h2)}/`, { id: 'w2' }), DELIVERY),
    await sender.post(webhookTo(`http://127.0.0.1:${portOf(h2c)}/`, { id: 'w3' }), DELIVERY),
  ];

  t.deepEqual(
    attempts.map((attempt) => (attempt?.type === 'failed' ? attempt.error : attempt)),
    [
      'The TLS handshake failed: the server speaks no TLS here, or no version, cipher or protocol that both know.',
      'The TLS handshake failed: the server speaks no TLS here, or no version, cipher or protocol that both know.',
      NO_HTTP,
    ],
  );
});

test('an event that is gone is a failed try, and a database that does not answer is none', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  let reads = 0;
  const log = recordingLog();
  const sender = posting(t, {
    log,
    bodyOf: (cursor) => {
      reads += 1;
      if (cursor === 'gone') return Promise.resolve(null);
      return reads === 2 ? Promise.reject(new Error('no database')) : Promise.resolve(Buffer.from(ENVELOPE));
    },
  });

  t.like(await sender.post(webhookTo(there.url), { ...DELIVERY, cursor: 'gone' }), {
    type: 'failed',
    error: 'The event is older than events are kept.',
  });
  t.like(await sender.post(webhookTo(there.url), DELIVERY), { type: 'answered', statusCode: 200 });
  t.is(reads, 3);
  t.is(there.got.length, 1);
  t.deepEqual(
    log.lines.map(({ message }) => message),
    ['an event could not be read for its webhooks'],
  );
});

test('a secret that was sealed under another key is a failed try, and the log names the webhook and no secret', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const log = recordingLog();
  const sender = posting(t, { log });

  t.like(await sender.post({ ...webhookTo(there.url), id: 'another' }, DELIVERY), {
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
  const sender = posting(t, { connect: guard.connector() });

  const attempts = await Promise.all(
    [nobody, closing].map(({ port }, at) =>
      sender.post(webhookTo(`http://user.example:${port}/?token=t0ken`, { id: `w${at}` }), DELIVERY),
    ),
  );

  await until(
    'both counted',
    () => sender.counters.failures['connection-refused'] === 1 && sender.counters.failures.closed === 1,
  );
  t.notRegex(JSON.stringify(attempts), /127\.0\.0\.1|t0ken|user\.example/u);
});
