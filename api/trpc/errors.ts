/** Refusals as tRPC errors, and every tRPC error as what clients see. Nothing of a cause or a stack leaves. */
import { TRPCError, type TRPC_ERROR_CODE_KEY } from '@trpc/server';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { retryAfterSecondsOf, type Refusal, type RefusalCode } from '../../actors/refusal.ts';
import { INTERNAL_ERROR } from '../call.ts';

/**
 * Refusal codes as tRPC's. Their HTTP statuses are those of docs/api.md. Exhaustive: a new code does not compile
 * until it has a row here.
 */
export const TRPC_CODES = {
  bad_request: 'BAD_REQUEST',
  unauthorized: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_SUPPORTED',
  conflict: 'CONFLICT',
  idempotency_conflict: 'CONFLICT',
  payload_too_large: 'PAYLOAD_TOO_LARGE',
  unsupported_media_type: 'UNSUPPORTED_MEDIA_TYPE',
  validation_failed: 'UNPROCESSABLE_CONTENT',
  rate_limited: 'TOO_MANY_REQUESTS',
  service_unavailable: 'SERVICE_UNAVAILABLE',
  degraded_mode: 'SERVICE_UNAVAILABLE',
  invalid_key: 'FORBIDDEN',
  key_expired: 'FORBIDDEN',
  key_spent: 'FORBIDDEN',
  node_limit_reached: 'FORBIDDEN',
  internal_error: 'INTERNAL_SERVER_ERROR',
} as const satisfies Record<RefusalCode, TRPC_ERROR_CODE_KEY>;

/** What tRPC itself refuses, in our codes. */
const REFUSAL_CODES: Partial<Record<TRPC_ERROR_CODE_KEY, RefusalCode>> = {
  PARSE_ERROR: 'bad_request',
  BAD_REQUEST: 'bad_request',
  METHOD_NOT_SUPPORTED: 'method_not_allowed',
  NOT_FOUND: 'not_found',
  UNAUTHORIZED: 'unauthorized',
  FORBIDDEN: 'forbidden',
  PAYLOAD_TOO_LARGE: 'payload_too_large',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported_media_type',
  UNPROCESSABLE_CONTENT: 'validation_failed',
  TOO_MANY_REQUESTS: 'rate_limited',
};

/** A refusal on its way through tRPC. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;
  readonly requestId: string;

  constructor(refusal: Refusal, requestId: string) {
    super(refusal.message);
    this.refusal = refusal;
    this.requestId = requestId;
  }
}

/** Throws a refusal as tRPC wants it. */
export function throwRefusal(refusal: Refusal, requestId: string): never {
  throw new TRPCError({
    code: TRPC_CODES[refusal.code],
    message: refusal.message,
    cause: new Refused(refusal, requestId),
  });
}

/** `data` of an error, beside tRPC's own `message` and numeric `code`. */
export interface ErrorData {
  readonly code: RefusalCode;
  readonly httpStatus: number;
  readonly path: string | null;
  readonly details: Refusal['details'] | null;
  readonly request_id: string | null;
  readonly retry_after_seconds: number | null;
}

/** The error shape of the router. */
export function errorShape(
  error: TRPCError,
  path: string | undefined,
  numericCode: number,
): { readonly message: string; readonly code: number; readonly data: ErrorData } {
  const refused = error.cause instanceof Refused ? error.cause : null;
  const refusal = refused?.refusal ?? refusalOf(error);
  return {
    message: refusal.message,
    code: numericCode,
    data: {
      code: refusal.code,
      httpStatus: getHTTPStatusCodeFromError(error),
      path: path ?? null,
      details: refusal.details ?? null,
      request_id: refused?.requestId ?? null,
      retry_after_seconds: retryAfterSecondsOf(refusal) ?? null,
    },
  };
}

function refusalOf(error: TRPCError): Refusal {
  const code = REFUSAL_CODES[error.code];
  return code === undefined
    ? INTERNAL_ERROR
    : { code, message: error.code === 'PARSE_ERROR' ? 'The request is not what tRPC can read.' : error.message };
}
