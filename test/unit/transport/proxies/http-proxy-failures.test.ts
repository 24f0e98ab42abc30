/** What the HTTP proxy says when a target fails or a client is refused, and when it gives up. */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { DIAL_FAILURES, notDialled, type DialFailure } from '../../../../transport/net/streams/dialled.ts';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import { answerTo, basic, dialTcp, openProxies, statusOf } from '../../../support/net/proxies-fixture.ts';
import { openWeb, through, connectLine } from './http-proxy-fixture.ts';
import { openTarget } from '../../../support/net/listening.ts';

test('a target that answers with anything but HTTP, too much, or not at all is a bad gateway', async (t) => {
  const answers = [
    'SSH-2.0-x\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'HTTP/1.1 102 Wait\r\n\r\n'.repeat(20),
    'HTTP/1.1 099 Low\r\n\r\n',
    '',
    'HTTP/1.1 20',
  ];
  const target = await openTarget(t, (socket) =>
    socket.once('data', (bytes: Buffer) => socket.end(answers[Number(/\/(\d)/u.exec(bytes.toString())?.[1])] ?? '')),
  );
  const proxy = await openProxies(t);

  for (const [index] of answers.entries()) {
    const answer = await through(proxy, `http://127.0.0.1:${target.port}/${index}`);
    t.is(answer.statusCode, 502, answers[index]);
    t.regex(String(answer.headers['proxy-status']), /^edge; error=http_(?:protocol_error|response_incomplete)$/u);
    t.regex(await text(answer), /^The target .+\.\n$/u);
  }
});

test('each failure of a dial has its status, its type and its words, for CONNECT and for requests', async (t) => {
  const proxy = await openProxies(t, {
    dial: ({ host }) => Promise.resolve(notDialled(host.replace('-', '_') as DialFailure, `What ${host} means.`)),
  });
  const expected = {
    refused: 502,
    unreachable: 502,
    unresolved: 502,
    timed_out: 504,
    failed: 502,
    blocked: 403,
    loop: 508,
    unknown_node: 502,
    offline: 503,
    overloaded: 503,
  };

  for (const failure of DIAL_FAILURES) {
    const connected = await answerTo(
      t,
      proxy.httpPort,
      `CONNECT ${failure}:1 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`,
    );
    const answer = await through(proxy, `http://${failure.replace('_', '-')}/`);
    t.is(statusOf(connected), expected[failure], failure);
    t.is(answer.statusCode, expected[failure], failure);
    t.regex(connected, /\r\nProxy-Status: edge; error=[a-z_]+\r\n/u);
    t.true(connected.endsWith(`\r\n\r\nWhat ${failure} means.\n`));
    t.is(await text(answer), `What ${failure.replace('_', '-')} means.\n`);
    t.is(answer.headers['retry-after'], expected[failure] === 503 ? '5' : undefined);
  }
  t.like(proxy.proxies.http.counters, { blocked: { blocked: 2, loop: 2 }, dials: { refused: 2, connected: 0 } });
});

test('who shows no good password is asked for one, on a connection that may be kept', async (t) => {
  const proxy = await openProxies(t);
  const answer = await through(proxy, 'http://web-1/', { headers: { 'proxy-authorization': basic('_', 'guess') } });

  t.is(answer.statusCode, 407);
  t.is(answer.headers['proxy-authenticate'], 'Basic realm="edge"');
  t.regex(await text(answer), /user name and a password/u);
  t.is(statusOf(await answerTo(t, proxy.httpPort, 'CONNECT web-1:22 HTTP/1.1\r\nHost: x\r\n\r\n')), 407);
  t.deepEqual(proxy.dialled, []);
  t.is(proxy.proxies.http.counters.blocked.credentials, 2);
  t.notRegex(JSON.stringify(proxy.log.lines), /guess/u);
});

test('an address that showed too many wrong passwords is told when to come again', async (t) => {
  const proxy = await openProxies(t, { admit: () => ({ ok: false, reason: 'throttled' }) });

  const answer = await answerTo(t, proxy.httpPort, 'CONNECT web-1:22 HTTP/1.1\r\nHost: x\r\n\r\n');

  t.is(statusOf(answer), 429);
  t.regex(answer, /\r\nRetry-After: 60\r\n/u);
});

test('who takes the proxy for a web server is told how to use it, without a password', async (t) => {
  const proxy = await openProxies(t);

  const answer = await answerTo(t, proxy.httpPort, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');

  t.is(statusOf(answer), 400);
  t.regex(answer, /\r\n\r\nThis is an HTTP proxy: .*curl --proxy.*\n$/u);
});

test('a request that comes back is a loop', async (t) => {
  const proxy = await openProxies(t, {
    isOpen: true,
    dial: (asked, signal) =>
      dialTcp({ ...asked, host: '127.0.0.1', port: asked.port === 80 ? proxy.httpPort : asked.port }, signal),
  });
  const web = await openWeb(t, (_incoming, response) => response.end());
  const first = await through(proxy, web.url);
  const [, pseudonym] = String(first.headers.via).split(' ');

  const answer = await answerTo(
    t,
    proxy.httpPort,
    `CONNECT web-1:22 HTTP/1.1\r\nHost: x\r\nVia: 1.1 ${pseudonym}\r\n\r\n`,
  );

  t.is(statusOf(answer), 508);
});

test('a target that does not take the connection is given up at the limit', async (t) => {
  const proxy = await openProxies(t, { limits: { connectMsMax: 200 }, dial: () => new Promise(() => {}) });

  t.is(statusOf(await answerTo(t, proxy.httpPort, connectLine(1))), 504);
  t.is((await through(proxy, 'http://web-1/')).statusCode, 504);
  t.is(proxy.aborted.length, 2);
});

test('a target that takes a request and never answers is given up when it was idle for long', async (t) => {
  const target = await openTarget(t, (socket) => void rest(socket));
  const proxy = await openProxies(t, { limits: { idleMsMax: 300 } });

  await t.throwsAsync(() => through(proxy, `http://127.0.0.1:${target.port}/`), { code: 'ECONNRESET' });
  await until('the target is let go', () => target.sockets.size === 0);
});

test('a client that goes away lets its target go', async (t) => {
  const target = await openTarget(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const pour = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
    };
    socket.on('drain', pour).resume();
    pour();
  });
  const proxy = await openProxies(t);
  const answer = await through(proxy, `http://127.0.0.1:${target.port}/`);
  answer.on('error', () => {});
  await once(answer, 'data');

  answer.destroy();

  await until('the target is let go', () => target.sockets.size === 0);
  await until('the client is gone', () => proxy.proxies.http.connections === 0);
  t.pass();
});
