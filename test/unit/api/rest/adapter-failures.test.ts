/** What every REST failure looks like, and how broken requests and connections are refused. */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { KEYS, serveApi, SOME_ID, type ServedApi } from '../../../support/api/fakes.ts';

const command = { command_text: 'true', targeting: { type: 'all' } };

/** Sends text as it is and reads until the server closes. */
async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    received += piece;
  });
  socket.write(text);
  await once(socket, 'close');
  return received;
}

test('every failure has the error body, whatever layer it comes from', async (t) => {
  const { request, url } = await serveApi(t);
  const nested = (levels: number) => `{"command_text":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const cases: readonly (readonly [string, Parameters<ServedApi['request']>, number, string])[] = [
    ['an unknown route', ['GET', '/api/v1/nope'], 404, 'not_found'],
    ['an unknown method', ['PUT', '/api/v1/nodes'], 405, 'method_not_allowed'],
    ['a method that nobody knows', ['PURGE', '/api/v1/nodes'], 405, 'method_not_allowed'],
    ['a path that is not valid percent-encoding', ['GET', '/api/v1/nodes/%ZZ'], 400, 'bad_request'],
    ['a malformed id', ['GET', '/api/v1/nodes/nope'], 400, 'bad_request'],
    ['a very long id', ['GET', `/api/v1/nodes/${'x'.repeat(900)}`], 400, 'bad_request'],
    ['a malformed cluster name', ['GET', '/api/v1/clusters/Nope'], 400, 'bad_request'],
    ['an unknown query parameter', ['GET', '/api/v1/nodes?nope=1'], 400, 'bad_request'],
    ['a page size above the maximum', ['GET', '/api/v1/nodes?page_size=101'], 400, 'bad_request'],
    ['a query where none belongs', ['POST', '/api/v1/commands?x=1', { body: command }], 400, 'bad_request'],
    ['something that does not exist', ['GET', `/api/v1/nodes/${SOME_ID}`], 404, 'not_found'],
    ['broken JSON', ['POST', '/api/v1/commands', { body: '{"command_text":' }], 400, 'bad_request'],
    [
      'a control character inside a string',
      ['POST', '/api/v1/commands', { body: '{"command_text":"\u0000"}' }],
      400,
      'bad_request',
    ],
    ['30,000 levels', ['POST', '/api/v1/commands', { body: '['.repeat(30_000) }], 400, 'bad_request'],
    ['33 levels', ['POST', '/api/v1/commands', { body: nested(33) }], 400, 'bad_request'],
    ['a poisonous key', ['POST', '/api/v1/commands', { body: '{"__proto__":{"a":1}}' }], 400, 'bad_request'],
    [
      'a poisonous key spelled with escapes',
      ['POST', '/api/v1/commands', { body: '{"a":{"\\u005f_proto__":1}}' }],
      400,
      'bad_request',
    ],
    [
      'a constructor with a prototype',
      ['POST', '/api/v1/commands', { body: '{"constructor":{"prototype":{}}}' }],
      400,
      'bad_request',
    ],
    ['a body that is an array', ['POST', '/api/v1/commands', { body: '[]' }], 422, 'validation_failed'],
    ['a body that is null', ['POST', '/api/v1/commands', { body: 'null' }], 422, 'validation_failed'],
    [
      'a body that is null where none is needed',
      ['POST', '/api/v1/clusters/one/enrollment_keys', { body: 'null' }],
      422,
      'validation_failed',
    ],
    ['no body', ['POST', '/api/v1/commands'], 422, 'validation_failed'],
    [
      'a body that repeats a path parameter',
      ['PATCH', '/api/v1/clusters/one', { body: { name: 'two', node_limit: 1 } }],
      422,
      'validation_failed',
    ],
    ['an unknown field', ['POST', '/api/v1/commands', { body: { ...command, nope: 1 } }], 422, 'validation_failed'],
    [
      'a body that is too large',
      ['POST', '/api/v1/commands', { body: { ...command, command_text: 'x'.repeat(70_000) } }],
      413,
      'payload_too_large',
    ],
    [
      'another media type',
      ['POST', '/api/v1/commands', { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
      415,
      'unsupported_media_type',
    ],
    [
      'a malformed Idempotency-Key',
      ['POST', '/api/v1/commands', { body: command, headers: { 'idempotency-key': 'x'.repeat(256) } }],
      400,
      'bad_request',
    ],
  ];

  for (const [what, given, status, code] of cases) {
    const { body, headers, status: got } = await request(...given);
    t.is(got, status, what);
    t.is(body?.error?.code, code, what);
    t.deepEqual(Object.keys(body?.error ?? {}), ['code', 'message', 'details'], what);
    t.is(body?.meta?.request_id ?? null, headers.get('x-request-id'), what);
  }
  t.is((await fetch(`${url}/nope`, { method: 'POST' })).status, 404);
});

test('details map a dotted path to its messages', async (t) => {
  const { request } = await serveApi(t);

  const { body } = await request('POST', '/api/v1/commands', {
    body: { targeting: { type: 'all', node_filters: { nope: 1 } }, timeout: 0 },
  });

  t.deepEqual(body?.error, {
    code: 'validation_failed',
    message: 'Validation failed',
    details: {
      command_text: ['is required'],
      'targeting.node_filters.nope': ['is not known'],
      timeout: ['must be at least 1'],
    },
  });
});

test('a bug answers 500 and says nothing of its cause, which is in the log under the request id', async (t) => {
  const { request, log } = await serveApi(t, {
    reads: {
      list: async () => {
        throw new Error('secret-of-the-cause');
      },
    },
  });

  const { status, body } = await request('GET', '/api/v1/nodes', { headers: { 'x-request-id': 'find-me' } });

  t.is(status, 500);
  t.is(body?.error?.code, 'internal_error');
  t.notRegex(JSON.stringify(body), /secret-of-the-cause/u);
  t.like(log.lines[0]?.fields, { request_id: 'find-me' });
});

test('a database that does not answer is a 503 with Retry-After, and no bug', async (t) => {
  const { request, log } = await serveApi(t, {
    reads: {
      list: async () => {
        throw new DatabaseUnavailable();
      },
    },
  });

  const { status, body, headers } = await request('GET', '/api/v1/nodes');

  t.is(status, 503);
  t.is(body?.error?.code, 'service_unavailable');
  t.is(headers.get('retry-after'), '1');
  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('what is not HTTP gets the error body and its connection closed', async (t) => {
  const { url } = await serveApi(t);

  const garbage = await raw(url, 'NOT HTTP AT ALL\r\n\r\n');
  const headers = await raw(url, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`);

  t.regex(garbage, /^HTTP\/1\.1 400 [^]*"code":"bad_request"/u);
  t.regex(headers, /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*"headers":\["must be at most 65536 bytes in all"\]/u);
});

test('slow, idle and endless connections have their bounds', async (t) => {
  const {
    api: { server },
  } = await serveApi(t);

  t.like(server, { requestTimeout: 30_000, timeout: 120_000, keepAliveTimeout: 72_000, maxHeadersCount: 100 });
});

test('a request that offers a protocol which is not spoken here is answered as one that offers none', async (t) => {
  const { url, asked } = await serveApi(t);
  const offering = (line: string, body = '') =>
    raw(
      url,
      [
        `${line} HTTP/1.1`,
        'Host: 127.0.0.1',
        `Authorization: Bearer ${KEYS.api}`,
        'Connection: Upgrade, HTTP2-Settings, close',
        'Upgrade: h2c', // as `curl --http2` and Java's HttpClient do
        'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
        `Content-Length: ${body.length}`,
        ...(body === '' ? [] : ['Content-Type: application/json']),
        `\r\n${body}`,
      ].join('\r\n'),
    );

  t.regex(await offering('GET /api/v1/nodes'), /^HTTP\/1\.1 200 [^]*"data":\[\]/u);
  t.regex(await offering('POST /api/v1/clusters', '{"name":"one"}'), /^HTTP\/1\.1 201 /u);
  t.is(asked.length, 1);
  t.regex(await offering('GET /api/v1/nope'), /^HTTP\/1\.1 404 /u);
});

test('an upgrade of an unknown path gets a 404 and its socket closed; a known one is handed over', async (t) => {
  const { api, url } = await serveApi(t);
  api.onUpgrade('/known', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhello'));
  const upgrade = (path: string) =>
    raw(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);

  t.regex(await upgrade('/unknown'), /^HTTP\/1\.1 404 [^]*"code":"not_found"/u);
  t.regex(await upgrade('/known?with=query'), /101 [^]*hello$/u);
});

test('closing refuses new requests, lets one in flight end, and ends taken-over sockets', async (t) => {
  const inFlight = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const { api, url, request } = await serveApi(t, {
    reads: {
      list: async () => {
        inFlight.resolve();
        await release.promise;
        return { rows: [], totalCount: 0 };
      },
    },
  });
  const upgraded = Promise.withResolvers<void>();
  api.onUpgrade('/held', () => upgraded.resolve());
  const held = raw(url, 'GET /held HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: edge-tunnel\r\n\r\n');
  const pending = request('GET', '/api/v1/nodes');
  await Promise.all([inFlight.promise, upgraded.promise]);

  const closed = api.close();
  release.resolve();

  t.is((await pending).status, 200);
  t.is(await held, '');
  await closed;
  await t.throwsAsync(fetch(url));
});
