/** What calls of the service fail with, as its clients get it. */
import { TRPCClientError } from '@trpc/client';

/** Nobody was there to answer. */
export function unreachable(): Error {
  return TRPCClientError.from(
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:44000'), { code: 'ECONNREFUSED' }),
  );
}

/** The service refused: `code` is that of docs/api.md, What can go wrong. */
export function refused(code: string, message = 'No'): Error {
  return TRPCClientError.from({ error: { message, code: -32_603, data: { code } } });
}
