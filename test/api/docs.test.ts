/** The OpenAPI document and the pages. */
import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { catalogue } from '../../api/catalogue.ts';
import { openApi } from '../../api/docs/openapi.ts';
import type { AnyOperation } from '../../api/operation.ts';
import { serveApi } from './fakes.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);
const offered = operations.filter(({ rest }) => rest !== null);

interface Described {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
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
  t.deepEqual(described.map(({ operationId }) => operationId).toSorted(), offered.map(({ name }) => name).toSorted());
  t.deepEqual(described.filter(({ security }) => security !== undefined).map(({ operationId }) => operationId), ['create_public_enrollment_key']);
  const listNodes = paths['/api/v1/nodes']?.['get'];
  t.true(listNodes?.parameters.some((parameter) => parameter.name === 'status__in' && parameter.in === 'query'));
});

test('the pages name every operation, run no script and load nothing from elsewhere', async (t) => {
  const { url } = await serveApi(t);

  for (const path of ['/', '/api/docs']) {
    const response = await fetch(url + path);
    const html = await response.text();
    t.is(response.status, 200);
    t.regex(response.headers.get('content-type') ?? '', /^text\/html/u);
    t.regex(response.headers.get('content-security-policy') ?? '', /default-src 'none'/u);
    t.notRegex(html, /<script|src=|https?:\/\//iu);
    if (path === '/api/docs') for (const { name } of offered) t.true(html.includes(`id="${name}"`), name);
  }
});

test('API_DOCS_ENABLED=false hides all documentation routes', async (t) => {
  const { request } = await serveApi(t, { settings: { docsEnabled: false } });

  for (const path of ['/', '/api/docs', '/api/openapi']) t.is((await request('GET', path)).status, 404, path);
});
