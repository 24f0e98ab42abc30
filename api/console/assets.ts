/**
 * The files of the console: made by `deploy/console.ts`, kept in memory, served compressed. Those that a page of
 * another build names come from the admin that has them.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsEncoding } from '../../transport/net/accept-encoding.ts';
import { refuse } from '../../actors/refusal.ts';
import { sendRefusal } from '../rest/answers.ts';
import { addressOf } from '../rest/requests.ts';

/** Where it is. */
export const CONSOLE_PATH = '/console';

/** Where its files are that a hash names. */
const ASSETS_PATH = '/console/assets';

/** The one page: what it shows is in its address. */
const PAGE = 'index.html';

/** What runs before it. No hash is in its name, so that a page of any build finds it at any admin. */
const BOOT = 'boot.js';

/** Nothing but its own files, no script or style within markup, and no text becomes markup. In nobody's frame. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A name with a hash names one content for good; the page names those of this build. */
const FOREVER = 'public, max-age=31536000, immutable';
const EACH_TIME = 'no-cache';

/** What can be sent of one file, the smallest first. */
export interface Asset {
  readonly type: string;
  readonly tag: string;
  readonly bodies: readonly { readonly encoding: 'br' | 'gzip' | 'identity'; readonly body: Buffer }[];
}

/** Files by name, those with a hash as `assets/NAME-HASH.EXT`. */
export type Assets = ReadonlyMap<string, Asset>;

/** Files of other builds. */
export interface AssetsElsewhere {
  /** That of this name, without a directory, for a client of this address. Null: nobody has it, or may be asked now. */
  find(name: string, address: string): Promise<Asset | null>;
}

/**
 * Reads the files once: some 100 KB. Where they are say the `imports` of package.json, below the sources or beside the
 * published programs. Null, and asked again the next time: it was not built.
 */
export function builtAssets(directory: () => string = builtDirectory): () => Promise<Assets | null> {
  let read: Assets | null = null;
  return async () => (read ??= await readAssets(directory).catch(() => null));
}

/** Where the console is after its build. */
export function builtDirectory(): string {
  return dirname(fileURLToPath(import.meta.resolve(`#console/${PAGE}`)));
}

async function readAssets(where: () => string): Promise<Assets> {
  const directory = where();
  const names = [PAGE, BOOT, ...(await readdir(join(directory, 'assets'))).map((name) => `assets/${name}`)];
  const plain = names.filter((name) => !/\.(?:br|gz)$/u.test(name));
  return new Map(await Promise.all(plain.map(async (name) => [name, await readAsset(directory, name)] as const)));
}

async function readAsset(directory: string, name: string): Promise<Asset> {
  const [br, gzip, identity] = await Promise.all(
    ['.br', '.gz', ''].map((suffix) => readFile(join(directory, name + suffix))),
  );
  if (br === undefined || gzip === undefined || identity === undefined) throw new Error(`${name} is not whole`);
  return assetOf(name, { br, gzip, identity });
}

/** A file in its three forms. */
export function assetOf(
  name: string,
  { br, gzip, identity }: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>,
): Asset {
  return {
    type: TYPES[/\.\w+$/u.exec(name)?.[0] ?? ''] ?? 'application/octet-stream',
    tag: createHash('sha256').update(identity).digest('base64url').slice(0, 22),
    bodies: [
      { encoding: 'br', body: br },
      { encoding: 'gzip', body: gzip },
      { encoding: 'identity', body: identity },
    ],
  };
}

/** Serves them: files by their names, and the page wherever else below CONSOLE_PATH. */
export function registerAssets(
  app: FastifyInstance,
  assets: () => Promise<Assets | null>,
  elsewhere: AssetsElsewhere,
): void {
  const page = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const built = await assets();
    const found = built?.get(PAGE);
    if (found === undefined) return sendRefusal(reply, NOT_BUILT);
    return send(request, reply.headers(PAGE_HEADERS).header('cache-control', EACH_TIME), found);
  };
  app.get(CONSOLE_PATH, page);
  app.get(`${CONSOLE_PATH}/*`, page);
  app.get(`${CONSOLE_PATH}/${BOOT}`, async (request, reply) => {
    const found = (await assets())?.get(BOOT);
    if (found === undefined) return sendRefusal(reply, NOT_BUILT);
    return send(request, reply.header('cache-control', EACH_TIME), found);
  });
  app.get(`${ASSETS_PATH}/:name`, async (request, reply) => {
    const { name } = request.params as { readonly name: string };
    const found = (await assets())?.get(`assets/${name}`) ?? (await elsewhere.find(name, addressOf(request.raw)));
    if (found === null) return sendRefusal(reply, NO_FILE);
    return send(request, reply.header('cache-control', FOREVER), found);
  });
}

const PAGE_HEADERS = {
  'content-security-policy': CONSOLE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin', // with none, browsers would leave out the Origin by which pages are told apart
  'x-frame-options': 'DENY',
};

/** The best form of a file that the client takes; 304: it has it already. */
function send(request: FastifyRequest, reply: FastifyReply, { type, tag, bodies }: Asset): FastifyReply {
  const accepted = request.headers['accept-encoding'];
  const chosen = bodies.find(({ encoding }) => encoding === 'identity' || acceptsEncoding(accepted, encoding));
  if (chosen === undefined) throw new Error('a file of the console has no body');
  const { encoding, body } = chosen;
  const etag = `"${tag}-${encoding}"`;
  void reply.header('etag', etag).header('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  if (encoding !== 'identity') void reply.header('content-encoding', encoding);
  return reply.header('content-type', type).send(body);
}

const NO_FILE = refuse('not_found', 'The console has no such file. Load the page again.').refusal;
const NOT_BUILT = refuse(
  'service_unavailable',
  'The console was not built here. In a clone of the repository: npm run build:console.',
).refusal;
