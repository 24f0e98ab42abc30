/** Failures that no operation answers: unknown routes, unreadable requests, bugs. All get the error body. */
import type { Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable, type Log } from '../../actors/kit/ports.ts';
import { refuse, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import { INTERNAL_ERROR } from '../call.ts';
import { errorBody, sendRefusal } from './answers.ts';
import { BodyRefused } from './json-body.ts';
import { recordOf } from './request-records.ts';

const NO_ROUTE = refuse('not_found', 'No such route.').refusal;
const TOO_LARGE = refuse('payload_too_large', 'The body is larger than this service takes.').refusal;
const NOT_JSON = refuse('unsupported_media_type', 'The body must be JSON: Content-Type: application/json.').refusal;
const MALFORMED = refuse('bad_request', 'The request is malformed.').refusal;

/** Answers every failure of the framework and every throw below it. */
export function answerFailures(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((_request, reply) => sendRefusal(reply, NO_ROUTE));
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply, log));
}

/** One failure as the error body. What is no fault of the client is logged, and not explained to it. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const refusal = refusalOf(error);
  if (refusal === INTERNAL_ERROR) log.error({ error, request_id: request.id, trace_id: recordOf(request)?.context.traceId }, 'a request failed');
  return sendRefusal(reply, refusal);
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof BodyRefused) return error.refusal;
  if (error instanceof DatabaseUnavailable) return UNAVAILABLE;
  switch ((error as { readonly statusCode?: unknown } | null)?.statusCode) {
    case 400: return MALFORMED;
    case 404: case 414: return NO_ROUTE; // 414: a path parameter longer than is matched
    case 413: return TOO_LARGE;
    case 415: return NOT_JSON;
    default: return INTERNAL_ERROR;
  }
}

/** Statuses of requests that Node's parser gave up on. Others are 400. */
const PARSER_STATUS: Readonly<Record<string, string>> = { ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout', HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large' };

/** Answers what is not HTTP, came too slowly or has too many headers, and closes the connection. */
export function answerBrokenHttp(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(MALFORMED, requestId));
  socket.end(`HTTP/1.1 ${PARSER_STATUS[error.code ?? ''] ?? '400 Bad Request'}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
