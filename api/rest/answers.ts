/** Results as HTTP: envelopes, statuses and error bodies. Source: docs/api.md. */
import type { FastifyReply } from 'fastify';
import { retryAfterSecondsOf, type Refusal, type RefusalCode } from '../../actors/refusal.ts';
import type { Pagination } from '../listing.ts';

/** Refusal codes as HTTP statuses. Exhaustive: a new code does not compile until it has a row here. */
export const HTTP_STATUS = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
  degraded_mode: 503,
  invalid_key: 403,
  key_expired: 403,
  key_spent: 403,
  node_limit_reached: 403,
} as const satisfies Record<RefusalCode, number>;

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends `{data, meta}`; lists carry `meta.pagination`. */
export function sendData(reply: FastifyReply, status: number, data: unknown, pagination?: Pagination): FastifyReply {
  const meta = { request_id: reply.request.id, timestamp: new Date().toISOString(), pagination };
  return sendJson(reply, status, { data, meta });
}

/** Sends `{error, meta}` with the status of its code. What passes by itself says when to try again. */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.code === 'unauthorized' && !reply.hasHeader('www-authenticate'))
    reply.header('www-authenticate', 'Bearer');
  const retryAfterSeconds = retryAfterSecondsOf(refusal);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  return sendJson(reply, HTTP_STATUS[refusal.code], errorBody(refusal, reply.request.id));
}

/** Body of every failure. */
export function errorBody({ code, message, details }: Refusal, requestId: string): object {
  return {
    error: { code, message, details: details ?? null },
    meta: { request_id: requestId, timestamp: new Date().toISOString() },
  };
}

/**
 * Sends a value as JSON, with no envelope. Serialised here: V8 is faster on long lists than a compiled schema
 * (measured).
 */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(value));
}
