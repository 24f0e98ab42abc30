/**
 * What every operation can refuse, by status: for the OpenAPI document, which declares all of it. Source: docs/api.md,
 * Errors.
 */
import type { RefusalCode } from '../../actors/refusal.ts';
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';

type Json = Readonly<Record<string, unknown>>;

/** One status: the name of its response among the components, when it comes, and the codes under which. */
interface Refused {
  readonly name: string;
  readonly description: string;
  readonly codes: readonly RefusalCode[];
  /** Headers that come with it, always. */
  readonly headers?: Json;
}

const RETRY_AFTER: Json = {
  'Retry-After': {
    description: 'Seconds after which to try again.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
};
const CHALLENGE: Json = { 'WWW-Authenticate': { description: 'Bearer.', required: true, schema: { type: 'string' } } };

/** Every status of a refusal that an operation can answer. */
const REFUSED = {
  400: {
    name: 'BadRequest',
    description: 'The request cannot be read: malformed JSON, a malformed id, an unknown or malformed query parameter.',
    codes: ['bad_request'],
  },
  401: {
    name: 'Unauthorized',
    description: 'The credential is missing or wrong.',
    codes: ['unauthorized'],
    headers: CHALLENGE,
  },
  403: { name: 'Forbidden', description: 'The credential is valid, and does not reach here.', codes: ['forbidden'] },
  404: { name: 'NotFound', description: 'There is no such thing.', codes: ['not_found'] },
  409: {
    name: 'Conflict',
    description:
      'It does not fit the state of things: a name that is taken, something that is in use or over already, a key of a retried create with another body.',
    codes: ['conflict', 'idempotency_conflict'],
  },
  413: { name: 'PayloadTooLarge', description: 'The body is too large.', codes: ['payload_too_large'] },
  415: { name: 'UnsupportedMediaType', description: 'The body is no JSON.', codes: ['unsupported_media_type'] },
  422: { name: 'ValidationFailed', description: 'A field of the body is wrong.', codes: ['validation_failed'] },
  429: { name: 'RateLimited', description: 'Too many attempts.', codes: ['rate_limited'], headers: RETRY_AFTER },
  500: {
    name: 'InternalError',
    description: 'A bug. Its cause is in the log under the request id.',
    codes: ['internal_error'],
  },
  503: {
    name: 'ServiceUnavailable',
    description:
      'The database, the owner of the cluster or the node cannot be reached, or there is no room for a node or for all of them.',
    codes: ['service_unavailable', 'degraded_mode'],
    headers: RETRY_AFTER,
  },
} as const satisfies Readonly<Record<number, Refused>>;

type Status = keyof typeof REFUSED;

/** Of every operation: it may be asked wrongly, too often, and while something is away or broken. */
const ALWAYS: readonly Status[] = [400, 429, 500, 503];

/** Of those that need a key, and of those whose body is read. */
const WITH_KEY: readonly Status[] = [401, 403];
const WITH_BODY: readonly Status[] = [413, 415, 422];

/** Statuses with which this operation can refuse, in their order. */
export function refusedStatuses(
  { scope, conflicts, mayBeForbidden, mayBeMissing }: AnyOperation,
  { method, path }: RestRoute,
): readonly number[] {
  const statuses = [
    ...ALWAYS,
    ...(scope === 'public' ? [] : WITH_KEY),
    ...(mayBeForbidden ? [403] : []),
    ...(mayBeMissing || pathParameters(path).length > 0 ? [404] : []),
    ...(conflicts ? [409] : []),
    ...(method === 'GET' ? [] : WITH_BODY),
  ];
  return [...new Set(statuses)].toSorted((one, other) => one - other);
}

/** Statuses with which a route for monitoring systems can refuse. */
export function scrapeRefusedStatuses(hasParameters: boolean): readonly number[] {
  return [400, 401, 403, ...(hasParameters ? [404] : []), 429, 500, 503];
}

/** The responses of these statuses, by reference. */
export function refusedResponses(statuses: readonly number[]): Json {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${REFUSED[status as Status].name}` }]),
  );
}

/** The responses as components. Each has a schema of its own, since its codes are. */
export function refusedComponents(headers: Json): { readonly responses: Json; readonly schemas: Json } {
  const all: readonly Refused[] = Object.values(REFUSED);
  return {
    responses: Object.fromEntries(
      all.map(({ name, description, headers: own }) => [
        name,
        {
          description,
          headers: { ...headers, ...own },
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}Error` } } },
        },
      ]),
    ),
    schemas: Object.fromEntries(
      all.map(({ name, description, codes }) => [
        `${name}Error`,
        {
          type: 'object',
          description,
          properties: {
            error: {
              type: 'object',
              properties: {
                code: { type: 'string', enum: codes },
                message: { type: 'string', minLength: 1 },
                details: DETAILS,
              },
              required: ['code', 'message', 'details'],
              additionalProperties: false,
            },
            meta: { $ref: '#/components/schemas/Meta' },
          },
          required: ['error', 'meta'],
          additionalProperties: false,
        },
      ]),
    ),
  };
}

const DETAILS: Json = {
  description: 'Field name, as a dotted path, to what is wrong with it.',
  type: ['object', 'null'],
  additionalProperties: { type: 'array', items: { type: 'string' }, minItems: 1 },
};
