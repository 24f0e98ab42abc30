/**
 * What hostile or careless clients send: values that have broken parsers, columns and prototypes before, and inputs
 * made of them.
 */
import * as fc from 'fast-check';
import type { AnyOperation } from '../../../api/operation.ts';
import { refusedStatuses } from '../../../api/docs/refusals.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { FACTS } from '../actors.ts';
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

/**
 * Labels and what names nodes by them: right, nearly right, and over their limits. Chance would hardly ever make them.
 */
const LABELS = [
  { env: 'prod' },
  { 'example.com/tier': '', zone: 'a' },
  { constructor: 'a', toString: 'b' },
  JSON.parse('{"__proto__":"a"}') as unknown,
  { '': '' },
  { '-x': 'pr od' },
  { env: null },
  { ['k'.repeat(64)]: 'v'.repeat(64) },
  Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ''])),
];
const SELECTORS = [
  'env=prod',
  'env!=prod,tier notin (a,b),!gpu',
  'zone in (a, b, )',
  'constructor,__proto__=a',
  'env in (',
  '!',
  ',',
  '='.repeat(4_000),
  Array.from({ length: 33 }, (_, index) => `k${index}`).join(','),
];
const TARGETINGS = [
  ...SELECTORS.map((labels) => ({ type: 'all', labels })),
  { type: 'clusters', cluster_names: ['one'], labels: 'env' },
  { type: 'all', node_filters: { labels: 'env=prod', os__in: ['debian', '*'], version__gte: '1.0.0-rc.1' } },
  { type: 'group', group: 'web' },
  { type: 'group', group: 'web', labels: '!env' },
  { type: 'group', group: { type: 'all' } },
];

const FACTS_OF_MACHINES = [
  FACTS,
  { ...FACTS, hostname: '100.64.0.7' },
  { ...FACTS, hostname: 'h'.repeat(254) },
  { ...FACTS, cpu_count: 0 },
  { ...FACTS, memory_bytes: Number.MAX_SAFE_INTEGER, kernel: '\u0000' },
  { ...FACTS, arch: undefined },
];

/** By the name of a field: values that come near to what it wants. */
const FITTING: Readonly<Record<string, readonly unknown[]>> = {
  labels: [...LABELS, ...SELECTORS],
  set: LABELS,
  facts: FACTS_OF_MACHINES,
  remove: [['env'], ['env', 'env'], ['-x'], ['__proto__'], Array.from({ length: 65 }, (_, index) => `k${index}`)],
  targeting: TARGETINGS,
  group: ['web', 'WEB', 'nope'],
  os__in: ['debian', 'debian,*', 'a'.repeat(300)],
  hostname: ['web-*', '*', '%'],
  version__gte: ['1.0', 'v1.2.3-rc.1+build', '..', '1.'.repeat(100)],
};

/** A value for this field: anything, and often enough one that comes near to what it wants. */
export function hostileValues(field: string): fc.Arbitrary<unknown> {
  const fitting = FITTING[field];
  return fitting === undefined || !Object.hasOwn(FITTING, field)
    ? anything
    : fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...fitting) }, anything);
}

/** Mostly an object whose keys are mostly those of the operation's input. */
export function inputs(operation: AnyOperation) {
  const fields = Object.keys(inputSchema(operation).properties ?? {});
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...fields, 'nope') },
    fc.constantFrom('__proto__', 'constructor', 'toString', 'input'),
    fc.string({ unit: 'binary', maxLength: 10 }),
  );
  const entry = key.chain((name) => fc.tuple(fc.constant(name), hostileValues(name)));
  const entries = fc.uniqueArray(entry, { maxLength: 8, selector: ([name]) => name });
  return fc.oneof({ weight: 8, arbitrary: entries.map((all): unknown => Object.fromEntries(all)) }, anything);
}

const pathPart = fc.oneof(
  fc.constantFrom(SOME_ID, 'one', 'default', 'nope', '%00', '%ff', '%F0%9F%92%A9', '..%2f..', 'a*', 'env', 'a.b%2Fenv'),
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
      fc
        .constantFrom(...fields, '__proto__', 'a[b]', '', 'nope')
        .chain((name) => fc.tuple(fc.constant(name), hostileValues(name))),
      {
        maxLength: 4,
      },
    );
    return fc
      .record({
        given: fc.tuple(fc.oneof(parameters, pathPart), fc.oneof(parameters, pathPart)),
        query: rest.method === 'GET' ? query : fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, query),
        body: inputs(operation),
      })
      .map(({ given, query, body }) => ({
        declared: [rest.status, 202, 405, ...refusedStatuses(operation, rest)], // an empty parameter is another path
        method: rest.method,
        path: `/api/v1${rest.path.replaceAll(/:\w+/gu, placing(given))}${query.length === 0 ? '' : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${textOf(value)}`).join('&')}`}`,
        body: rest.method === 'GET' ? undefined : body,
      }));
  });
}

/** One parameter of a path after the other. */
function placing(given: readonly string[]): () => string {
  let place = 0;
  return () => {
    const parameter = given[place % given.length] ?? '';
    place += 1;
    return parameter;
  };
}

/** A value as it may stand in a query; a lone surrogate has no such form. */
function textOf(value: unknown): string {
  return encodeURIComponent(
    (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 2_000).toWellFormed(),
  );
}
