/**
 * What hostile or careless clients send: values that have broken parsers, columns and prototypes before, and inputs
 * made of them.
 */
import * as fc from 'fast-check';
import type { AnyOperation } from '../../../api/operation.ts';
import { refusedStatuses } from '../../../api/docs/refusals.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { SOME_ID } from './fakes.ts';

const NASTY = [
  '',
  ' ',
  '*',
  '**',
  '\\',
  'a%_b\\',
  'default',
  'null',
  'NaN',
  'a\u0000b',
  '\ud800',
  '%',
  "'; drop table node; --",
  '../../..',
  '2026-02-30',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '2026-01-01',
  '2026-01-01T00:00:00.123456789Z',
  '-0',
  SOME_ID,
  SOME_ID.toUpperCase(),
  '00000000-0000-0000-0000-000000000000',
  '10.0.0.0/8',
  '10.0.0.1/33',
  '0.0.0.0/0',
  'fd00::/64',
  '::/0',
  '[',
  '{"a":1}',
  'x'.repeat(5_000),
  0,
  -0,
  -1,
  1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  2_147_483_647,
  2_147_483_648,
  true,
  false,
  null,
  [],
  [[]],
  {},
  { type: 'all' },
  { type: 'nodes', node_ids: [SOME_ID] },
  [SOME_ID, SOME_ID],
  { $ne: null },
];

/** Any value. */
export const anything = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer(),
  fc.double(),
);

/** Mostly an object whose keys are mostly those of the operation's input. */
export function inputs(operation: AnyOperation) {
  const fields = Object.keys(inputSchema(operation).properties ?? {});
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...fields, 'nope') },
    fc.constantFrom('__proto__', 'constructor', 'toString', 'input'),
    fc.string({ unit: 'binary', maxLength: 10 }),
  );
  return fc.oneof({ weight: 8, arbitrary: fc.dictionary(key, anything, { maxKeys: 8 }) }, anything);
}

const pathPart = fc.oneof(
  fc.constantFrom(SOME_ID, 'one', 'default', 'nope', '%00', '%ff', '%F0%9F%92%A9', '..%2f..', 'a*'),
  fc.string({ unit: 'binary-ascii', maxLength: 20 }).map(encodeURIComponent),
);

/**
 * One request to a REST route of these operations: method, path with query, JSON body where there is one, and the
 * statuses that may come of it.
 */
export function requests(operations: readonly AnyOperation[], parameters: fc.Arbitrary<string> = pathPart) {
  const routed = operations.flatMap((operation) =>
    operation.rest === null ? [] : [{ operation, rest: operation.rest }],
  );
  return fc.constantFrom(...routed).chain(({ operation, rest }) => {
    const fields = Object.keys(inputSchema(operation).properties ?? {});
    const query: fc.Arbitrary<readonly (readonly [string, unknown])[]> = fc.array(
      fc.tuple(fc.constantFrom(...fields, '__proto__', 'a[b]', '', 'nope'), anything),
      {
        maxLength: 4,
      },
    );
    return fc
      .record({
        parameter: fc.oneof(parameters, pathPart),
        query: rest.method === 'GET' ? query : fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, query),
        body: inputs(operation),
      })
      .map(({ parameter, query, body }) => ({
        declared: [rest.status, 202, 405, ...refusedStatuses(operation, rest)], // an empty parameter is another path
        method: rest.method,
        path: `/api/v1${rest.path.replaceAll(/:\w+/gu, () => parameter)}${query.length === 0 ? '' : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${textOf(value)}`).join('&')}`}`,
        body: rest.method === 'GET' ? undefined : body,
      }));
  });
}

/** A value as it may stand in a query; a lone surrogate has no such form. */
function textOf(value: unknown): string {
  return encodeURIComponent(
    (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 2_000).toWellFormed(),
  );
}
