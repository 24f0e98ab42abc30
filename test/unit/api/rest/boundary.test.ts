/**
 * What HTTP itself promises around every route: methods, sizes, and answers that arrive although nobody waited for
 * them.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { catalogue } from '../../../../api/catalogue.ts';
import { IN_VALUES_MAX } from '../../../../api/list-input.ts';
import type { AnyOperation } from '../../../../api/operation.ts';
import { inputSchema } from '../../../../api/schemas.ts';
import { LINGER_BYTES_MAX } from '../../../../api/rest/lingering.ts';
import { until } from '../../../support/until.ts';
import { KEYS, serveApi, SOME_ID } from '../../../support/api/fakes.ts';

const AUTHORIZATION = `Authorization: Bearer ${KEYS.api}\r\n`;

/** A client of the old kind: it writes all that it has, and only then looks at what came back. */
async function writeFirst(
  url: string,
  head: string,
  pieces: Iterable<Buffer>,
): Promise<{ readonly socket: Socket; readonly answer: () => string; readonly writtenBytes: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  const closed = new Promise<true>((resolve) => {
    socket.once('close', () => resolve(true));
  });
  socket.on('error', () => {});
  let received = '';
  let writtenBytes = 0;
  socket.write(head);
  for (const piece of pieces) {
    const isFull = !socket.write(piece);
    if (
      isFull &&
      (await Promise.race([
        closed,
        new Promise<false>((resolve) => {
          socket.once('drain', () => resolve(false));
        }),
      ]))
    )
      break;
    writtenBytes += piece.length;
  }
  socket.on('data', (piece) => {
    received += piece.toString();
  });
  return { socket, answer: () => received, writtenBytes };
}

function* pieces(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), 0x20);
}

test('a client that writes a body above the limit to its end reads the 413, and may go on', async (t) => {
  const { url } = await serveApi(t);
  const bytes = 6_000_000;

  for (const [framing, end] of [
    [`Content-Length: ${bytes}\r\n`, ''],
    ['Transfer-Encoding: chunked\r\n', '\r\n0\r\n\r\n'],
  ] as const) {
    const head = `POST /api/v1/commands HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}Content-Type: application/json\r\n${framing}\r\n${end === '' ? '' : `${bytes.toString(16)}\r\n`}`;
    const { socket, answer, writtenBytes } = await writeFirst(url, head, pieces(bytes));
    t.is(writtenBytes, bytes, 'nobody hung up on it');
    await until('the answer', () => answer().includes('payload_too_large'));
    t.regex(answer(), /^HTTP\/1\.1 413 /u);
    socket.write(`${end}GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    t.regex(answer(), /HTTP\/1\.1 200 /u);
  }
});

test('a body that goes on and on after its answer is cut, whoever sends it', async (t) => {
  const { url } = await serveApi(t);

  for (const credential of [AUTHORIZATION, '']) {
    const head = `POST /api/v1/commands HTTP/1.1\r\nHost: x\r\n${credential}Content-Type: application/json\r\nContent-Length: ${40 * LINGER_BYTES_MAX}\r\n\r\n`;
    const { writtenBytes } = await writeFirst(url, head, pieces(40 * LINGER_BYTES_MAX));
    t.true(writtenBytes < 3 * LINGER_BYTES_MAX, `${writtenBytes} bytes went in`);
  }
});

test('headers above the limit, and what is no HTTP, get their answer although more of them comes', async (t) => {
  const { url } = await serveApi(t);

  for (const head of ['GET / HTTP/1.1\r\nHost: x\r\nX-Long: ', 'NO HTTP AT ALL\r\n\r\n']) {
    const { socket, answer, writtenBytes } = await writeFirst(url, head, pieces(2_000_000));
    t.is(writtenBytes, 2_000_000);
    socket.end();
    await once(socket, 'close');
    t.regex(answer(), /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*"details":\{/u);
  }
});

test('every list takes as many ids in each of its filters as are promised, with the others beside them', async (t) => {
  const { request } = await serveApi(t);
  const ids = Array.from(
    { length: IN_VALUES_MAX },
    (_, index) => `0193A1C2-7B1E-7C44-9D3A-${index.toString(16).padStart(12, '0')}`,
  );

  for (const path of [
    '/nodes?node_id__in=',
    '/command_executions?page_size=1&command_id__in=',
    '/ssh_public_keys?ssh_username_id__in=',
  ]) {
    t.is((await request('GET', `/api/v1${path}${encodeURIComponent(ids.join(','))}`)).status, 200, path);
  }
  const all = new URLSearchParams({
    node_id__in: ids.join(','),
    enrollment_key_id__in: ids.join(','),
    status__in: 'healthy,unhealthy',
    version: '1.*',
    page_size: '100',
    sort: '-inserted_at',
  });
  t.is((await request('GET', `/api/v1/nodes?${all.toString()}`)).status, 200);
  t.is((await request('GET', `/api/v1/nodes?node_id__in=${[...ids, SOME_ID].join(',')}`)).status, 400);
});

test('more headers than are read are refused, and not forgotten in silence', async (t) => {
  const { request } = await serveApi(t);
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'x']));

  const { status, body } = await request('GET', '/api/v1/nodes', { headers: headers(101) });

  t.deepEqual([status, body?.error?.code], [400, 'bad_request']);
  t.is((await request('GET', '/api/v1/nodes', { headers: headers(80) })).status, 200);
});

test('another method of a known path is a 405 that names those that there are, and OPTIONS names them as well', async (t) => {
  const { request, url } = await serveApi(t);
  const cases: readonly (readonly [string, string, string])[] = [
    ['PUT', '/api/v1/nodes', 'GET, HEAD, OPTIONS'],
    ['POST', `/api/v1/nodes/${SOME_ID}`, 'DELETE, GET, HEAD, OPTIONS'],
    ['DELETE', '/api/v1/commands?x=1', 'GET, HEAD, POST, OPTIONS'],
    ['GET', '/api/v1/clusters/default/enrollment_keys/public', 'POST, OPTIONS'],
    ['QUERY', '/api/v1/nodes', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/api/v1/nodes', 'GET, HEAD, OPTIONS'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/openapi', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/v1/agents/enroll', 'POST, OPTIONS'],
  ];

  for (const [method, path, allow] of cases) {
    const refused = await request(method, path, { headers: { authorization: '' } });
    t.deepEqual(
      [refused.status, refused.body?.error?.code, refused.headers.get('allow')],
      [405, 'method_not_allowed', allow],
      path,
    );
    const asked = await fetch(url + path, { method: 'OPTIONS' });
    t.deepEqual([asked.status, asked.headers.get('allow'), await asked.text()], [204, allow, ''], path);
    t.is(asked.headers.get('access-control-allow-origin'), null);
  }
  t.is((await request('OPTIONS', '/api/v1/nope')).status, 404);
  t.is((await request('PUT', '/api/v1/nodes/')).status, 404, 'an empty id is none');
});

test('HEAD of what can be read says what GET would, without the body, and to nobody without a key', async (t) => {
  const { request } = await serveApi(t);

  const { status, headers, body } = await request('HEAD', '/api/v1/nodes');

  t.deepEqual([status, body], [200, null]);
  t.regex(headers.get('content-type') ?? '', /^application\/json/u);
  t.is((await request('HEAD', '/api/v1/nodes', { headers: { authorization: '' } })).status, 401);
  t.is((await request('HEAD', `/api/v1/nodes/${SOME_ID}`)).status, 404);
});

test('an id in capitals is the same id, on every route that takes one', async (t) => {
  const { request, asked } = await serveApi(t);
  const routes = Object.values(catalogue).flatMap((operation: AnyOperation) =>
    operation.rest !== null && /:(?:id|node_id)\b/u.test(operation.rest.path)
      ? [{ ...operation.rest, required: inputSchema(operation).required ?? [] }]
      : [],
  );
  const values: Readonly<Record<string, string>> = {
    name: 'one',
    cluster_name: 'one',
    username: 'somebody',
    key_name: 'x',
    public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDjJlyEKyYYAGpFgwHW6t2FEuOEKgo1tGV8Ar5qPSkFS',
  };
  t.true(routes.length > 25);

  for (const { method, path, required } of routes) {
    const body = Object.fromEntries(
      required.flatMap((field) => (values[field] === undefined ? [] : [[field, values[field]]])),
    );
    const answers = [];
    for (const id of [SOME_ID, SOME_ID.toUpperCase()]) {
      const url = `/api/v1${path.replaceAll(/:(?:id|node_id)\b/gu, id)}`;
      answers.push(await request(method, url, method === 'GET' || Object.keys(body).length === 0 ? {} : { body }));
    }
    const [lower, upper] = answers.map(({ status, body }) => [status, body?.error?.code ?? null]);
    t.deepEqual(upper, lower, `${method} ${path}`);
    t.not(lower?.[0], 400, path);
  }
  t.deepEqual([...new Set(asked.map(({ to }) => to.id))], [SOME_ID as never]);
});

test('whatever passes by itself says when to try again: on REST, over tRPC and at the health routes', async (t) => {
  const refusal = { code: 'service_unavailable', message: 'The node is away.' } as const;
  const { request } = await serveApi(t, {
    ports: {
      checkHealth: async () => [{ name: 'database', healthy: false, duration_ms: 1, error: 'no answer' }],
      isDegraded: () => true,
      nodeDiagnoses: { get: async () => ({ ok: false, refusal }), take: async () => ({ ok: false, refusal }) },
    },
  });

  const away = await request('GET', `/api/v1/nodes/${SOME_ID}/diagnostics`);
  const metrics = await request('GET', `/api/v1/nodes/${SOME_ID}/metrics/host/raw`, {
    headers: { authorization: `Bearer ${KEYS.metrics}` },
  });
  const degraded = await request('POST', '/api/v1/clusters', { body: { name: 'one' } });
  const unhealthy = await request('GET', '/healthz');

  for (const { status, headers } of [away, metrics, degraded, unhealthy])
    t.deepEqual([status, headers.get('retry-after')], [503, '5']);
});

test('a body that says of itself that it is no plain UTF-8 is refused with what it should be, on every surface', async (t) => {
  const { request } = await serveApi(t);
  const post = async (headers: Readonly<Record<string, string>>, body = '{}') => {
    const { status, body: answer } = await request('POST', '/api/v1/clusters', { body, headers });
    return [status, answer?.error?.code, Object.keys(answer?.error?.details ?? {})];
  };

  for (const charset of ['latin1', 'utf-16', '"iso-8859-1"'])
    t.deepEqual(
      await post({ 'content-type': `application/json; charset=${charset}` }),
      [415, 'unsupported_media_type', ['Content-Type']],
      charset,
    );
  for (const charset of ['utf-8', 'UTF8', '"utf-8"'])
    t.deepEqual(
      await post({ 'content-type': `application/json; charset=${charset}` }),
      [422, 'validation_failed', ['name']],
      charset,
    );
  t.deepEqual(await post({ 'content-encoding': 'gzip' }), [415, 'unsupported_media_type', ['Content-Encoding']]);
  const broken = await request('POST', '/api/v1/clusters', { body: '{"name":\n"a-secret",}' });
  t.deepEqual([broken.status, broken.body?.error?.details], [400, { body: ['is not JSON at line 2, column 12'] }]);
});

test('a tunnel and an expectation that are not offered are refused in words', async (t) => {
  const { url } = await serveApi(t);

  for (const [head, answer] of [
    [
      'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n',
      /^HTTP\/1\.1 405 [^]*\r\nallow: GET[^]*"code":"method_not_allowed"[^]*ADMIN_HTTP_PROXY_PORT/u,
    ],
    [
      'POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}',
      /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*100-continue/u,
    ],
  ] as const) {
    const { socket, answer: said } = await writeFirst(url, head, []);
    socket.end();
    await once(socket, 'close');
    t.regex(said(), answer);
  }
});

test('what is wrong with a field is said in words that name what it should be', async (t) => {
  const { request } = await serveApi(t);
  const details = async (method: string, path: string, body?: object) =>
    (await request(method, `/api/v1${path}`, body === undefined ? {} : { body })).body?.error?.details;

  t.deepEqual(await details('GET', '/nodes?status=healthy&page=x&page_size=1000&sort=name&self_update_enabled=yes'), {
    status: ['is not known; there is status__in'],
    page: ['must be a number'],
    page_size: ['must be at most 100'],
    self_update_enabled: ['must be true or false'],
    'sort.0': [
      'must be one of cluster_name, -cluster_name, status, -status, version, -version, last_seen_at, -last_seen_at, inserted_at, -inserted_at, updated_at, -updated_at',
    ],
  });
  t.deepEqual(
    await details('POST', '/commands', {
      command_text: '',
      targeting: { type: 'nodes', node_ids: [] },
      timeout: 1.5,
      expired_at: '2030-01-01',
    }),
    {
      command_text: ['must not be empty'],
      'targeting.node_ids': ['must have at least 1 entry'],
      timeout: ['must be an integer'],
      expired_at: ['must be an ISO 8601 date-time with a time zone, such as 2030-01-31T12:00:00Z'],
    },
  );
  t.deepEqual(await details('POST', '/clusters', { name: null, ipv4_range: 'ten', node_limit: '5' }), {
    name: ['must be a string'],
    ipv4_range: ['must be an IPv4 range, such as 100.64.0.0/24'],
    node_limit: ['must be a number'],
  });
});
