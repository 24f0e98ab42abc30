/** Every operation takes anything that clients may send, and answers no 500. Made from the catalogue: a new operation is fuzzed at once. */
import * as fc from 'fast-check';
import test from 'ava';
import { catalogue } from '../../api/catalogue.ts';
import type { AnyOperation } from '../../api/operation.ts';
import { inputSchema } from '../../api/schemas.ts';
import { KEYS, serveApi, SOME_ID } from './fakes.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

/** Values that have broken parsers, columns and prototypes before. */
const NASTY = [
  '', ' ', '*', 'default', 'null', 'NaN', 'a\u0000b', '\ud800', '%', "'; drop table node; --", '../..', '2026-02-30', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00', '-0',
  SOME_ID, SOME_ID.toUpperCase(), '10.0.0.0/8', '10.0.0.1/33', 'fd00::/64', '::/0', '[', '{"a":1}', 'x'.repeat(5_000),
  0, -0, -1, 1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, 2_147_483_648, true, false, null, [], [[]], {}, { type: 'all' }, [SOME_ID, SOME_ID], { $ne: null },
];

const anything = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...NASTY) }, fc.jsonValue({ maxDepth: 4 }), fc.string({ unit: 'binary', maxLength: 40 }), fc.integer(), fc.double());

/** An object whose keys are mostly those of the operation's input. */
function inputs(operation: AnyOperation) {
  const fields = Object.keys(inputSchema(operation).properties ?? {});
  const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...fields, 'nope') }, fc.constantFrom('__proto__', 'constructor', 'toString', 'input'), fc.string({ unit: 'binary', maxLength: 10 }));
  return fc.oneof({ weight: 8, arbitrary: fc.dictionary(key, anything, { maxKeys: 8 }) }, anything);
}

for (const operation of operations) {
  test(`${operation.name} takes any input without a fault`, async (t) => {
    const { api, log } = await serveApi(t);

    await fc.assert(fc.asyncProperty(inputs(operation), async (input) => {
      const result = await api.call(operation, input, { surface: 'trpc', credential: KEYS.master, address: '192.0.2.1', requestId: 'r', idempotencyKey: null });
      return result.ok || result.refusal.code !== 'internal_error';
    }), { numRuns: 150 });

    t.deepEqual(log.lines, []);
  });
}

test('no path, query or body makes a REST route answer 500', async (t) => {
  const { request, log } = await serveApi(t);
  const routed = operations.filter(({ rest }) => rest !== null);
  const part = fc.oneof(fc.constantFrom(SOME_ID, 'one', 'default', 'nope', '%00', '%ff', '%F0%9F%92%A9', '..%2f..', 'a*'), fc.string({ unit: 'binary-ascii', maxLength: 20 }).map(encodeURIComponent));
  const query = fc.array(fc.tuple(fc.constantFrom('page', 'page_size', 'sort', 'name', 'name__in', 'status__in', 'inserted_at__gte', '__proto__', 'a[b]', '', 'nope'), fc.oneof(part, fc.constantFrom('1', '-1', '1e9', 'true', ',', '&', '=', '2026-01-01'))), { maxLength: 3 });

  await fc.assert(fc.asyncProperty(fc.constantFrom(...routed), part, fc.option(query), fc.option(anything), async (operation, parameter, search, body) => {
    const { method, path } = operation.rest ?? { method: 'GET', path: '' };
    const text = search === null ? '' : `?${search.map(([name, value]) => `${encodeURIComponent(name)}=${value}`).join('&')}`;
    const { status, body: answer } = await request(method, `/api/v1${path.replaceAll(/:\w+/gu, () => parameter)}${text}`, method === 'GET' || body === null ? {} : { body: typeof body === 'string' ? JSON.stringify(body) : body });
    return status < 500 && (status === 204 || answer?.meta !== undefined);
  }), { numRuns: 400 });

  t.deepEqual(log.lines, []);
});
