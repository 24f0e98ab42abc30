/**
 * `/asyncdoc/viewer`: the AsyncAPI viewer, from files of its package that lie on this machine. Nothing is loaded from
 * elsewhere.
 */
import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { layout } from './layout.ts';

/** Where the viewer is. */
export const VIEWER_PATH = '/asyncdoc/viewer';

/**
 * What it is made of, as files of its package. The `imports` of package.json say where that is: below node_modules when
 * run from source, beside the programs when published.
 */
export const VIEWER_FILES = [
  { name: 'viewer.js', type: 'text/javascript; charset=utf-8', file: 'browser/standalone/index.js' },
  { name: 'viewer.css', type: 'text/css; charset=utf-8', file: 'styles/default.min.css' },
] as const;

/**
 * The viewer's validator makes functions of text, also in its build without a parser, and it sets styles. It gets that
 * here, on a page with no secret and no input, and nothing from elsewhere.
 */
export const VIEWER_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A version names a file for good. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Shows our document. */
const SCRIPT = `AsyncApiStandalone.render({ schema: { url: '/api/asyncapi' }, config: { show: { sidebar: true }, sidebar: { showOperations: 'byDefault' } } }, document.getElementById('viewer'));\n`;

const STYLE = `:root{color-scheme:light}body{max-width:none;margin:0;padding:0;color:#1a1f24;background:#fff}.back{padding:.7rem 1.2rem;margin:0;border-bottom:1px solid #d8dee4}.back a{color:#0b5cad}#viewer>p{padding:1rem 1.2rem}`;

/** Whether the files of the viewer are on this machine. */
export async function isViewerInstalled(): Promise<boolean> {
  const found = await Promise.all(VIEWER_FILES.map(({ file }) => located(file)));
  return found.every((place) => place !== null);
}

/**
 * Offers the viewer, its files and its script. What is not installed is not found. `version` tells browsers when to ask
 * again.
 */
export function registerViewer(app: FastifyInstance, version: string): void {
  app.get(VIEWER_PATH, async (_request, reply) => {
    if (!(await isViewerInstalled())) return reply.callNotFound();
    return reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', VIEWER_POLICY)
      .send(page(version));
  });
  app.get(`${VIEWER_PATH}/start.js`, (_request, reply) =>
    reply.header('content-type', 'text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(SCRIPT),
  );
  for (const { name, type, file } of VIEWER_FILES) {
    app.get(`${VIEWER_PATH}/${name}`, async (request, reply) => {
      const place = await located(file);
      if (place === null) return reply.callNotFound();
      const tag = `"${place.stats.size.toString(36)}-${Math.trunc(place.stats.mtimeMs).toString(36)}"`;
      void reply.header('etag', tag).header('cache-control', FOREVER).header('x-content-type-options', 'nosniff');
      if (request.headers['if-none-match'] === tag) return reply.code(304).send();
      return reply
        .header('content-type', type)
        .header('content-length', place.stats.size)
        .send(createReadStream(place.path));
    });
  }
}

function page(version: string): string {
  const asked = `?v=${encodeURIComponent(version)}`;
  return layout(
    'Events in the AsyncAPI viewer',
    `<p class="back"><a href="/asyncdoc">Back to the plain page</a></p>
<main id="viewer"><p>The viewer is loading. It needs JavaScript.</p></main>
<script defer src="${VIEWER_PATH}/viewer.js${asked}"></script><script defer src="${VIEWER_PATH}/start.js"></script>`,
    STYLE,
  ).replace('</head>', `<link rel="stylesheet" href="${VIEWER_PATH}/viewer.css${asked}"></head>`);
}

async function located(file: string): Promise<{ readonly path: string; readonly stats: Stats } | null> {
  try {
    const path = fileURLToPath(import.meta.resolve(`#asyncapi-viewer/${file}`));
    return { path, stats: await stat(path) };
  } catch {
    return null; // the package is for development and the build, and left out by npm ci --omit=dev
  }
}
