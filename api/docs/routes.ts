/**
 * Documentation: the OpenAPI and AsyncAPI documents, pages that show them, and guides. Nothing is made before it is
 * asked for, so that the start does not wait; all are hidden together by API_DOCS_ENABLED=false.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { AnyOperation } from '../operation.ts';
import type { SubsystemCheck } from '../views/health.ts';
import { asyncApi } from './asyncapi.ts';
import { eventPage } from './event-page.ts';
import { COPY_SOURCE } from './guide/copy.ts';
import type { ProxyPorts } from './guide/page.ts';
import { GUIDE_PAGES } from './guide/pages.ts';
import { renderGuide } from './guide/render.ts';
import { openApi } from './openapi.ts';
import { referencePage } from './pages.ts';
import { isViewerInstalled, registerViewer } from './viewer.ts';

/** Where the documents and their pages are. Source: docs/api.md, Surfaces. */
export const OPENAPI_PATH = '/api/openapi';
export const REFERENCE_PATH = '/api/docs';
export const ASYNCAPI_PATH = '/api/asyncapi';
export const EVENTS_PATH = '/asyncdoc';

/** The pages run no script and load nothing from elsewhere. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Guides run the script of their buttons, and none else. */
const GUIDE_POLICY = `${PAGE_POLICY}; script-src ${COPY_SOURCE}`;

/** The guide page that shows how the admin is. */
const START_PATH = '/';

/** How long that page waits for the checks, in ms: a person waits for it. */
const CHECKS_MS_MAX = 1_500;

/**
 * What documentation tells of besides the operations. `coreName` is that of example events. The URLs may be known only
 * once the server listens.
 */
export interface Documented {
  readonly version: string;
  readonly coreName: string;
  /** Where this admin and its peers are reached, in order. */
  readonly adminUrls: () => readonly string[];
  readonly domain: string;
  readonly proxyPorts: () => ProxyPorts | null;
  /** Runs the checks of this admin. */
  readonly checkHealth: () => Promise<readonly SubsystemCheck[]>;
  readonly hasConsole: boolean;
}

/** What the commands of guides name when not even the port is known. */
const DEFAULT_URL = 'http://127.0.0.1:44000';

/** Offers the documentation routes. */
export function registerDocumentation(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  documented: Documented,
): void {
  const { version, coreName, adminUrls, domain, proxyPorts, checkHealth, hasConsole } = documented;
  const documents: Readonly<Record<string, () => object>> = {
    [OPENAPI_PATH]: () => openApi(operations, version),
    [ASYNCAPI_PATH]: () => asyncApi(coreName),
  };
  for (const [path, make] of Object.entries(documents)) {
    const text = once(() => JSON.stringify(make()));
    app.get(path, (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(text()));
  }

  // Made anew each time, as they tell of ports that are known only once they are listened on.
  for (const [path, page] of Object.entries(GUIDE_PAGES)) {
    app.get(path, async (_request, reply) => {
      const facts = {
        version,
        adminUrl: adminUrls()[0] ?? DEFAULT_URL,
        domain,
        proxyPorts: proxyPorts(),
        operations,
        hasConsole,
        checks: path === START_PATH ? await within(checkHealth(), CHECKS_MS_MAX) : null,
      };
      return sendPage(reply, renderGuide(path, page(facts), facts), GUIDE_POLICY);
    });
  }
  const pages: Readonly<Record<string, () => string | Promise<string>>> = {
    [REFERENCE_PATH]: () => referencePage(operations, version),
    [EVENTS_PATH]: async () => eventPage(version, coreName, await isViewerInstalled()),
  };
  for (const [path, make] of Object.entries(pages)) {
    const html = once(make);
    app.get(path, async (_request, reply) => sendPage(reply, await html()));
  }
  registerViewer(app, version);
}

/** What came in this time, in ms; null: nothing did. */
async function within<T>(work: Promise<T>, msMax: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), msMax);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function sendPage(reply: FastifyReply, html: string, policy: string = PAGE_POLICY): FastifyReply {
  return reply.header('content-type', 'text/html; charset=utf-8').header('content-security-policy', policy).send(html);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
