import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { buffer, text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import test from 'ava';
import { DIAL_FAILURES, notDialled, type DialFailure } from '../../../../transport/net/streams/dialled.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { listening, rest } from '../../../support/stream-pairs.ts';
import {
  answerTo,
  basic,
  dialTcp,
  echoes,
  openProxies,
  openTarget,
  rawClient,
  statusOf,
  type ProxiesFixture,
} from '../../../support/proxies-fixture.ts';

/** A web server behind the proxy. Its URL, and what came. */
async function openWeb(
  scope: Scope,
  serve: RequestListener,
): Promise<{ readonly port: number; readonly url: string; readonly got: IncomingMessage[] }> {
  const got: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    got.push(incoming);
    serve(incoming, response);
  });
  const port = await listening(server);
  scope.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, url: `http://127.0.0.1:${port}`, got };
}

/** Sends a request in absolute form. */
function through(
  proxy: ProxiesFixture,
  url: string,
  {
    method = 'GET',
    headers = {},
    body = null,
  }: {
    readonly method?: string;
    readonly headers?: Record<string, string | string[]>;
    readonly body?: Readable | Buffer | null;
  } = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port: proxy.httpPort,
      method,
      path: url,
      headers: { host: new URL(url).host, 'proxy-authorization': basic('_'), ...headers },
      agent: false,
    });
    outgoing.on('error', reject).on('response', resolve);
    if (body instanceof Readable) void pipeline(body, outgoing).catch(() => {});
    else outgoing.end(body ?? undefined);
  });
}

function connectLine(port: number, username = '_'): string {
  return `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic(username)}\r\n\r\n`;
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';

test('CONNECT carries bytes both ways, those sent too early and those after the client has said all included', async (t) => {
  const target = await openTarget(t, echoes);
  const proxy = await openProxies(t);
  const body = randomBytes(300_000);
  const client = rawClient(t, proxy.httpPort);

  client.end(Buffer.concat([Buffer.from(connectLine(target.port, 'web-1.edge')), body]));

  t.deepEqual(await rest(client), { bytes: Buffer.concat([Buffer.from(ESTABLISHED), body]), isWhole: true });
  t.deepEqual(proxy.dialled, [{ username: 'web-1.edge', host: '127.0.0.1', port: target.port }]);
  t.deepEqual(proxy.proxies.bytes(), { up: body.length, down: body.length });
});

test('a request in absolute form is sent on without what is for the proxy, and its answer comes back as it is', async (t) => {
  const web = await openWeb(t, (_incoming, response) => {
    response.writeHead(203, 'Quite Right', [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Own',
      'yes',
      'Connection',
      'x-gone',
      'X-Gone',
      'no',
    ]);
    response.end('hello');
  });
  const proxy = await openProxies(t);

  const answer = await through(proxy, `${web.url}/a/../b?c=%20`, {
    headers: {
      host: 'liar.example',
      connection: 'close, x-private',
      'x-private': 'no',
      'x-end': 'to end',
      te: 'trailers',
      'proxy-connection': 'keep-alive',
    },
  });

  t.is(await text(answer), 'hello');
  t.like(answer, { statusCode: 203, statusMessage: 'Quite Right' });
  t.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  t.is(answer.headers['x-own'], 'yes');
  t.is(answer.headers['x-gone'], undefined);
  t.regex(String(answer.headers.via), /^1\.1 edge-[0-9a-f]{12}$/u);
  const [got] = web.got;
  t.is(got?.url, '/a/../b?c=%20');
  t.deepEqual(got?.headers, {
    host: `127.0.0.1:${web.port}`,
    'x-end': 'to end',
    via: String(answer.headers.via),
    connection: 'close',
  });
});

test('bodies of any kind go both ways as they come', async (t) => {
  const web = await openWeb(t, (incoming, response) => void pipeline(incoming, response));
  const proxy = await openProxies(t);
  const body = randomBytes(2_000_000);

  const known = await through(proxy, web.url, {
    method: 'POST',
    headers: { 'content-length': String(body.length) },
    body,
  });
  const streamed = await through(proxy, web.url, {
    method: 'PUT',
    headers: { 'transfer-encoding': 'chunked' },
    body: Readable.from([body.subarray(0, 7), body.subarray(7)]),
  });
  const withGet = await through(proxy, web.url, {
    headers: { 'content-length': '3', connection: 'content-length' },
    body: Buffer.from('abc'),
  });

  t.true((await buffer(known)).equals(body));
  t.true((await buffer(streamed)).equals(body));
  t.is(await text(withGet), 'abc');
  t.deepEqual(
    web.got.map(({ headers }) => [headers['content-length'], headers['transfer-encoding']]),
    [
      [String(body.length), undefined],
      [undefined, 'chunked'],
      ['3', undefined],
    ],
  );
});

test('HEAD, 204 and 304 have no body, and the connection is kept for the next request', async (t) => {
  const web = await openWeb(t, (incoming, response) =>
    response
      .writeHead(Number(incoming.url?.slice(1)), incoming.method === 'HEAD' ? { 'content-length': '5' } : {})
      .end(),
  );
  const proxy = await openProxies(t);
  const client = rawClient(t, proxy.httpPort);
  const ask = async (method: string, status: number): Promise<string> => {
    client.write(`${method} ${web.url}/${status} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`);
    const [answer] = (await once(client, 'data')) as [Buffer];
    return answer.toString();
  };

  t.regex(await ask('HEAD', 200), /^HTTP\/1\.1 200 .*content-length: 5\r\n.*\r\n\r\n$/su);
  t.is(statusOf(await ask('GET', 204)), 204);
  t.is(statusOf(await ask('GET', 304)), 304);
  t.is(proxy.proxies.http.counters.connections, 1);
});

test('an answer without a length ends with its connection, and one that is cut is cut', async (t) => {
  const target = await openTarget(t, (socket) =>
    socket.once('data', (bytes: Buffer) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\npart');
      if (bytes.toString().startsWith('GET /whole')) socket.end();
      else setImmediate(() => socket.resetAndDestroy());
    }),
  );
  const proxy = await openProxies(t);

  t.is(await text(await through(proxy, `http://127.0.0.1:${target.port}/whole`)), 'part');
  await t.throwsAsync(async () => text(await through(proxy, `http://127.0.0.1:${target.port}/cut`)));
});

test('a client waits for 100 Continue as the target says, and hears other interim answers', async (t) => {
  const target = await openTarget(t, (socket) =>
    socket.once('data', (bytes: Buffer) => {
      t.regex(bytes.toString(), /\r\nexpect: 100-continue\r\n/iu);
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n');
      socket.once('data', (body: Buffer) =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n${body.toString()}`),
      );
    }),
  );
  const proxy = await openProxies(t);
  const outgoing = request({
    host: '127.0.0.1',
    port: proxy.httpPort,
    method: 'POST',
    path: `http://127.0.0.1:${target.port}/`,
    headers: { expect: '100-continue', 'content-length': '4', 'proxy-authorization': basic('_') },
    agent: false,
  });
  const informed: number[] = [];
  outgoing.on('information', ({ statusCode }) => informed.push(statusCode));
  outgoing.on('continue', () => outgoing.end('body'));
  outgoing.flushHeaders();

  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];

  t.is(await text(answer), 'body');
  t.deepEqual(informed, [103, 100]);
});

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

test("an answer before the end of a request is heard, and the rest of the request is nobody's", async (t) => {
  const target = await openTarget(t, (socket) => {
    socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n');
    socket.resume();
  });
  const proxy = await openProxies(t);
  const client = rawClient(t, proxy.httpPort);
  client.write(
    `POST http://127.0.0.1:${target.port}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\nContent-Length: 1000000\r\n\r\nbegin`,
  );

  t.is(statusOf(await text(client)), 413);
  t.is(proxy.proxies.http.counters.connections, 1);
});

test('a client that ends its side after the request hears the answer', async (t) => {
  const web = await openWeb(t, (_incoming, response) => {
    setImmediate(() => response.end('late'));
  });
  const proxy = await openProxies(t);
  const client = rawClient(t, proxy.httpPort);

  client.end(`GET ${web.url}/ HTTP/1.0\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`);

  t.regex(await text(client), /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\nlate$/su);
});

test('one request at a time: what is sent behind one is not sent on', async (t) => {
  const web = await openWeb(t, (_incoming, response) => {
    setImmediate(() => response.end('first'));
  });
  const proxy = await openProxies(t);
  const one = `GET ${web.url}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`;

  const answers = await answerTo(t, proxy.httpPort, one.repeat(50));

  t.is(statusOf(answers), 200);
  t.is([...answers.matchAll(/HTTP\/1\.1 400 /gu)].length, 1);
  t.is(web.got.length, 1);
});

test('bodies are the same at both ends, of many requests at once', async (t) => {
  const web = await openWeb(
    t,
    (incoming, response) =>
      void buffer(incoming).then((bytes) => response.end(createHash('sha256').update(bytes).digest('hex'))),
  );
  const proxy = await openProxies(t);

  const results = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const body = randomBytes(100_000);
      const answer = await through(proxy, web.url, {
        method: 'POST',
        headers: { 'transfer-encoding': 'chunked' },
        body: Readable.from([body]),
      });
      return (await text(answer)) === createHash('sha256').update(body).digest('hex');
    }),
  );

  t.true(results.every(Boolean));
});
