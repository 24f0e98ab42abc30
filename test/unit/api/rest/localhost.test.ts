/** An admin that listens on localhost serves 127.0.0.1 and ::1 alike: by one server, with all that holds for it. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { HEADERS_MAX } from '../../../../api/rest/app.ts';
import { createApi } from '../../../../api/rest/server.ts';
import { PIPELINED_REQUESTS_MAX } from '../../../../transport/net/streams/pipelining.ts';
import type { ServedPair } from '../../../../transport/net/tls/certificate-watch.ts';
import { selfSigned } from '../../../../transport/vpn/relay/self-signed.ts';
import { fakePorts, fakeSettings, type FakeOptions } from '../../../support/api/fakes.ts';
import { recordingLog } from '../../../support/log.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { listening } from '../../../support/net/listening.ts';

const BOTH = ['127.0.0.1', '::1'] as const;

const ASKED = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n';
const LAST = 'Connection: close\r\n\r\n';

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === '::1');

/** Only where this machine has both addresses: elsewhere its title says that it was left out, and why. */
function withBoth(title: string, run: (t: ExecutionContext) => Promise<void>): void {
  if (hasIpv6) test(title, run);
  else test.skip(`${title} (left out: this machine has no ::1)`, run);
}

const portOf = (url: string): number => Number(new URL(url).port);

/** An API that listens there until the test ends. */
async function servedAt(
  t: ExecutionContext,
  [host, port = 0]: readonly [string, number?],
  options: Pick<FakeOptions, 'settings' | 'gate'> = {},
) {
  const log = recordingLog();
  const ask = () => Promise.reject(new Error('nobody is asked'));
  const ports = fakePorts({ ports: { ask } }, { nowMs: () => 0, after: () => () => {} });
  const api = createApi({ ports, log, settings: fakeSettings(options) });
  const url = await api.listen(host, port);
  t.teardown(() => api.close());
  return { api, url, log };
}

function dial(port: number, host: string): Socket {
  return connect({ port, host }).on('error', () => {});
}

/** What is said there until it is closed, in any way. */
async function said(port: number, host: string, words: string): Promise<string> {
  const socket = dial(port, host);
  let answer = '';
  socket.on('data', (piece: Buffer) => {
    answer += piece.toString();
  });
  socket.write(words);
  await new Promise((resolve) => void socket.once('close', resolve));
  return answer;
}

/** Whether somebody takes the connection, or why not. */
function greeted(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    socket.once('connect', () => {
      socket.destroy();
      resolve('connected');
    });
  });
}

withBoth(
  'what bounds and answers requests at 127.0.0.1 does so at ::1 where an admin listens on localhost',
  async (t) => {
    const { url } = await servedAt(t, ['localhost'], {
      settings: { trustedProxies: [...BOTH] },
      gate: { failuresPerMinuteMax: 1 },
    });
    const headers = Array.from({ length: HEADERS_MAX - 2 }, (_, at) => `x-${at}: 1\r\n`).join('');
    const wrong = (client: string) =>
      `GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nX-Forwarded-For: ${client}\r\n${LAST}`;
    const count = (answer: string): number => answer.split('HTTP/1.1 200').length - 1;

    t.is(url, `http://127.0.0.1:${portOf(url)}`);
    for (const [at, host] of BOTH.entries()) {
      const ask = (words: string): Promise<string> => said(portOf(url), host, words);
      t.is(count(await ask(`${ASKED}${LAST}`)), 1, host);
      t.true(count(await ask(`${ASKED}\r\n`.repeat(PIPELINED_REQUESTS_MAX + 1))) <= PIPELINED_REQUESTS_MAX, host);
      t.regex(await ask(`${ASKED}${headers}${LAST}`), /^HTTP\/1\.1 400 [^]*too many headers/u, host);
      t.regex(await ask('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'), /^HTTP\/1\.1 405 /u, host);
      t.regex(
        await ask(`GET /nope HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`),
        / 404 /u,
      );
      t.regex(await ask(wrong(`192.0.2.${at}`)), / 401 /u, host);
      t.regex(await ask(wrong(`192.0.2.${at}`)), / 429 /u, host);
    }
  },
);

withBoth('a certificate that is renewed is shown at both addresses, and plain HTTP is told so at both', async (t) => {
  const pairOf = (name: string): ServedPair => ({ ...selfSigned(name, Date.now()), expiresAtMs: 0 });
  const turnedAway = { plainHttp: 0, failedHandshakes: 0 };
  let show: (pair: ServedPair) => void = () => {};
  const { url } = await servedAt(t, ['localhost'], {
    settings: {
      certificate: {
        pair: pairOf('before.example'),
        turnedAway,
        onChange: (changed) => {
          show = changed;
        },
      },
    },
  });
  const shown = async (host: string): Promise<readonly [string, string]> => {
    const socket: TLSSocket = connectTls({ port: portOf(url), host, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { CN } = socket.getPeerCertificate().subject;
    socket.write(`${ASKED}${LAST}`);
    return [String(CN), (await text(socket)).slice(0, 12)];
  };
  const OK = 'HTTP/1.1 200';

  const before = await Promise.all(BOTH.map(shown));
  show(pairOf('after.example'));
  const after = await Promise.all(BOTH.map(shown));

  t.deepEqual(before, [
    ['before.example', OK],
    ['before.example', OK],
  ]);
  t.deepEqual(after, [
    ['after.example', OK],
    ['after.example', OK],
  ]);
  for (const host of BOTH) t.regex(await said(portOf(url), host, `${ASKED}${LAST}`), /speaks HTTPS only/u, host);
  t.is(turnedAway.plainHttp, 2);
});

withBoth('an admin that ends closes both addresses, and what is idle there', async (t) => {
  const { api, url } = await servedAt(t, ['localhost']);
  const idle = BOTH.map((host) => dial(portOf(url), host));
  const closed = idle.map((socket) => new Promise((resolve) => void socket.once('close', resolve)));
  for (const socket of idle) {
    socket.write(`${ASKED}\r\n`);
    await once(socket, 'data');
  }

  await api.close();
  await Promise.all(closed);

  for (const host of BOTH) t.is(await greeted(portOf(url), host), 'ECONNREFUSED', host);
});

withBoth('localhost is served at 127.0.0.1 alone, and a warning says so, where another program has ::1', async (t) => {
  const port = await freePort();
  await listening(t, createServer(), '::1', port);

  const { url, log } = await servedAt(t, ['localhost', port]);

  t.is(url, `http://127.0.0.1:${port}`);
  t.deepEqual(log.lines, [
    {
      level: 'warn',
      fields: {},
      message: 'localhost is served at 127.0.0.1 and not at ::1: another program has it',
    },
  ]);
});

for (const [host, address] of [
  ['::', '[::]'],
  ['::1', '[::1]'],
  ['0.0.0.0', '0.0.0.0'],
] as const)
  withBoth(`an admin that is told to listen on ${host} does so there`, async (t) => {
    const { url } = await servedAt(t, [host]);

    t.is(url, `http://${address}:${portOf(url)}`);
    const answered = await Promise.all(BOTH.map((one) => said(portOf(url), one, `${ASKED}${LAST}`)));
    t.deepEqual(
      answered.map((answer) => answer.startsWith('HTTP/1.1 200')),
      [host !== '::1', host !== '0.0.0.0'],
    );
  });
