/**
 * Where files of releases are brought, in pieces, with the API key. Not in the catalogue: the body is no JSON. A file
 * that was interrupted goes on where it was.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import {
  RELEASE_FILE_BYTES_MAX,
  RELEASE_FILES_PATH,
  RELEASE_PIECE_BYTES_MAX,
  Sha256Hex,
} from '../../transport/protocol/releases.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { detailsOf } from '../inputs/parse.ts';
import type { Gate } from '../principals.ts';
import type { BroughtFile, Releases } from '../release-ports.ts';
import { sendData, sendRefusal } from './answers.ts';
import { BodyRefused } from './json-body.ts';
import { callerOf } from './requests.ts';

/** Pieces that are taken at once: each is held in memory. More are told to come again (L2). */
const PIECES_MAX = 4;

/** When those should, in seconds. */
const RETRY_SECONDS = 1;

const TYPE = 'application/octet-stream';

const count = z.coerce.number().int().min(0).max(RELEASE_FILE_BYTES_MAX);
const Place = z.strictObject({ offset: count, bytes: count.min(1) });
const Named = z.object({ sha256: Sha256Hex });

const BUSY: Refusal = {
  code: 'service_unavailable',
  message: 'Other files of releases are being stored. Try again shortly.',
  retryAfterSeconds: RETRY_SECONDS,
};
const NOT_BYTES = refuse(
  'unsupported_media_type',
  `The body must be a piece of the file: Content-Type: ${TYPE}.`,
).refusal;
const MISSING = refuse('not_found', 'Nothing of this file was brought.').refusal;

/** Offers GET (how much is there) and PUT (the next piece) of a file by its hash. */
export function registerReleaseFiles(app: FastifyInstance, releases: Releases, gate: Gate): void {
  let pieces = 0;
  const admit = (request: FastifyRequest, reply: FastifyReply): boolean => {
    const admitted = gate.admit('api', callerOf(request, 'rest'));
    if (!admitted.ok) sendRefusal(reply, admitted.refusal);
    return admitted.ok;
  };
  app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      TYPE,
      { parseAs: 'buffer', bodyLimit: RELEASE_PIECE_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.addContentTypeParser('*', (_request, _body, done) => done(new BodyRefused(NOT_BYTES)));
    scope.route({
      method: 'GET',
      url: `${RELEASE_FILES_PATH}:sha256`,
      onRequest: (request, reply, next) => {
        if (admit(request, reply)) next();
      },
      handler: async (request, reply) => {
        const named = Named.safeParse(request.params, IN_WORDS);
        if (!named.success) return sendRefusal(reply, invalid(named.error, Named));
        const file = await releases.brought(named.data.sha256);
        return file === null ? sendRefusal(reply, MISSING) : sendFile(reply, file);
      },
    });
    scope.route({
      method: 'PUT',
      url: `${RELEASE_FILES_PATH}:sha256`,
      bodyLimit: RELEASE_PIECE_BYTES_MAX,
      onRequest: (request, reply, next) => {
        if (!admit(request, reply)) return;
        if (pieces >= PIECES_MAX) {
          sendRefusal(reply, BUSY);
          return;
        }
        pieces += 1;
        reply.raw.once('close', () => {
          pieces -= 1;
        });
        next();
      },
      handler: (request, reply) => bring(request, reply, releases),
    });
    registered();
  });
}

async function bring(request: FastifyRequest, reply: FastifyReply, releases: Releases): Promise<FastifyReply> {
  const named = Named.safeParse(request.params, IN_WORDS);
  if (!named.success) return sendRefusal(reply, invalid(named.error, Named));
  const place = Place.safeParse(request.query, IN_WORDS);
  if (!place.success) return sendRefusal(reply, invalid(place.error, Place));
  const content = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const brought = await releases.bring({ ...named.data, ...place.data, content });
  return brought.ok ? sendFile(reply, brought.value) : sendRefusal(reply, brought.refusal);
}

function sendFile(reply: FastifyReply, { bytes, received, isComplete }: BroughtFile): FastifyReply {
  return sendData(reply, 200, { bytes, received, is_complete: isComplete });
}

function invalid(error: z.ZodError, schema: z.ZodType): Refusal {
  return refuse('bad_request', 'The request is malformed.', detailsOf(error.issues, schema)).refusal;
}
