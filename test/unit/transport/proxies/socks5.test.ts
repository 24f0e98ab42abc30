import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import * as fc from 'fast-check';
import { notDialled, type DialFailure } from '../../../../transport/net/streams/dialled.ts';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import { answerTo, dialTcp, echoes, openProxies, PASSWORD, rawClient } from '../../../support/net/proxies-fixture.ts';
import {
  GREETING_NONE,
  GREETING_PASSWORD,
  handshake,
  LET_IN,
  login,
  request,
  take,
  tunnelBySocks,
} from './socks5-client.ts';
import { openTarget } from '../../../support/net/listening.ts';

const REPLY_OK = Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);

/** A client that sends these bytes and ends, and what it is answered. */
async function said(t: Parameters<typeof rawClient>[0], port: number, bytes: Buffer): Promise<number[]> {
  const client = rawClient(t, port);
  client.write(bytes);
  return [...(await buffer(client))];
}

test('a client gets through with the bytes it sent before it was answered, and hears the answer after it has said all', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t);
  const early = randomBytes(200_000);
  const client = rawClient(t, proxy.socksPort);

  client.end(Buffer.concat([handshake([127, 0, 0, 1], target.port, 'web-1.edge'), early]));

  t.deepEqual(await rest(client), { bytes: Buffer.concat([LET_IN, REPLY_OK, early]), isWhole: true });
  t.deepEqual(proxy.dialled, [{ username: 'web-1.edge', host: '127.0.0.1', port: target.port }]);
  t.deepEqual(proxy.shown, [{ username: 'web-1.edge', password: PASSWORD }]);
  t.deepEqual(proxy.proxies.bytes(), { up: early.length, down: early.length });
  t.is(proxy.proxies.tunnels.ends.normal, 1);
});

test('a handshake may come in any pieces', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t);
  const whole = Buffer.concat([handshake('web-1.edge', target.port), Buffer.from('hello')]);
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: whole.length });

  await fc.assert(
    fc.asyncProperty(cuts, async (places) => {
      const client = rawClient(t, proxy.socksPort);
      const heard = rest(client);
      await once(client, 'connect');
      let from = 0;
      for (const to of [...places.toSorted((a, b) => a - b), whole.length]) {
        client.write(whole.subarray(from, to));
        from = to;
        await turn();
      }
      client.end();

      t.deepEqual(await heard, { bytes: Buffer.concat([LET_IN, REPLY_OK, Buffer.from('hello')]), isWhole: true });
    }),
    { numRuns: 40, examples: [[Array.from({ length: whole.length - 1 }, (_, index) => index + 1)]] },
  );
});

test('a login that is wrong is told so, and the connection ends', async (t) => {
  const proxy = await openProxies(t);

  t.deepEqual(
    await said(t, proxy.socksPort, Buffer.concat([GREETING_PASSWORD, login('_', 'guess'), request('web-1', 80)])),
    [5, 2, 1, 1],
  );
  t.deepEqual(await said(t, proxy.socksPort, GREETING_NONE), [5, 0xff]);
  t.deepEqual(await said(t, proxy.socksPort, Buffer.from([5, 1, 1])), [5, 0xff]);
  t.deepEqual(await said(t, proxy.socksPort, Buffer.from([5, 0])), [5, 0xff]);

  t.deepEqual(proxy.dialled, []);
  t.deepEqual(proxy.shown, [{ username: '_', password: 'guess' }, null]);
  t.is(proxy.proxies.socks5.counters.blocked.credentials, 4);
  t.notRegex(JSON.stringify(proxy.log.lines), /guess/u);
});

test('an address that showed too many wrong logins is turned away, and counted so', async (t) => {
  const proxy = await openProxies(t, { admit: () => ({ ok: false, reason: 'throttled' }) });

  t.deepEqual(await said(t, proxy.socksPort, Buffer.concat([GREETING_PASSWORD, login('_', 'x')])), [5, 2, 1, 1]);

  t.is(proxy.proxies.socks5.counters.blocked.throttled, 1);
});

test('without a password a client goes only where none is wanted', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t, { isOpen: true });
  const client = rawClient(t, proxy.socksPort);

  client.end(Buffer.concat([GREETING_NONE, request([127, 0, 0, 1], target.port), Buffer.from('hi')]));

  t.deepEqual(await rest(client), {
    bytes: Buffer.concat([Buffer.from([5, 0]), REPLY_OK, Buffer.from('hi')]),
    isWhole: true,
  });
});

test('what is asked for and not served has its reply', async (t) => {
  const proxy = await openProxies(t);
  const replies = await Promise.all(
    [
      request('web-1', 80, 2),
      request('web-1', 80, 3),
      request('web-1', 80, 0),
      Buffer.from([5, 1, 0, 9, 0, 0]),
      request('web-1', 0),
      request('we b', 80),
      request('a\r\nb', 80),
      request('', 80),
      Buffer.from([4, 1, 0, 1, 1, 1, 1, 1, 0, 80]),
    ].map((asked) => said(t, proxy.socksPort, Buffer.concat([GREETING_PASSWORD, login('_', PASSWORD), asked]))),
  );

  t.deepEqual(
    replies.map((reply) => reply[5]),
    [7, 7, 7, 8, 1, 1, 1, 1, 1],
  );
  t.deepEqual(proxy.dialled, []);
  t.like(proxy.proxies.socks5.counters.blocked, { unsupported: 4, malformed: 5 });
});

test('each failure of a dial has its reply', async (t) => {
  const proxy = await openProxies(t, { dial: ({ host }) => Promise.resolve(notDialled(host as DialFailure, 'no')) });
  const expected = {
    refused: 5,
    unreachable: 4,
    unresolved: 4,
    timed_out: 6,
    failed: 1,
    blocked: 2,
    loop: 2,
    unknown_node: 4,
    offline: 3,
    overloaded: 1,
  };

  for (const [failure, reply] of Object.entries(expected))
    t.deepEqual(
      await said(t, proxy.socksPort, handshake(failure, 80)),
      [...LET_IN, 5, reply, 0, 1, 0, 0, 0, 0, 0, 0],
      failure,
    );

  t.like(proxy.proxies.socks5.counters, {
    dials: { refused: 1, blocked: 1, loop: 1, connected: 0 },
    blocked: { blocked: 1, loop: 1 },
  });
});

test('a dial that breaks is a failure as any other', async (t) => {
  const proxy = await openProxies(t, { dial: () => Promise.reject(new Error('a bug')) });

  t.is((await said(t, proxy.socksPort, handshake('web-1', 80)))[5], 1);
  t.like(await proxy.log.seen(/dial for a proxy broke/u), { level: 'warn' });
});

test('a target that does not answer is given up at the limit', async (t) => {
  const proxy = await openProxies(t, { limits: { connectMsMax: 300 }, dial: () => new Promise(() => {}) });

  t.is((await said(t, proxy.socksPort, handshake('silent', 80)))[5], 6);
  t.is(proxy.aborted.length, 1);
  t.is(proxy.proxies.socks5.counters.dials.timed_out, 1);
});

test('a target whose client is gone is given up, and counts as no time-out', async (t) => {
  const proxy = await openProxies(t, { dial: () => new Promise(() => {}) });
  const client = rawClient(t, proxy.socksPort);
  client.write(handshake('silent', 81));
  await until('it is dialled', () => proxy.dialled.length === 1);

  client.resetAndDestroy();

  await until('it is given up', () => proxy.aborted.length === 1);
  t.is(proxy.proxies.socks5.counters.dials.timed_out, 0);
});

test('a stream that comes too late is cut', async (t) => {
  const late = Promise.withResolvers<void>();
  const target = await openTarget(t, (socket) => void rest(socket));
  const proxy = await openProxies(t, {
    limits: { connectMsMax: 100 },
    dial: (asked) => late.promise.then(() => dialTcp(asked, new AbortController().signal)),
  });

  t.is((await said(t, proxy.socksPort, handshake([127, 0, 0, 1], target.port)))[5], 6);
  const arrived = once(target.server, 'connection');
  late.resolve();
  await arrived;

  await until('it is cut', () => target.sockets.size === 0);
});

test('a target that resets is a reset for the client, and no clean end', async (t) => {
  const target = await openTarget(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
  const proxy = await openProxies(t);
  const client = await tunnelBySocks(t, proxy.socksPort, target.port);
  const closed = once(client, 'error');

  client.resume().write('now');

  t.like((await closed)[0], { code: 'ECONNRESET' });
  t.is(proxy.proxies.tunnels.ends.reset, 1);
});

test('clients of other protocols are told or closed', async (t) => {
  const proxy = await openProxies(t);

  t.regex(await answerTo(t, proxy.socksPort, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 400 .*speaks SOCKS5/su);
  t.is(await answerTo(t, proxy.socksPort, Buffer.from([4, 1, 0, 80, 1, 2, 3, 4, 0])), '');
  t.is(await answerTo(t, proxy.socksPort, Buffer.from([0x16, 3, 1, 2, 0, 1])), '');
  t.deepEqual(
    await said(t, proxy.socksPort, Buffer.concat([GREETING_PASSWORD, Buffer.from([5, 1, 65])])),
    [5, 2, 1, 1],
  );
  t.is(proxy.proxies.socks5.counters.blocked.malformed, 4);
});

test('a client that hangs up in the middle of a handshake is let go at once', async (t) => {
  const proxy = await openProxies(t);
  const client = rawClient(t, proxy.socksPort);
  client.write(GREETING_PASSWORD);
  await take(client, 2);

  client.end();

  t.deepEqual(await rest(client), { bytes: Buffer.alloc(0), isWhole: true });
  await until('it is gone', () => proxy.proxies.socks5.connections === 0);
});

test('what a client sends before its tunnel is open is held up to a limit', async (t) => {
  const proxy = await openProxies(t, { dial: () => new Promise(() => {}) });
  const client = rawClient(t, proxy.socksPort);
  client.write(handshake('silent', 80));

  await until('it is dialled', () => proxy.dialled.length === 1);
  for (let count = 0; count < 512; count += 1) client.write(Buffer.alloc(65_536));
  for (let before = -1; before !== client.bytesWritten - client.writableLength;) {
    before = client.bytesWritten - client.writableLength;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    }); // nothing tells that bytes have stopped to move
  }

  t.true(client.bytesWritten - client.writableLength < 8 * 1_048_576); // what the kernel holds for two sockets
});
