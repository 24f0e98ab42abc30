/** Clients and targets that mean no good. */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import {
  answerTo,
  basic,
  dialTcp,
  echoes,
  openProxies,
  rawClient,
  statusOf,
  type ProxiesFixture,
} from '../../../support/net/proxies-fixture.ts';
import { GREETING_PASSWORD, handshake, LET_IN, take, tunnelBySocks } from './socks5-client.ts';
import { openTarget } from '../../../support/net/listening.ts';

const AUTHORISED = `Host: x\r\nProxy-Authorization: ${basic('_')}\r\n`;

/** Whether both proxies serve a client now. */
async function serves(t: Parameters<typeof rawClient>[0], proxy: ProxiesFixture, port: number): Promise<boolean> {
  const [socks, http] = [rawClient(t, proxy.socksPort), rawClient(t, proxy.httpPort)];
  socks.end(Buffer.concat([handshake([127, 0, 0, 1], port), Buffer.from('well')]));
  http.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${AUTHORISED}\r\nwell`);
  return (await Promise.all([rest(socks), rest(http)])).every(
    ({ bytes, isWhole }) => isWhole && bytes.toString('latin1').endsWith('well'),
  );
}

test('thousands of idle connections are cut at the time limit, and others are served meanwhile', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t, { limits: { handshakeMsMax: 4_000 } });
  const lastedMs: number[] = [];
  for (const port of [proxy.socksPort, proxy.httpPort]) {
    for (let count = 0; count < 500; count += 1) {
      const beganMs = performance.now();
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {}).on('close', () => lastedMs.push(performance.now() - beganMs));
      socket.resume();
      if (count % 50 === 0) await once(socket, 'connect');
    }
  }
  await until(
    'all came',
    () => proxy.proxies.socks5.counters.connections === 500 && proxy.proxies.http.counters.connections === 500,
  );

  t.true(await serves(t, proxy, target.port));

  await until('they are cut', () => proxy.proxies.socks5.connections === 0 && proxy.proxies.http.connections === 0);
  await until('their clients know', () => lastedMs.length === 1_000);
  t.true(Math.min(...lastedMs) >= 3_900, `one was cut after ${Math.min(...lastedMs)} ms`);
  t.is(proxy.proxies.socks5.counters.blocked.slow, 500);
  t.is(proxy.proxies.http.counters.blocked.slow, 500);
});

test('a handshake that drips is cut at the limit, and says why where the protocol can', async (t) => {
  const proxy = await openProxies(t, { limits: { handshakeMsMax: 3_000 } }); // less than they drip
  const drip = async (port: number, greeting: Buffer, bytes: Buffer): Promise<string> => {
    const client = rawClient(t, port);
    const heard = rest(client);
    client.write(greeting);
    for (const byte of bytes) {
      client.write(Buffer.of(byte));
      await Promise.race([
        heard,
        new Promise((resolve) => {
          setTimeout(resolve, 20);
        }),
      ]); // its pace is the attack
      if (client.readableEnded || client.destroyed) break;
    }
    client.end();
    return (await heard).bytes.toString('latin1');
  };

  const [socks, http] = await Promise.all([
    drip(proxy.socksPort, GREETING_PASSWORD, Buffer.concat([Buffer.from([1, 200]), Buffer.alloc(200, 'x')])),
    drip(proxy.httpPort, Buffer.from('CONNECT x:1 HTTP/1.1\r\n'), Buffer.from('x: y\r\n'.repeat(100))),
  ]);

  t.is(socks, '\u0005\u0002');
  t.is(statusOf(http), 408);
});

test('when all places are taken by those who only came, a client with a password still gets one', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t, { limits: { connectionsMax: 20 } });
  const tunnel = await tunnelBySocks(t, proxy.socksPort, target.port);
  const idle = Array.from({ length: 40 }, () => rawClient(t, proxy.socksPort).resume());
  await until('the oldest made room', () => idle.filter(({ destroyed }) => destroyed).length === 21);

  t.true(await serves(t, proxy, target.port));

  tunnel.end('still there');
  t.is((await rest(tunnel)).bytes.toString(), 'still there');
  t.true(proxy.proxies.socks5.counters.blocked.crowded >= 21);
});

test('when all places are taken by tunnels, the next client is turned away', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t, { limits: { connectionsMax: 3 } });
  const tunnels = await Promise.all([1, 2, 3].map(() => tunnelBySocks(t, proxy.socksPort, target.port)));

  await t.throwsAsync(tunnelBySocks(t, proxy.socksPort, target.port));

  tunnels[0]?.end('x');
  await Promise.all(tunnels.slice(0, 1).map(rest));
  await until('there is room', () => proxy.proxies.socks5.connections === 2);
  await t.notThrowsAsync(tunnelBySocks(t, proxy.socksPort, target.port));
});

test('garbage, smuggling and headers without end are refused by their status, and nothing is dialled', async (t) => {
  const proxy = await openProxies(t);
  const to = 'http://web-1.edge/';
  const forms: readonly (readonly [number, string])[] = [
    [400, '\0\0\0\0\r\n\r\n'],
    [400, 'HELLO\r\n\r\n'],
    [400, `GET ${to} HTTP/9.9\r\n${AUTHORISED}\r\n`],
    [431, `GET ${to} HTTP/1.1\r\n${AUTHORISED}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    [431, `GET http://web-1.edge/${'x'.repeat(20_000)} HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [431, `GET ${to} HTTP/1.1\r\n${AUTHORISED}${'a:b\r\n'.repeat(200)}\r\n`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Content-Length: -5\r\n\r\n`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Content-Length: 5, 5\r\n\r\nhello`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    [400, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    [501, `POST ${to} HTTP/1.1\r\n${AUTHORISED}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [400, `POST ${to} HTTP/1.0\r\n${AUTHORISED}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    [400, `GET ${to} HTTP/1.1\r\n${AUTHORISED}Host: y\r\n\r\n`],
    [400, `GET ${to} HTTP/1.1\r\n${AUTHORISED}X: a\n b\r\n\r\n`],
    [400, `GET ${to} HTTP/1.1\r\n${AUTHORISED}X: a\rb\r\n\r\n`],
    [400, `GET ${to} HTTP/1.1\r\n${AUTHORISED}X: a\0b\r\n\r\n`],
    [400, `GET ${to} HTTP/1.1\n${AUTHORISED}\n\n`],
    [400, `GET http://web-1.edge\r\nX: y HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `GET http://web 1.edge/ HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `GET http://web-1.edge\0.evil/ HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1.edge:22 x HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1.edge:22\r\nX: y HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1\0.edge:22 HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1.edge HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1.edge:99999 HTTP/1.1\r\n${AUTHORISED}\r\n`],
    [400, `CONNECT web-1.edge:22 HTTP/1.1\r\n${AUTHORISED}Content-Length: 5\r\n\r\nhello`],
  ];

  for (const [status, bytes] of forms) {
    const client = rawClient(t, proxy.httpPort);
    client.end(bytes);
    t.is(statusOf((await rest(client)).bytes.toString('latin1')), status, JSON.stringify(bytes.slice(0, 200)));
  }
  t.deepEqual(proxy.dialled, []);
  await until('all are gone', () => proxy.proxies.http.connections === 0);
});

test('a chunk that lies in the middle of a body cuts both, and no second request comes out of it', async (t) => {
  const arrived: string[] = [];
  const target = await openTarget(t, (socket) => {
    let came = '';
    socket.on('data', (bytes: Buffer) => {
      came += bytes.toString('latin1');
    });
    socket.once('close', () => arrived.push(came));
  });
  const proxy = await openProxies(t);

  const client = rawClient(t, proxy.httpPort);
  client.write(
    `POST http://127.0.0.1:${target.port}/ HTTP/1.1\r\n${AUTHORISED}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`,
  );
  await until('it is sent on', () => proxy.proxies.bytes().up === 3);

  client.end('loXGET /smuggled HTTP/1.1\r\n\r\n');

  await until('the target is let go', () => arrived.length === 1);
  t.false(arrived[0]?.includes('smuggled'));
});

test('a client of SOCKS5 that only fills its buffers, and noise of all lengths, break nothing', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t);

  for (let length = 0; length < 60; length += 1) {
    const noise = Buffer.from(Array.from({ length }, (_, index) => (index * 89 + length * 31) % 256));
    for (const port of [proxy.socksPort, proxy.httpPort])
      for (const start of [[], [5], [5, 1, 2, 1]])
        await rest(rawClient(t, port).end(Buffer.concat([Buffer.from(start), noise])));
  }

  t.true(await serves(t, proxy, target.port));
  t.deepEqual(proxy.dialled.length, 2);
});

test('a target that floods a reader that does not read is held up, and the others are not', async (t) => {
  const target = await openTarget(t, (socket) =>
    socket.once('data', (first: Buffer) => {
      if (first.toString() !== 'flood') return void socket.end('well');
      const pour = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', pour);
      return pour();
    }),
  );
  const proxy = await openProxies(t);
  const before = process.memoryUsage().rss;
  const readers = await Promise.all(Array.from({ length: 8 }, () => tunnelBySocks(t, proxy.socksPort, target.port)));
  for (const reader of readers) reader.write('flood');

  for (let last = -1; last !== proxy.proxies.bytes().down;) {
    last = proxy.proxies.bytes().down;
    await new Promise((resolve) => {
      setTimeout(resolve, 150);
    }); // nothing tells that bytes have stopped to move
  }
  const other = await tunnelBySocks(t, proxy.socksPort, target.port);
  other.end('hi');

  t.is((await rest(other)).bytes.toString(), 'well');
  t.true(process.memoryUsage().rss - before < 200 * 1_048_576);
  t.true(proxy.proxies.bytes().down < 8 * 16 * 1_048_576);
});

test('clients that reset at any moment leave nothing behind', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t, {
    dial: async (asked, signal) => {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      return dialTcp(asked, signal);
    },
  });
  const whole = handshake([127, 0, 0, 1], target.port);

  for (let length = 0; length <= whole.length; length += 1) {
    const client = rawClient(t, proxy.socksPort);
    client.write(whole.subarray(0, length));
    if (length >= GREETING_PASSWORD.length) await take(client, 2);
    if (length === whole.length && length % 2 === 0) await take(client, LET_IN.length - 2);
    client.resetAndDestroy();
  }

  await until(
    'all are gone',
    () => proxy.proxies.socks5.connections === 0 && proxy.proxies.tunnels.open === 0 && target.sockets.size === 0,
  );
  t.true(await serves(t, proxy, target.port));
});

test("an answer to a client that is gone is nobody's, and its error ends nothing", async (t) => {
  const proxy = await openProxies(t);

  for (let count = 0; count < 20; count += 1) {
    const client = rawClient(t, proxy.httpPort);
    client.write(`GET http://web-1.edge:1/ HTTP/1.1\r\n${AUTHORISED}\r\n`);
    await until('it is dialled', () => proxy.dialled.length === count + 1);
    client.resetAndDestroy();
  }

  await until('all are gone', () => proxy.proxies.http.connections === 0);
  t.is(statusOf(await answerTo(t, proxy.httpPort, 'GET / HTTP/1.0\r\n\r\n')), 400);
});
