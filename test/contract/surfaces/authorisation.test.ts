/** The authorisation matrix, made from the catalogue: a new operation is covered at once. */
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import type { Surface } from '../../../api/surface.ts';
import { KEYS, serveApi, SOME_ID, type ServedApi } from '../../support/api/fakes.ts';
import { createScope } from '../../support/scope.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

const scope = createScope();
let served: ServedApi;
test.before(async () => {
  served = await serveApi(scope);
});
test.after.always(() => scope.end());

/** Whether a key reaches an operation. Source: docs/api.md, Authentication. */
function reaches(key: keyof typeof KEYS, { scope }: AnyOperation, surface: Surface): boolean {
  if (key === 'master' || scope === 'public') return true;
  if (surface === 'mcp') return key === 'mcp';
  return key === (scope === 'metrics' ? 'metrics' : 'api');
}

for (const operation of operations) {
  test(`${operation.name} refuses a missing, a wrong and an out-of-scope key, and takes the right ones, on every surface`, async (t) => {
    const { api } = served;
    const codeOf = async (surface: Surface, credential: string | null) => {
      const result = await api.call(
        operation,
        {},
        { surface, credential, address: '192.0.2.1', host: undefined, requestId: 'r', idempotencyKey: null },
      );
      return result.ok ? null : result.refusal.code;
    };

    for (const surface of ['rest', 'trpc', 'mcp'] as const) {
      const isPublic = operation.scope === 'public';
      t.is((await codeOf(surface, null)) === 'unauthorized', !isPublic, `${surface}, no key`);
      t.is(
        (await codeOf(surface, 'wrong-key-of-the-tests-12345')) === 'unauthorized',
        !isPublic,
        `${surface}, a wrong key`,
      );
      t.is((await codeOf(surface, '')) === 'unauthorized', !isPublic, `${surface}, an empty key`);
      for (const key of Object.keys(KEYS) as (keyof typeof KEYS)[]) {
        const code = await codeOf(surface, KEYS[key]);
        if (isPublic) t.not(code, 'unauthorized', `${surface}, ${key}`);
        else if (reaches(key, operation, surface))
          t.false(code === 'forbidden' || code === 'unauthorized', `${surface}, ${key}`);
        else t.is(code, 'forbidden', `${surface}, ${key}`);
      }
    }
  });
}

test('every REST route answers 401 with a challenge before it reads the body, and 403 to a key of another scope', async (t) => {
  const { request, asked } = await serveApi(t);

  for (const { rest, scope, name } of operations) {
    if (rest === null || scope === 'public') continue;
    const path = `/api/v1${rest.path.replaceAll(/:\w+/gu, SOME_ID)}`;
    const body = rest.method === 'GET' || rest.method === 'DELETE' ? {} : { body: '{ not json' };

    const missing = await request(rest.method, path, { ...body, headers: { authorization: '' } });
    const other = await request(rest.method, path, { ...body, headers: { authorization: `Bearer ${KEYS.proxy}` } });

    t.is(missing.status, 401, name);
    t.is(missing.headers.get('www-authenticate'), 'Bearer', name);
    t.is(other.status, 403, name);
    t.is(other.body?.error?.code, 'forbidden', name);
  }
  t.deepEqual(asked, []);
});

test('with enforcement off nobody needs a key, and the metrics flag is apart', async (t) => {
  const { request } = await serveApi(t, { gate: { apiAuthEnabled: false } });

  t.is((await request('GET', '/api/v1/nodes', { headers: { authorization: '' } })).status, 200);
});

test('an address with too many wrong keys gets 429 with Retry-After, others get 401, and a right key still works', async (t) => {
  const { api, clock, request } = await serveApi(t, { gate: { failuresPerMinuteMax: 3 } });
  const tryKey = async (address: string, credential: string) => {
    const result = await api.call(
      catalogue.get_admin,
      {},
      { surface: 'rest', credential, address, host: undefined, requestId: 'r', idempotencyKey: null },
    );
    return result.ok ? 'in' : [result.refusal.code, result.refusal.retryAfterSeconds];
  };
  const wrong = 'wrong-key-of-the-tests-12345';
  for (let tries = 0; tries < 3; tries += 1) t.deepEqual(await tryKey('192.0.2.1', wrong), ['unauthorized', undefined]);
  clock.nowMs += 20_000;

  t.deepEqual(await tryKey('192.0.2.1', wrong), ['rate_limited', 40]);
  t.deepEqual(await tryKey('192.0.2.2', wrong), ['unauthorized', undefined]);
  t.is(await tryKey('192.0.2.1', KEYS.api), 'in');

  clock.nowMs += 40_000;
  t.deepEqual(await tryKey('192.0.2.1', wrong), ['unauthorized', undefined]);
  const headers = { authorization: `Bearer ${wrong}` };
  for (let tries = 0; tries < 3; tries += 1) await request('GET', '/api/v1/nodes', { headers });
  const limited = await request('GET', '/api/v1/nodes', { headers });
  t.is(limited.status, 429);
  t.is(limited.headers.get('retry-after'), '60');
});

test('when all keys are the master key, as by default, it reaches everything', async (t) => {
  const key = KEYS.master;
  const { api } = await serveApi(t, { gate: { apiKey: key, metricsKey: key, mcpKey: key, proxyKey: key } });

  for (const surface of ['rest', 'trpc', 'mcp'] as const) {
    const result = await api.call(
      catalogue.get_admin,
      {},
      { surface, credential: key, address: '192.0.2.1', host: undefined, requestId: 'r', idempotencyKey: null },
    );
    t.true(result.ok);
  }
});
