/** Documentation: the OpenAPI document, a page that shows it, and a start page. Each is made when it is first asked for, so that the start does not wait; all are hidden together by API_DOCS_ENABLED=false. */
import type { FastifyInstance } from 'fastify';
import type { AnyOperation } from '../operation.ts';
import { openApi } from './openapi.ts';
import { referencePage, startPage } from './pages.ts';

/** Where the OpenAPI document is. Source: spec.md, routes. */
export const OPENAPI_PATH = '/api/openapi';
export const REFERENCE_PATH = '/api/docs';

/** The pages run no script and load nothing from elsewhere. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Offers the documentation routes. */
export function offerDocumentation(app: FastifyInstance, operations: readonly AnyOperation[], version: string): void {
  const document = once(() => JSON.stringify(openApi(operations, version)));
  app.get(OPENAPI_PATH, (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(document()));

  for (const [path, html] of [['/', once(() => startPage(operations, version))], [REFERENCE_PATH, once(() => referencePage(operations, version))]] as const) {
    app.get(path, (_request, reply) => reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(html()));
  }
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => made ??= make();
}
