/** Webhooks to receivers behind TLS: whom a delivery trusts. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { createGuard } from '../../../transport/net/outbound-guard/guard.ts';
import { certificates, type Certificates } from '../../support/net/certificates.ts';
import { listening } from '../../support/net/listening.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { DELIVERY, fails, webhookSender, rawReceiver, webhookTo } from '../../support/webhooks/webhook-receivers.ts';

const run = promisify(execFile);
const scope = createScope();
const directory = temporaryDirectory(scope);
let made: Certificates;

test.before(async () => {
  made = await certificates(directory);
});

test.after.always(() => scope.end());

/** A server with a certificate for localhost, 127.0.0.1 and ::1. */
const tlsServer = async () =>
  createServer({ key: await readFile(made.serverKey), cert: await readFile(made.server) }, (_request, response) =>
    response.end('over TLS'),
  );

/** A guard for loopback whose connector trusts the tests' authority, and knows one more name for it. */
async function trusting(): Promise<ReturnType<ReturnType<typeof createGuard>['connector']>> {
  return createGuard({ allowPrivate: true, resolve: () => Promise.resolve(['127.0.0.1']) }).connector({
    ca: await readFile(made.ca, 'utf8'),
  });
}

test('TLS is verified', async (t) => {
  const port = await listening(t, await tlsServer(), '::');
  const connect = await trusting();
  const sender = webhookSender(t, { connect });

  t.like(await sender.send(webhookTo(`https://localhost:${port}/`), DELIVERY), {
    type: 'answered',
    statusCode: 200,
    answer: 'over TLS',
  });
  t.like(await sender.send(webhookTo(`https://[::1]:${port}/`, { id: 'w2' }), DELIVERY), {
    type: 'answered',
    statusCode: 200,
  });
  await fails(t, sender, `https://other.example:${port}/`, 'The certificate is for another host.', 'w3');
  const unknown = 'The certificate comes from no known authority, or its chain is not complete.';
  await fails(t, webhookSender(t), `https://localhost:${port}/`, unknown);
});

for (const [name, days, error] of [
  ['that it made itself', '2', 'The certificate is self-signed.'],
  ['that has expired', '-1', 'The certificate has expired.'],
] as const) {
  test(`a server with a certificate ${name} is not trusted`, async (t) => {
    const at = (part: string) => join(directory, `${days}-${part}.pem`);
    const [key, asked, cert] = [at('key'), at('asked'), at('cert')];
    const ask = 'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj /CN=localhost'.split(' ');
    await run('openssl', [...ask, '-keyout', key, '-out', asked]);
    await run('openssl', ['x509', '-req', '-in', asked, '-signkey', key, '-days', days, '-out', cert]);
    const ca = days === '2' ? made.ca : cert;
    let requests = 0;
    const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) => {
      requests += 1;
      response.end();
    });
    const port = await listening(t, server);
    const sender = webhookSender(t, {
      connect: createGuard({ allowPrivate: true }).connector({ ca: await readFile(ca, 'utf8') }),
    });

    await fails(t, sender, `https://localhost:${port}/`, error);
    t.is(requests, 0);
  });
}

test('a server that speaks no TLS where it is wanted is told apart from one that speaks only HTTP/2', async (t) => {
  const plain = await rawReceiver(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  );
  const h2 = createSecureServer({
    key: await readFile(made.serverKey),
    cert: await readFile(made.server),
    ALPNProtocols: ['h2'],
  });
  const sender = webhookSender(t, { connect: await trusting() });
  const noTls =
    'The TLS handshake failed: the server speaks no TLS here, or no version, cipher or protocol that both know.';
  const noHttp = 'What came was no HTTP/1.1 answer.';

  await fails(t, sender, plain.url.replace('http', 'https'), noTls, 'w1');
  await fails(t, sender, `https://localhost:${await listening(t, h2)}/`, noTls, 'w2');
  await fails(t, sender, `http://127.0.0.1:${await listening(t, createHttp2Server())}/`, noHttp, 'w3');
});
