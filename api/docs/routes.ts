/** Documentation: the OpenAPI document, a page that shows it, and a start page. All are made once, and hidden together by API_DOCS_ENABLED=false. */
import type { FastifyInstance } from 'fastify';
import type { AnyOperation } from '../operation.ts';
import { sendJson } from '../rest/answers.ts';
import { openApi } from './openapi.ts';
import { referencePage, startPage } from './pages.ts';

/** Where the OpenAPI document is. Source: spec.md, routes. */
export const OPENAPI_PATH = '/api/openapi';
export const REFERENCE_PATH = '/api/docs';

/** The pages run no script and load nothing from elsewhere. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Offers the documentation routes. */
export function offerDocumentation(app: FastifyInstance, operations: readonly AnyOperation[], version: string): void {
  const document = openApi(operations, version);
  const pages = [['/', startPage(operations, version)], [REFERENCE_PATH, referencePage(operations, version)]] as const;

  app.get(OPENAPI_PATH, (_request, reply) => sendJson(reply, 200, document));
  for (const [path, html] of pages) {
    app.get(path, (_request, reply) => reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(html));
  }
}
