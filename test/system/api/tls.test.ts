/** The port of HTTPS: who gets in, who is told what, and what a new certificate changes. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, createServer } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createApi } from '../../../api/rest/server.ts';
import type { ServedPair } from '../../../transport/net/tls/certificate-watch.ts';
import { fakePorts, fakeSettings } from '../../support/api/fakes.ts';
import { certificates } from '../../support/net/certificates.ts';
import { listening } from '../../support/net/listening.ts';
import { recordingLog } from '../../support/log.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { scaled } from '../../support/busy.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);
const withCurl = await peerTest('curl');

async function pairIn(directory: string): Promise<ServedPair & { readonly ca: string }> {
  const { ca, server, serverKey } = await certificates(directory);
  const [certificate, key] = [server, serverKey].map((file) => readFileSync(file, 'utf8'));
  return { ca, certificate: certificate ?? '', key: key ?? '', expiresAtMs: 0 };
}

/** An API with a certificate that the test changes. */
async function served(t: ExecutionContext) {
  const pair = await pairIn(temporaryDirectory(t));
  const turnedAway = { plainHttp: 0, failedHandshakes: 0 };
  let show: (other: ServedPair) => void = () => undefined;
  const api = createApi({
    ports: fakePorts(
      { ports: { ask: () => Promise.reject(new Error('nobody is asked')) } },
      { nowMs: () => Date.now(), after: () => () => {} },
    ),
    log: recordingLog(),
    settings: {
      ...fakeSettings({}),
      certificate: {
        pair,
        turnedAway,
        onChange: (changed) => {
          show = changed;
        },
      },
    },
  });
  const url = await api.listen('127.0.0.1', 0);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await api.close();
  };
  t.teardown(close);
  return {
    api,
    pair,
    url,
    port: Number(new URL(url).port),
    turnedAway,
    close,
    show: (other: ServedPair) => show(other),
  };
}

/** What came until the other side closed, and nothing where it is reset. */
async function said(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(bytes);
  return text(socket).catch(() => '');
}

async function handshake(port: number, ca: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: readFileSync(ca), ...options });
  await once(socket, 'secureConnect');
  return socket;
}

withCurl('curl gets in by the certificate of an authority that it knows, and by no other', async (t) => {
  const { url, pair } = await served(t);
  const other = await pairIn(temporaryDirectory(t));
  const curl = (...args: string[]) => run('curl', ['-sS', '--noproxy', '*', ...args, `${url}/livez`]);

  t.regex(url, /^https:\/\/127\.0\.0\.1:\d+$/u);
  t.regex((await curl('--cacert', pair.ca)).stdout, /"name":"process","healthy":true/u);
  await t.throwsAsync(curl('--cacert', other.ca), { message: /certificate/u });
});

test('TLS 1.2 and 1.3 are spoken, and nothing older', async (t) => {
  const { port, pair, turnedAway } = await served(t);

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await handshake(port, pair.ca, { minVersion: version, maxVersion: version });
    t.is(socket.getProtocol(), version);
    socket.end().resume();
    await once(socket, 'close');
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
  await t.throwsAsync(handshake(port, pair.ca, old), { message: /protocol version|ECONNRESET|disconnected/u });
  t.is(turnedAway.failedHandshakes, 1);
});

test('whoever speaks plain HTTP is told the URL of HTTPS in an answer that ends', async (t) => {
  const { port, turnedAway } = await served(t);

  const told = await said(port, 'GET /readyz HTTP/1.1\r\nHost: edge.example:44000\r\n\r\n');
  const hostile = await said(port, 'GET / HTTP/1.1\r\nHost: a"<script>\r\n\r\n');

  t.regex(told, /^HTTP\/1\.1 400 Bad Request\r\nconnection: close\r\n/u);
  t.regex(told, /"message":"This port speaks HTTPS only: use https:\/\/edge\.example:44000\."/u);
  t.regex(hostile, /"message":"This port speaks HTTPS only: use a URL that begins with https:\/\/\."/u);
  t.is(turnedAway.plainHttp, 2);
});

test('bytes that are neither are hung up on, as is a broken handshake', async (t) => {
  const { port, turnedAway } = await served(t);

  t.is(await said(port, Buffer.from([0, 1, 2, 3])), '');
  t.notRegex(await said(port, Buffer.concat([Buffer.from([0x16, 3, 1, 0, 4]), Buffer.from('junk')])), /HTTP/u);
  t.is(turnedAway.failedHandshakes, 1);
});

test('a first byte that comes alone is no reason to hang up', async (t) => {
  const { port, pair } = await served(t);
  const splitting = createServer((near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [near, far]) socket.on('error', () => {});
    near.once('close', () => far.destroy());
    far.pipe(near);
    near.once('data', (first: Buffer) => {
      far.write(first.subarray(0, 1));
      setTimeout(() => {
        far.write(first.subarray(1));
        near.pipe(far);
      }, 50);
    });
  });

  const socket = await handshake(await listening(t, splitting), pair.ca);

  t.is(socket.getProtocol(), 'TLSv1.3');
  socket.destroy();
});

test('another certificate is shown to those who come then; a connection that is open goes on', async (t) => {
  const { url, port, pair, show } = await served(t);
  const other = await pairIn(temporaryDirectory(t));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(pair.ca) });
  t.teardown(() => agent.destroy());
  const ask = async (): Promise<{ readonly status: number | undefined; readonly port: number | undefined }> => {
    const asked = request(`${url}/livez`, { agent }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const localPort = answer.socket.localPort;
    await text(answer);
    return { status: answer.statusCode, port: localPort };
  };

  const before = await ask();
  show(other);
  const after = await ask();

  t.deepEqual([before.status, after], [200, before]);
  await t.throwsAsync(handshake(port, pair.ca), { message: /self-signed|unable to verify|signature/iu });
  const fresh = await handshake(port, other.ca);
  t.true(fresh.authorized);
  fresh.destroy();
});

test('the end does not wait for those who say nothing, nor for handshakes that stand still', async (t) => {
  const { api, port, close } = await served(t);
  const silent = connect(port, '127.0.0.1');
  const halfway = connect(port, '127.0.0.1');
  for (const socket of [silent, halfway]) socket.on('error', () => {}).resume();
  await Promise.all([once(silent, 'connect'), once(halfway, 'connect')]);
  halfway.write(Buffer.from([0x16, 3, 1, 2, 0]));
  await until('both at the server', () => promisify(api.server.getConnections.bind(api.server))().then((n) => n === 2));
  const startedMs = performance.now();

  await close();

  t.true(performance.now() - startedMs < scaled(8_000), 'CLOSE_GRACE_MS is 5 s');
});
