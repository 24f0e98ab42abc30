/** Documentation: the OpenAPI and AsyncAPI documents, pages that show them, and a start page. Each is made when it is first asked for, so that the start does not wait; all are hidden together by API_DOCS_ENABLED=false. */
import type { FastifyInstance } from 'fastify';
import type { AnyOperation } from '../operation.ts';
import { asyncApi } from './asyncapi.ts';
import { eventPage } from './event-page.ts';
import { openApi } from './openapi.ts';
import { referencePage, startPage } from './pages.ts';
import { isViewerInstalled, offerViewer } from './viewer.ts';

/** Where the documents and their pages are. Source: spec.md, routes. */
export const OPENAPI_PATH = '/api/openapi';
export const REFERENCE_PATH = '/api/docs';
export const ASYNCAPI_PATH = '/api/asyncapi';
export const EVENTS_PATH = '/asyncdoc';

/** The pages run no script and load nothing from elsewhere. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What documentation tells of besides the operations. `coreName` is that of example events. */
export interface Documented {
  readonly version: string;
  readonly coreName: string;
}

/** Offers the documentation routes. */
export function offerDocumentation(app: FastifyInstance, operations: readonly AnyOperation[], { version, coreName }: Documented): void {
  const documents: Readonly<Record<string, () => object>> = { [OPENAPI_PATH]: () => openApi(operations, version), [ASYNCAPI_PATH]: () => asyncApi(version, coreName) };
  for (const [path, make] of Object.entries(documents)) {
    const text = once(() => JSON.stringify(make()));
    app.get(path, (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(text()));
  }

  const pages: Readonly<Record<string, () => string | Promise<string>>> = {
    '/': () => startPage(operations, version),
    [REFERENCE_PATH]: () => referencePage(operations, version),
    [EVENTS_PATH]: async () => eventPage(version, coreName, await isViewerInstalled()),
  };
  for (const [path, make] of Object.entries(pages)) {
    const html = once(make);
    app.get(path, async (_request, reply) => reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(await html()));
  }
  offerViewer(app, version);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
