/** What the HTTP proxy carries: tunnels, requests, answers and bodies. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { buffer, text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import test from 'ava';
import { rest } from '../../../support/net/stream-pairs.ts';
import { answerTo, basic, echoes, openProxies, rawClient, statusOf } from '../../../support/net/proxies-fixture.ts';
import { openWeb, through, connectLine } from './http-proxy-fixture.ts';
import { openTarget } from '../../../support/net/listening.ts';

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

test('requests are taken one at a time: what is sent behind one is not sent on', async (t) => {
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
