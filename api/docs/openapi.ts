/** The OpenAPI 3.1 document, made from the catalogue. Its schemas are those that inputs are checked with. */
import { IDEMPOTENCY_KEY } from '../idempotency.ts';
import { pathParameters, type AnyOperation, type RestRoute } from '../operation.ts';
import { API_PREFIX } from '../rest/routes.ts';
import { refusedComponents, refusedResponses, refusedStatuses, scrapeRefusedStatuses } from './refusals.ts';
import { inputSchema, outputSchema, schemaName, type JsonSchema } from '../schemas.ts';
import { SCRAPE_ROUTES, type ScrapeRoute } from './scrape-routes.ts';
import { UPGRADE_ROUTES, type UpgradeRoute } from './upgrade-routes.ts';

type Json = Readonly<Record<string, unknown>>;

/** The document: operations that have a REST route, and what monitoring systems read. */
export function openApi(operations: readonly AnyOperation[], version: string): Json {
  const offered = operations.flatMap((operation) =>
    operation.rest === null ? [] : [{ operation, rest: operation.rest }],
  );
  const paths: Record<string, Record<string, Json>> = {};
  const resources: Record<string, JsonSchema> = {};
  for (const { operation, rest } of offered) {
    const path = API_PREFIX + rest.path.replaceAll(/:([a-z_]+)/gu, '{$1}');
    (paths[path] ??= {})[rest.method.toLowerCase()] = described(operation, rest);
    const name = schemaName(operation.output);
    if (name !== null) resources[name] = outputSchema(operation);
  }
  const refused = refusedComponents(REQUEST_ID);
  for (const route of SCRAPE_ROUTES) (paths[route.path] ??= {})['get'] = scraped(route);
  for (const route of UPGRADE_ROUTES) (paths[route.path] ??= {})['get'] = upgraded(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Edge fleet control',
      version,
      description: 'One place from which to reach, run, see and update machines that stand behind NAT and firewalls.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [
      ...new Set([
        ...offered.map(({ rest }) => tagOf(rest)),
        ...[...SCRAPE_ROUTES, ...UPGRADE_ROUTES].map(({ tag }) => tag),
      ]),
    ].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      headers: {
        'X-Request-Id': {
          description: 'Equal to meta.request_id. A valid incoming one is kept.',
          schema: { type: 'string' },
        },
      },
      schemas: { ...resources, ...ENVELOPE_PARTS, ...refused.schemas },
      responses: refused.responses,
    },
  };
}

/** The part of the API that a route belongs to: the first word of its path. */
export function tagOf({ path }: RestRoute): string {
  return path.split('/')[1] ?? '';
}

function described(operation: AnyOperation, rest: RestRoute): Json {
  const { name, summary, scope, list } = operation;
  const { properties = {}, required = [], ...others } = inputSchema(operation);
  const inPath = pathParameters(rest.path);
  const rests = Object.entries(properties).filter(([field]) => !inPath.includes(field)) as [string, JsonSchema][];
  const isQuery = rest.method === 'GET';
  const requiredRest = required.filter((field) => !inPath.includes(field));

  return {
    operationId: name,
    summary,
    tags: [tagOf(rest)],
    ...(scope === 'public' ? { security: [] } : {}),
    parameters: [
      ...inPath.map((field) => pathParameter(field, (properties[field] ?? { type: 'string' }) as JsonSchema)),
      ...(isQuery ? rests.map(([field, schema]) => queryParameter(field, schema, requiredRest.includes(field))) : []),
      ...(operation.creates ? [IDEMPOTENCY_HEADER] : []),
    ],
    ...(isQuery || rests.length === 0
      ? {}
      : {
          requestBody: {
            required: requiredRest.length > 0,
            content: {
              'application/json': {
                schema: {
                  ...others, // what holds for the fields together, such as "one of these two"
                  properties: Object.fromEntries(rests),
                  required: requiredRest,
                },
              },
            },
          },
        }),
    responses: {
      ...Object.fromEntries(statusesOf(rest).map((status) => [status, success(operation, status, list)])),
      ...refusedResponses(refusedStatuses(operation, rest)),
    },
  };
}

function statusesOf(rest: RestRoute): readonly number[] {
  return 'acceptedWhen' in rest ? [rest.status, 202] : [rest.status];
}

function success(operation: AnyOperation, status: number, list: boolean): Json {
  if (status === 204) return { description: 'Done.', headers: REQUEST_ID };
  const name = schemaName(operation.output);
  const resource = name === null ? outputSchema(operation) : reference(name);
  const schema = {
    type: 'object',
    properties: {
      data: list ? { type: 'array', items: resource } : resource,
      meta: reference(list ? 'ListMeta' : 'Meta'),
    },
    required: ['data', 'meta'],
  };
  return {
    description: status === 202 ? 'Accepted, and under way.' : 'Done.',
    headers: REQUEST_ID,
    content: { 'application/json': { schema } },
  };
}

/** A route for monitoring systems: no envelope around what it answers. */
function scraped({ operationId, summary, tag, pathFields, queryFields, type, schema }: ScrapeRoute): Json {
  return {
    operationId,
    summary,
    tags: [tag],
    parameters: [
      ...Object.entries(pathFields).map(([name, field]) => ({ name, in: 'path', required: true, schema: field })),
      ...Object.entries(queryFields).map(([name, field]) => queryParameter(name, field, false)),
    ],
    responses: {
      200: { description: 'Done.', headers: REQUEST_ID, content: { [type]: { schema } } },
      ...refusedResponses(scrapeRefusedStatuses(Object.keys(pathFields).length > 0)),
    },
  };
}

/** A route that becomes a WebSocket. A client adds what every upgrade has. */
function upgraded({ operationId, summary, description, tag, protocol }: UpgradeRoute): Json {
  const subprotocol = { type: 'string', enum: [protocol] };
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    parameters: [{ name: 'Sec-WebSocket-Protocol', in: 'header', required: true, schema: subprotocol }],
    responses: {
      101: {
        description: 'A WebSocket from now on.',
        headers: { 'Sec-WebSocket-Protocol': { required: true, schema: subprotocol } },
      },
      ...refusedResponses(scrapeRefusedStatuses(false)),
    },
  };
}

function pathParameter(name: string, schema: JsonSchema): Json {
  return {
    name,
    in: 'path',
    required: true,
    ...(mayHaveSlash(schema) && { description: 'One segment of the path: a slash in it is written %2F.' }),
    schema,
  };
}

/** Whether a field of a path is a text in which a slash may stand. */
export function mayHaveSlash({ format, pattern }: JsonSchema): boolean {
  return format === undefined && (pattern === undefined || new RegExp(pattern, 'u').test('a/a'));
}

/** Lists are written with commas, as the filters take them: no value has one. */
function queryParameter(name: string, { description, ...schema }: JsonSchema, required: boolean): Json {
  const style = schema.type === 'array' ? { style: 'form', explode: false } : {};
  return {
    name,
    in: 'query',
    required,
    ...(description === undefined ? {} : { description }),
    ...style,
    schema: { ...schema, ...commaFree(schema) },
  };
}

function commaFree({ items }: JsonSchema): Json {
  const isText =
    typeof items === 'object' &&
    'type' in items &&
    items.type === 'string' &&
    items.enum === undefined &&
    items.format === undefined;
  return isText ? { items: { ...items, not: { pattern: String.raw`[\u0000,]` } } } : {};
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

const REQUEST_ID: Json = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

const IDEMPOTENCY_HEADER: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'The same key and body within 24 hours get the first answer; the same key with another body is a conflict.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: IDEMPOTENCY_KEY.source },
};

const instantSchema = { type: 'string', format: 'date-time' };
const pageNumber = { type: 'integer' };
const maybePage = { type: ['integer', 'null'] };
const metaFields = { request_id: { type: 'string' }, timestamp: instantSchema };

const ENVELOPE_PARTS: Json = {
  Meta: { type: 'object', properties: metaFields, required: ['request_id', 'timestamp'] },
  Pagination: {
    type: 'object',
    properties: {
      page: pageNumber,
      page_size: pageNumber,
      total_count: pageNumber,
      total_pages: pageNumber,
      has_next: { type: 'boolean' },
      has_prev: { type: 'boolean' },
      next_page: maybePage,
      prev_page: maybePage,
    },
    required: ['page', 'page_size', 'total_count', 'total_pages', 'has_next', 'has_prev', 'next_page', 'prev_page'],
  },
  ListMeta: {
    type: 'object',
    properties: { ...metaFields, pagination: reference('Pagination') },
    required: ['request_id', 'timestamp', 'pagination'],
  },
};
