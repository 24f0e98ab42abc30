/** Failures that no operation answers: unknown routes, unreadable requests, bugs. All get the error body. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { refuse, RETRY_AFTER_SECONDS, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import { INTERNAL_ERROR } from '../call.ts';
import { errorBody, sendRefusal } from './answers.ts';
import { BodyRefused } from './json-body.ts';
import { endLingering } from './lingering.ts';
import { answerUnrouted } from './methods.ts';
import { recordOf } from './request-records.ts';

const LONG_PARAMETER = refuse('not_found', 'No such route: a part of the path is too long.').refusal;
const TOO_LARGE = refuse('payload_too_large', 'The body is larger than this service takes.').refusal;
const NOT_JSON = refuse('unsupported_media_type', 'The body must be JSON: Content-Type: application/json.').refusal;
const MALFORMED = refuse('bad_request', 'The request is malformed.').refusal;

/** Answers every failure of the framework and every throw below it. */
export function answerFailures(app: FastifyInstance, log: Log): void {
  answerUnrouted(app);
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply, log));
}

/** One failure as the error body. What is no fault of the client is logged, and not explained to it. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const refusal = refusalOf(error);
  if (refusal === INTERNAL_ERROR)
    log.error({ error, request_id: request.id, trace_id: recordOf(request)?.context.traceId }, 'a request failed');
  return sendRefusal(reply, refusal);
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof BodyRefused) return error.refusal;
  if (error instanceof DatabaseUnavailable) return UNAVAILABLE;
  switch ((error as { readonly statusCode?: unknown } | null)?.statusCode) {
    case 400:
      return MALFORMED;
    case 404:
    case 414:
      return LONG_PARAMETER; // 414: a path parameter longer than is matched
    case 413:
      return TOO_LARGE;
    case 415:
      return NOT_JSON;
    default:
      return INTERNAL_ERROR;
  }
}

/**
 * All headers of a request with its path and query, in bytes: three lists of 500 ids with room to spare
 * (IN_VALUES_MAX). Beyond it 400.
 */
export const HEADER_BYTES_MAX = 65_536;

/**
 * What Node's parser gave up on, by its code, and what a client can do about it. A slow one may try again, as agents on
 * bad lines do; all others are 400.
 */
const UNREADABLE: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: refuse('bad_request', 'The headers of the request, with its path and query, are too large.', {
    headers: [`must be at most ${HEADER_BYTES_MAX} bytes in all`],
  }).refusal,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refuse('bad_request', 'The request is malformed.', {
    body: ['must not have so many chunk extensions'],
  }).refusal,
  ERR_HTTP_REQUEST_TIMEOUT: refuse('service_unavailable', 'The request did not arrive in time. Send it again.').refusal,
};
const NO_HTTP = refuse('bad_request', 'This is no HTTP/1.1 request that can be read.', {
  request: ['must be HTTP/1.1'],
}).refusal;

/** Answers what is not HTTP, came too slowly or has too many headers, and closes the connection. */
export function answerBrokenHttp(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = UNREADABLE[error.code ?? ''] ?? NO_HTTP;
  const status =
    refusal.code === 'service_unavailable'
      ? `503 Service Unavailable\r\nretry-after: ${RETRY_AFTER_SECONDS}`
      : '400 Bad Request';
  endLingering(socket, rawAnswer(status, refusal));
}

/** Answers whoever speaks plain HTTP to the port of HTTPS, where a client of TLS would wait for nothing. */
export function answerPlainHttp(socket: Socket, host: string | null): void {
  const url = host === null ? 'a URL that begins with https://' : `https://${host}`;
  endLingering(
    socket,
    rawAnswer('400 Bad Request', refuse('bad_request', `This port speaks HTTPS only: use ${url}.`).refusal),
  );
}

const NO_PROXY = refuse('method_not_allowed', 'This is no proxy: CONNECT goes to ADMIN_HTTP_PROXY_PORT.', {
  method: ['must not be CONNECT'],
}).refusal;
const NO_EXPECTATION = refuse('bad_request', 'This expectation is not known.', {
  Expect: ['must be 100-continue'],
}).refusal;

/**
 * Answers what Node hands over apart from requests: CONNECT, which it would hang up on, and strange expectations, for
 * which it has no words.
 */
export function answerNonRequests(server: Server): void {
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    endLingering(
      socket,
      rawAnswer('405 Method Not Allowed\r\nallow: GET, HEAD, POST, PATCH, PUT, DELETE, OPTIONS', NO_PROXY),
    );
  });
  server.on('checkExpectation', ({ socket }) => endLingering(socket, rawAnswer('400 Bad Request', NO_EXPECTATION)));
}

/** A refusal as bytes, where no framework writes it. `status`: with its words, and further headers. */
function rawAnswer(status: string, refusal: Refusal): string {
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(refusal, requestId));
  return `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
