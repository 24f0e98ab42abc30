/**
 * Every operation takes anything that clients may send, and answers no 500. Made from the catalogue: a new operation is
 * fuzzed at once.
 */
import * as fc from 'fast-check';
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { KEYS, serveApi, type ServedApi } from '../../support/api/fakes.ts';
import { inputs, requests } from '../../support/api/hostile.ts';
import { createScope } from '../../support/scope.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

const scope = createScope();
let served: ServedApi;
test.before(async () => {
  served = await serveApi(scope);
});
test.after.always(() => scope.end());

for (const operation of operations) {
  test(`${operation.name} takes any input without a fault`, async (t) => {
    const { api, log } = served;

    await fc.assert(
      fc.asyncProperty(inputs(operation), async (input) => {
        const result = await api.call(operation, input, {
          surface: 'trpc',
          credential: KEYS.master,
          address: '192.0.2.1',
          host: undefined,
          requestId: 'r',
          idempotencyKey: null,
        });
        return result.ok || result.refusal.code !== 'internal_error';
      }),
      { numRuns: 150 },
    );

    t.deepEqual(
      log.lines.filter(({ level }) => level !== 'debug'),
      [],
    );
  });
}

test('no path, query or body makes a REST route answer 500, or what its documentation does not declare', async (t) => {
  const { request, log } = await serveApi(t);

  await fc.assert(
    fc.asyncProperty(requests(operations), async ({ method, path, body, declared }) => {
      const { status, body: answer } = await request(
        method,
        path,
        body === undefined ? {} : { body: JSON.stringify(body) },
      );
      return status < 500 && declared.includes(status) && (status === 204 || answer?.meta !== undefined);
    }),
    { numRuns: 400 },
  );

  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});
