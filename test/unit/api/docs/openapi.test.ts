/** The OpenAPI document and the pages. */
import { createHash } from 'node:crypto';
import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { EVENT_TYPES } from '../../../../actors/events.ts';
import type { RefusalCode } from '../../../../actors/refusal.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { eventPage } from '../../../../api/docs/event-page.ts';
import { openApi } from '../../../../api/docs/openapi.ts';
import { SCRAPE_ROUTES } from '../../../../api/docs/scrape-routes.ts';
import { UPGRADE_ROUTES } from '../../../../api/docs/upgrade-routes.ts';
import type { AnyOperation } from '../../../../api/operation.ts';
import { HTTP_STATUS } from '../../../../api/rest/answers.ts';
import { serveApi } from '../../../support/api/fakes.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);
/** The viewer's page, then what it loads. */
const VIEWER = [
  '/asyncdoc/viewer',
  '/asyncdoc/viewer/viewer.js',
  '/asyncdoc/viewer/viewer.css',
  '/asyncdoc/viewer/start.js',
];
const offered = operations.filter(({ rest }) => rest !== null);

interface Described {
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly description?: string }[];
}

test('the OpenAPI document is valid 3.1 and all of its references resolve', async (t) => {
  const validator = new Validator();

  const { valid, errors } = await validator.validate(structuredClone(openApi(operations, '1.2.3')));

  t.true(valid, JSON.stringify(errors));
  t.is(validator.version, '3.1');
  t.truthy(validator.resolveRefs());
});

test('the served document has every operation of the catalogue that has a route, once', async (t) => {
  const { request } = await serveApi(t);

  const { status, body } = await request('GET', '/api/openapi', { headers: { authorization: '' } });

  const { paths } = body as unknown as { readonly paths: Record<string, Record<string, Described>> };
  const described = Object.values(paths).flatMap((methods) => Object.values(methods));
  t.is(status, 200);
  t.deepEqual(
    described.map(({ operationId }) => operationId).toSorted(),
    [
      ...offered.map(({ name }) => name),
      ...[...SCRAPE_ROUTES, ...UPGRADE_ROUTES].map(({ operationId }) => operationId),
    ].toSorted(),
  );
  t.deepEqual(
    described.filter(({ security }) => security !== undefined).map(({ operationId }) => operationId),
    ['create_public_enrollment_key'],
  );
  const listNodes = paths['/api/v1/nodes']?.['get'];
  t.true(listNodes?.parameters.some((parameter) => parameter.name === 'status__in' && parameter.in === 'query'));
});

test('a value that may have a slash is described as one segment of its path, and no other is', (t) => {
  const { paths } = openApi(operations, '1.2.3') as unknown as { paths: Record<string, Record<string, Described>> };

  const told = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ parameters, operationId }) =>
      parameters
        .filter(({ description }) => description?.includes('%2F') === true)
        .map(({ name }) => `${operationId} ${name}`),
    );

  t.deepEqual(told.toSorted(), [
    'drain_admin name',
    'explain_event_type type',
    'get_peer_admin name',
    'remove_node_label key',
    'resume_admin name',
  ]);
});

test('every operation declares every status that it can answer, each with its refusal codes and no default', (t) => {
  const { paths, components } = openApi(operations, '1.2.3') as unknown as {
    readonly paths: Record<string, Record<string, Described>>;
    readonly components: {
      readonly responses: object;
      readonly schemas: Record<
        string,
        {
          readonly properties: {
            readonly error: { readonly properties: { readonly code: { readonly enum: readonly RefusalCode[] } } };
          };
        }
      >;
    };
  };
  const statusesOf = (method: string, path: string) =>
    Object.keys(paths[`/api/v1${path}`]?.[method]?.responses ?? {}).map(Number);

  t.deepEqual(statusesOf('get', '/nodes'), [200, 400, 401, 403, 429, 500, 503]);
  t.deepEqual(statusesOf('post', '/commands'), [201, 400, 401, 403, 409, 413, 415, 422, 429, 500, 503]);
  t.deepEqual(statusesOf('delete', '/clusters/{name}'), [202, 400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503]);
  t.deepEqual(
    statusesOf('post', '/clusters/default/enrollment_keys/public'),
    [201, 400, 403, 404, 409, 413, 415, 422, 429, 500, 503],
  );
  t.deepEqual(statusesOf('get', '/nodes/{node_id}/metrics/host/raw'), [200, 400, 401, 403, 404, 429, 500, 503]);
  t.deepEqual(statusesOf('get', '/terminal'), [101, 400, 401, 403, 429, 500, 503]);
  for (const { operationId, responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { $ref }] of Object.entries(responses)) {
      if (Number(status) < 300) continue;
      const codes = components.schemas[`${$ref?.split('/').at(-1)}Error`]?.properties.error.properties.code.enum ?? [];
      t.true(
        codes.length > 0 && codes.every((code) => HTTP_STATUS[code] === Number(status)),
        `${operationId} ${status}`,
      );
    }
  }
});

test('a rule for two fields together is in the document', (t) => {
  const { paths } = openApi(operations, '1.2.3') as {
    paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: object }> } }>>;
  };

  t.like(paths['/api/v1/nodes/labels']?.['post']?.requestBody?.content['application/json']?.schema, {
    anyOf: [{ required: ['set'] }, { required: ['remove'] }],
    required: ['targeting'],
    additionalProperties: false,
  });
});

test('the pages name every operation and event type, run only the copy script and load nothing from elsewhere', async (t) => {
  const { url } = await serveApi(t);

  for (const path of ['/', '/api/docs', '/asyncdoc']) {
    const response = await fetch(url + path);
    const html = await response.text();
    t.is(response.status, 200);
    t.regex(response.headers.get('content-type') ?? '', /^text\/html/u);
    t.regex(response.headers.get('content-security-policy') ?? '', /default-src 'none'/u);
    const policy = response.headers.get('content-security-policy') ?? '';
    const scripts = [...html.matchAll(/<script[^>]*>(?<text>.*?)<\/script>/gsu)].map(
      ({ groups }) => groups?.['text'] ?? '',
    );
    t.true(scripts.length <= 1);
    for (const script of scripts)
      t.true(policy.includes(`'sha256-${createHash('sha256').update(script).digest('base64')}'`), path);
    t.notRegex(html, /src=/iu);
    if (path === '/api/docs') for (const { name } of offered) t.true(html.includes(`id="${name}"`), name);
    if (path === '/asyncdoc') for (const type of EVENT_TYPES) t.true(html.includes(`id="${type}"`), type);
    else t.true(html.includes('href="/asyncdoc"'));
  }
});

test('the viewer comes from files of this machine, which browsers keep for as long as they stay the same', async (t) => {
  const { url } = await serveApi(t);
  const [page = '', ...files] = VIEWER;

  const html = await (await fetch(url + page)).text();
  t.deepEqual(
    [...html.matchAll(/(?:src|href)="(?<path>[^"?]+)/gu)].map(({ groups }) => groups?.['path']),
    ['data:,', `${page}/viewer.css`, '/asyncdoc', `${page}/viewer.js`, `${page}/start.js`],
  );
  for (const path of files.slice(0, 2)) {
    const first = await fetch(url + path);
    const etag = first.headers.get('etag') ?? '';
    const bytes = (await first.arrayBuffer()).byteLength;
    t.deepEqual(
      [first.status, first.headers.get('cache-control'), first.headers.get('content-length')],
      [200, 'public, max-age=31536000, immutable', String(bytes)],
    );
    t.true(bytes > 10_000);
    const again = await fetch(url + path, { headers: { 'if-none-match': etag } });
    t.deepEqual([again.status, await again.text()], [304, '']);
  }
  for (const wrong of [`${page}/package.json`, `${page}/..%2f..%2fpackage.json`])
    t.is((await fetch(url + wrong)).status, 404);
});

test('a machine without the viewer is told so on the page, which is whole without it', (t) => {
  const without = eventPage('1.2.3', 'default', false);

  t.false(without.includes('/asyncdoc/viewer'));
  t.true(without.includes('not part of this installation'));
  t.true(EVENT_TYPES.every((type) => without.includes(`id="${type}"`)));
});
