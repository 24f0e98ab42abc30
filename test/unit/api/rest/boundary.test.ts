/** What HTTP itself promises around every route: methods, ids, encodings and words. */
import { once } from 'node:events';
import test from 'ava';
import { WHOLE } from '../../../../actors/standing.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { registerAssets } from '../../../../api/console/assets.ts';
import type { AnyOperation } from '../../../../api/operation.ts';
import { inputSchema } from '../../../../api/schemas.ts';
import { KEYS, serveApi, SOME_ID } from '../../../support/api/fakes.ts';
import { serve } from '../../../support/api/served.ts';
import { writeFirst } from './boundary-fixture.ts';

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
    ['POST', '/releases/metadata/timestamp.json', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/releases/', 'GET, HEAD, OPTIONS'],
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

test('another method of a page of the console is a 405 however deep it lies, and what lies beside is unknown', async (t) => {
  const { url } = await serve(t, {
    mounts: () => [({ app }) => registerAssets(app, async () => null, { find: async () => null })],
  });
  const answers = async (method: string, path: string) => {
    const { status, headers } = await fetch(url + path, { method });
    return [status, headers.get('allow')];
  };

  for (const path of ['/console', '/console/nodes', `/console/nodes/${SOME_ID}?tab=events`, '/console/assets/x.js']) {
    t.deepEqual(await answers('POST', path), [405, 'GET, HEAD, OPTIONS'], path);
    t.deepEqual(await answers('OPTIONS', path), [204, 'GET, HEAD, OPTIONS'], path);
  }
  for (const path of ['/consoles', '/consoles/nodes', '/releases'])
    t.deepEqual(await answers('POST', path), [404, null], path);
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
      const url = `/api/v1${path.replaceAll(/:(?:id|node_id)\b/gu, id).replace(':key', 'env')}`;
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
      standing: () => ({ ...WHOLE, kind: 'overfull' }),
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
