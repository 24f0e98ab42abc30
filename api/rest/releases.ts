/**
 * Where machines download releases, without a key: what is served is signed, and no secret. Not in the catalogue: the
 * bodies are files, and are asked for in ranges (RFC 9110, 14).
 */
import { finished, Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { sourceNetwork } from '../../transport/net/source-networks.ts';
import type { Download, Place, Releases } from '../release-ports.ts';
import type { Gate } from '../principals.ts';
import { sendRefusal } from './answers.ts';
import { registerReleaseFiles } from './release-files.ts';
import { addressOf } from './requests.ts';

/** A client that takes nothing for so long loses its place, in ms. It goes on later, from where it is. */
const STALL_MS_MAX = 30_000;

/** Seconds after which those come again who found no place. */
const RETRY_SECONDS = 5;

/** For how long caches may keep what never changes, in seconds: a year. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const MISSING = refuse('not_found', 'There is no such file of a release.').refusal;
const BUSY: Refusal = {
  code: 'service_unavailable',
  message: 'As many download releases as may do so at a time. Try again shortly.',
  retryAfterSeconds: RETRY_SECONDS,
};

/** Serves metadata and targets, and takes files. */
export function registerReleases(
  app: FastifyInstance,
  releases: Releases,
  gate: Gate,
  stallMsMax = STALL_MS_MAX,
): void {
  registerReleaseFiles(app, releases, gate);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/releases/*',
    handler: async (request, reply) => {
      // Before the database is asked: it is, whatever comes of it.
      const place = releases.enter(sourceNetwork(addressOf(request.raw)));
      if (place === null) return sendRefusal(reply, BUSY);
      finished(reply.raw, () => place.leave());
      const [path = ''] = (request.raw.url ?? '').split('?', 1);
      const download = await releases.find(path);
      if (reply.raw.destroyed) return reply.send(); // it left meanwhile
      return download === null ? sendRefusal(reply, MISSING) : serve(request, reply, { place, download, stallMsMax });
    },
  });
}

interface Serving {
  readonly place: Place;
  readonly download: Download;
  readonly stallMsMax: number;
}

function serve(request: FastifyRequest, reply: FastifyReply, { place, download, stallMsMax }: Serving): FastifyReply {
  const { bytes, isImmutable, type } = download;
  const etag = `"${download.etag}"`;
  reply
    .header('etag', etag)
    .header('accept-ranges', 'bytes')
    .header('cache-control', isImmutable ? IMMUTABLE : 'no-cache');
  const known = request.headers['if-none-match'];
  if (known !== undefined && known.split(',').some((one) => one.trim().replace(/^W\//u, '') === etag))
    return reply.code(304).send();
  const range = rangeOf(request, etag, bytes);
  if (range === 'beyond') return reply.code(416).header('content-range', `bytes */${bytes}`).send();
  const { start, end } = range ?? { start: 0, end: bytes };
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${bytes}`);
  reply.header('content-type', type).header('content-length', end - start);
  if (request.method === 'HEAD') return reply.send();
  const stall = new Stall(stallMsMax, () => {
    place.cut();
    reply.raw.destroy();
  });
  reply.raw.once('close', () => stall.end());
  return reply.send(Readable.from(watched(download.content(start, end, place), stall)));
}

/**
 * The part that is asked for; null: all of it, also where several parts are wanted, the range cannot be read, or
 * If-Range names another file.
 */
function rangeOf(
  { headers }: FastifyRequest,
  etag: string,
  bytes: number,
): { readonly start: number; readonly end: number } | 'beyond' | null {
  const only = headers['if-range'];
  if (headers.range === undefined || (only !== undefined && only !== etag)) return null;
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/u.exec(headers.range.trim()) ?? [];
  if (from === '' && to === '') return null;
  if (from === '') return Number(to) === 0 ? 'beyond' : { start: Math.max(0, bytes - Number(to)), end: bytes };
  const start = Number(from);
  const end = to === '' ? bytes : Math.min(bytes, Number(to) + 1);
  if (to !== '' && Number(to) < start) return null;
  return start >= bytes ? 'beyond' : { start, end };
}

/** Says when a client takes nothing any more. */
class Stall {
  readonly #ms: number;
  readonly #cut: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number, cut: () => void) {
    this.#ms = ms;
    this.#cut = cut;
  }

  begin(): void {
    this.#timer = setTimeout(this.#cut, this.#ms).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Between two pieces it is the client's turn: whoever waits for leave to write does not stall. */
async function* watched(pieces: AsyncGenerator<Buffer, void, void>, stall: Stall): AsyncGenerator<Buffer, void, void> {
  for await (const piece of pieces) {
    stall.begin();
    yield piece;
    stall.end();
  }
}
