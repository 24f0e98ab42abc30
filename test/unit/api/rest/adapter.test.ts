/** What every REST answer looks like. */
import test from 'ava';
import { ok } from '../../../../actors/refusal.ts';
import { commandOf } from '../../../support/api/command.ts';
import { KEYS, NOW_MS, serveApi, SOME_ID } from '../../../support/api/fakes.ts';

test('a single answer is {data, meta}, with the request id of its header', async (t) => {
  const { request } = await serveApi(t, { reads: { get: async () => commandOf(SOME_ID) as never } });

  const { status, body, headers } = await request('GET', `/api/v1/commands/${SOME_ID}`);

  t.is(status, 200);
  t.deepEqual(body?.data, commandOf(SOME_ID) as never);
  t.deepEqual(Object.keys(body ?? {}), ['data', 'meta']);
  t.deepEqual(Object.keys(body?.meta ?? {}), ['request_id', 'timestamp']);
  t.is(headers.get('x-request-id'), body?.meta?.request_id ?? null);
  t.regex(body?.meta?.timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
});

test('a page says where it stands in its list', async (t) => {
  const { request } = await serveApi(t, {
    reads: { list: async () => ({ rows: [commandOf(SOME_ID)], totalCount: 41 }) as never },
  });

  const pagination = async (query: string) => (await request('GET', `/api/v1/commands${query}`)).body?.meta?.pagination;

  t.deepEqual(await pagination(''), {
    page: 1,
    page_size: 20,
    total_count: 41,
    total_pages: 3,
    has_next: true,
    has_prev: false,
    next_page: 2,
    prev_page: null,
  });
  t.deepEqual(await pagination('?page=3'), {
    page: 3,
    page_size: 20,
    total_count: 41,
    total_pages: 3,
    has_next: false,
    has_prev: true,
    next_page: null,
    prev_page: 2,
  });
  t.deepEqual(await pagination('?page_size=100'), {
    page: 1,
    page_size: 100,
    total_count: 41,
    total_pages: 1,
    has_next: false,
    has_prev: false,
    next_page: null,
    prev_page: null,
  });
});

test('a valid X-Request-Id is kept, any other is replaced', async (t) => {
  const { request } = await serveApi(t);
  const idFor = async (given: string) =>
    (await request('GET', '/nope', { headers: { 'x-request-id': given } })).headers.get('x-request-id');

  t.is(await idFor('my-request.1'), 'my-request.1');
  for (const bad of ['with space', '<script>', 'x'.repeat(129), ''])
    t.regex((await idFor(bad)) ?? '', /^[0-9a-f-]{36}$/u, bad);
});

test('health routes need no credential and answer 200 or 503 with the checks; requests at the same time share one run', async (t) => {
  let runs = 0;
  let healthy = true;
  const { request } = await serveApi(t, {
    ports: {
      checkHealth: async () => {
        runs += 1;
        return [{ name: 'database', healthy, duration_ms: 1, error: healthy ? null : 'no answer' }];
      },
    },
  });
  const get = (path: string) => request('GET', path, { headers: { authorization: '' } });

  for (const path of ['/healthz', '/readyz', '/health']) t.is((await get(path)).status, 200, path);
  healthy = false;
  const failed = await get('/healthz');

  t.is(failed.status, 503);
  t.deepEqual(failed.body as unknown, [{ name: 'database', healthy: false, duration_ms: 1, error: 'no answer' }]);
  t.is((await get('/livez')).status, 200);
  t.is(runs, 4);
});

test('a cancelled execution is a 200 when it is over and a 202 while its agent has it', async (t) => {
  let status = 'cancelled';
  const { request } = await serveApi(t, {
    ports: { ask: async () => ok(null) as never },
    reads: {
      executionNode: async () => ({ node: SOME_ID, status: 'sent' }) as never,
      get: async () => ({ status }) as never,
    },
  });
  const cancel = () => request('POST', `/api/v1/command_executions/${SOME_ID}/cancel`);

  t.is((await cancel()).status, 200);
  status = 'sent';
  t.is((await cancel()).status, 202);
});

test('answers of deletes are 204 without a body, and of a deleted cluster a 202', async (t) => {
  const { request } = await serveApi(t, {
    ports: { ask: async () => ok(null) as never },
    reads: { clusterId: async () => SOME_ID as never },
  });

  const node = await request('DELETE', `/api/v1/nodes/${SOME_ID}`);
  const cluster = await request('DELETE', '/api/v1/clusters/one');

  t.deepEqual([node.status, node.body], [204, null]);
  t.deepEqual([cluster.status, cluster.body?.data], [202, null as never]);
});

test('a public enrolment key needs no credential, and is refused where the operator did not allow it', async (t) => {
  const refused = await serveApi(t);
  const allowed = await serveApi(t, {
    operations: { publicEnrollmentKeyEnabled: true, defaultClusterName: 'main' },
    reads: { clusterId: async () => SOME_ID as never },
  });
  const path = '/api/v1/clusters/default/enrollment_keys/public';

  t.is((await refused.request('POST', path, { headers: { authorization: '' } })).status, 403);
  t.is((await allowed.request('POST', path, { headers: { authorization: '' } })).status, 201);
  t.like(allowed.asked[0]?.message, { type: 'create-key', usesRemaining: 1, expiredAtMs: NOW_MS + 3_600_000 });
  t.is(
    (await allowed.request('GET', '/api/v1/nodes', { headers: { authorization: `Bearer ${KEYS.mcp}` } })).status,
    403,
  );
});
