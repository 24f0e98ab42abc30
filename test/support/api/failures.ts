/** What calls of the service fail with, as its clients get it. */
import { TRPCClientError } from '@trpc/client';

/** Nobody was there to answer. */
export function unreachable(): Error {
  return TRPCClientError.from(
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:44000'), { code: 'ECONNREFUSED' }),
  );
}

/** Somebody on the path answered with a page of this status. */
export function blocked(status: number): Error {
  return TRPCClientError.from(Object.assign(new Error(`HTTP ${status} without JSON`), { status }));
}

/** The service refused: `code` is that of docs/api.md, What can go wrong; it may say when to try again. */
export function refused(code: string, message = 'No', retryAfterSeconds: number | null = null): Error {
  const data = { code, retry_after_seconds: retryAfterSeconds };
  return TRPCClientError.from({ error: { message, code: -32_603, data } });
}
